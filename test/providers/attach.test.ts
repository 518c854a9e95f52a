import {
  assistantMessage,
  blockResource,
  type Context,
  type ContextMessage,
  type LinkResource,
  memorySessionStore,
  project,
  type StoredResource,
  toolResult,
  userMessage,
} from "sessile";
import { anthropicMessages } from "sessile/anthropic";
import {
  type LeakageBoundary,
  replayAlways,
  replayCurrentTurn,
  replayNever,
  resourceObservation,
} from "sessile/attachments";
import { describe, expect, test } from "vitest";
import { type ProjectionContext, workReport } from "../../src/providers/attachment-state.js";
import { resolveAttachments } from "../../src/providers/attachments.js";
import { LossList } from "../../src/providers/losses.js";
import type { PendingAttachment } from "../../src/providers/request.js";
import { base64, contextWith, image, png } from "../attachments/samples.js";
import { attaching, stored, storeOf } from "./samples.js";

const picture = png();
const shot = (number: number): StoredResource => stored(picture, { resourceId: image(number).resourceId });
const reply = assistantMessage({ provider: "p", model: "m" }, "ok");
const inline = { type: "image", data: base64(picture), mimeType: "image/png" } as const;
const link: LinkResource = {
  resourceId: "res_link",
  kind: "link",
  source: "link",
  uri: "https://a.example/",
};

/** A place for each attachment of a context, but for those of these items. */
function draftsOf({ items }: Context, dropped: readonly number[] = []): readonly PendingAttachment[] {
  return items.flatMap(({ entryId, message }, item) => {
    if (dropped.includes(item) || !("content" in message) || typeof message.content === "string") return [];
    return [...message.content].flatMap((block, at): PendingAttachment[] => {
      if (block.type !== "image" && blockResource(block) === undefined) return [];
      return [{ type: "attachment", place: "user", origin: { entryId, item, block: at }, text: "" }];
    });
  });
}

async function attached(
  context: Context,
  more: Partial<ProjectionContext> = {},
  dropped: readonly number[] = [],
) {
  const losses = new LossList();
  const options = attaching({ losses, blobs: storeOf(picture), ...more });
  const { states, unplacedViews } = await resolveAttachments(
    { context, images: new Map() },
    draftsOf(context, dropped),
    options,
  );
  return {
    sent: states.map(workReport).map(({ entryId, sent, reason }) => `${entryId} ${sent} ${reason}`),
    texts: states.map(({ draft }) => draft.text),
    losses: losses.inOrder().map(({ code, by, entryId }) => `${code} ${by} ${entryId}`),
    unplacedViews,
  };
}

const history: readonly ContextMessage[] = [userMessage("look", shot(1)), reply, userMessage("so?")];

describe("attach", () => {
  // @covers R8
  test("user(image) assistant user: the first has no image but its id", async () => {
    const { sent, texts, losses } = await attached(contextWith(history));
    expect(sent).toEqual(["m0 descriptor earlierTurn"]);
    expect(texts[0]).toMatch(/not sent again\)$/);
    const invited = await attached(contextWith(history), { viewTool: true });
    expect(invited.texts[0]).toContain("not sent again, view res_0000000000000001 to see it");
    expect(losses).toEqual([]);
  });

  test("a view brings back one image, and the next turn has none", async () => {
    const view = { item: 3, resourceId: shot(1).resourceId };
    expect((await attached(contextWith(history, [view]))).sent).toEqual(["m0 bytes viewed"]);
    const next = contextWith([...history, reply, userMessage("next")], [view]);
    expect((await attached(next)).sent).toEqual(["m0 descriptor earlierTurn"]);
  });

  // @covers R65
  test("a payload that is deleted leaves its id and a reason", async () => {
    const { texts, losses } = await attached(contextWith([userMessage(shot(1))]), { blobs: storeOf() });
    expect(texts[0]).toMatch(/res_0000000000000001\] \(not shown: its bytes are no longer stored\)$/);
    expect(losses).toEqual(["missing history m0"]);
  });

  test("an inline image goes in every turn, since no view could bring it back, unless a policy decides", async () => {
    const old = contextWith([{ ...userMessage("x"), content: [inline] }, reply, userMessage("so?")]);
    expect((await attached(old)).sent).toEqual(["m0 bytes replayed"]);
    const { sent, texts, losses } = await attached(old, { replay: replayCurrentTurn });
    expect(sent).toEqual(["m0 descriptor earlierTurn"]);
    expect(texts).toEqual([`[image, image/png, ${picture.length} B] (not shown: it was withheld)`]);
    expect(losses).toEqual([]);
    expect((await attached(old, { replay: () => "omit" })).texts).toEqual([""]);
  });

  test("a view that asks for an inline image by the name that a projection gives it gets nothing", async () => {
    const view = { item: 3, resourceId: "inline_0_0" };
    const context = contextWith(
      [{ ...userMessage("x"), content: [inline] }, reply, userMessage("so?")],
      [view],
    );
    const { sent, unplacedViews } = await attached(context, { replay: replayCurrentTurn });
    expect([sent, unplacedViews]).toEqual([["m0 descriptor earlierTurn"], ["inline_0_0"]]);
  });

  test("an omission leaves neither words nor bytes, and says who wanted it", async () => {
    const context = contextWith([userMessage(shot(1))]);
    expect(await attached(context, { replay: () => "omit" })).toMatchObject({
      sent: ["m0 nothing policy"],
      texts: [""],
      losses: [],
    });
    expect(await attached(context, { boundary: () => "refuse" })).toMatchObject({
      sent: ["m0 nothing boundary"],
      texts: [""],
      losses: [],
    });
    expect(await attached(context, { boundary: () => "describe" })).toMatchObject({
      sent: ["m0 descriptor boundary"],
      losses: [],
    });
  });

  // @covers R15
  test("a link is told, and costs nothing; what is of unknown type is told, and does", async () => {
    const zip = image(2, { mediaType: "application/octet-stream", kind: "file" });
    const { sent, losses } = await attached(contextWith([userMessage(link, zip)]));
    expect(sent).toEqual(["m0 descriptor link", "m0 descriptor unknownType"]);
    expect(losses).toEqual(["unsupported target m0"]);
  });

  test("nobody is asked about what is not in the request, and no view is spent on it", async () => {
    const asked: string[] = [];
    const boundary: LeakageBoundary = (resource) => {
      asked.push(resource.resourceId);
      return "allow";
    };
    const orphan = { ...toolResult({ id: "gone", name: "t" }, shot(1)) };
    const messages = [userMessage("a", shot(1)), reply, orphan, reply, userMessage("so?")];
    const context = contextWith(messages, [{ item: 5, resourceId: shot(1).resourceId }]);
    const before = structuredClone(context);
    expect(await attached(context, { boundary }, [2])).toMatchObject({
      sent: ["m0 bytes viewed"],
      unplacedViews: [],
    });
    expect(asked).toEqual([shot(1).resourceId]);
    expect(context).toEqual(before);
    const gone = await attached(context, { boundary }, [0, 2]);
    expect([gone.sent, gone.unplacedViews]).toEqual([[], [shot(1).resourceId]]);
  });

  // @covers R16 security:boundary
  test("a boundary or a policy that throws lets nothing out", async () => {
    const fail = () => expect.fail("no");
    const context = contextWith([userMessage(shot(1))]);
    await expect(attached(context, { boundary: fail })).rejects.toThrow("no");
    await expect(attached(context, { boundary: () => Promise.reject(new Error("later")) })).rejects.toThrow(
      "later",
    );
    await expect(attached(context, { replay: fail })).rejects.toThrow("no");
  });

  // @covers R16
  test("a boundary is told what it lets out, of inline images too", async () => {
    const told: unknown[] = [];
    const boundary: LeakageBoundary = (resource, { target, wanted, intent }) => {
      told.push([resource.kind === "link" ? "link" : resource.blob.length, target, wanted, intent]);
      return "allow";
    };
    await attached(contextWith([{ ...userMessage("x"), content: [inline] }, reply, userMessage(shot(1))]), {
      boundary,
    });
    expect(told).toEqual([
      [71, "plain", "full", "replay"],
      [71, "plain", "full", "attach"],
    ]);
  });

  test.each([
    ["always", replayAlways, ["m0 bytes replayed", "m2 bytes currentTurn"]],
    ["never", replayNever, ["m0 descriptor earlierTurn", "m2 descriptor policy"]],
  ])("replays %s", async (_, replay, expected) => {
    const context = contextWith([userMessage(shot(1)), reply, userMessage(shot(2))]);
    expect((await attached(context, { replay })).sent).toEqual(expected);
  });

  test("is called off by its signal", async () => {
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(attached(contextWith([userMessage(shot(1))]), { signal })).rejects.toThrow("enough");
  });
});

describe("what was seen in an attachment", () => {
  const seeing = (text: string, item: number) => ({
    entryId: "o",
    resourceId: shot(1).resourceId,
    item,
    text,
  });

  test("is told with its descriptor, where its bytes are gone or not taken too, and in no turn that shows it", async () => {
    const context = { ...contextWith(history), observations: [seeing("a cat", 1)] };
    const seen = 'noted when it was seen: "a cat"';
    expect((await attached(context)).texts[0]).toContain(seen);
    const gone = await attached(context, { replay: replayAlways, blobs: storeOf() });
    expect(gone.texts[0]).toMatch(
      /not shown: its bytes are no longer stored; noted when it was seen: "a cat"\)$/,
    );
    expect((await attached(context, { replay: replayAlways })).texts[0]).not.toContain("noted");
    const boundary: LeakageBoundary = () => "refuse";
    expect((await attached(context, { boundary })).texts).toEqual([""]);
  });

  // @covers R8
  test("changes the request from its own turn on, and leaves what stands before as it was", async () => {
    const session = await memorySessionStore().create({ cwd: "/p" });
    const blobs = storeOf(picture);
    const requests: string[][] = [];
    const ask = async () => {
      const { value } = await project(
        await session.context(),
        anthropicMessages({ model: "claude-opus-5-5" }),
        { blobs, replay: replayCurrentTurn },
      );
      requests.push(value.messages.map((one) => JSON.stringify(one)));
    };
    const say = async (...parts: readonly (string | StoredResource)[]) => {
      await session.appendMessage(userMessage(...parts));
      await ask();
      await session.appendMessage(reply);
    };
    await say("first");
    await say("look", shot(1));
    await session.append([resourceObservation(shot(1).resourceId, "a cat")]);
    await say("second");
    await say("third");
    const [, , , last = []] = requests;
    expect(last[2]).toContain('noted when it was seen: \\"a cat\\"');
    // The image's own turn is the only one that changes, and it does when its bytes go.
    expect(requests.map((one) => one.findIndex((text, at) => text !== last[at]))).toEqual([-1, 2, -1, -1]);
  });
});
