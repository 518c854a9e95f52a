import fc from "fast-check";
import {
  type PlanAttachmentsOptions,
  planAttachments,
  replayAlways,
  replayNever,
  replayWithin,
  type Transfer,
} from "sessile/attachments";
import {
  assistantMessage,
  type Context,
  type ContextMessage,
  type LinkResource,
  type MessagePart,
  type Resource,
  toolResult,
  userMessage,
} from "sessile/content";
import { describe, expect, test } from "vitest";
import { naiveDecisions } from "./naive-plan.js";
import { contextWith, everyBlob, image } from "./samples.js";

const reply = assistantMessage({ provider: "p", model: "m" }, "ok");
const result = (...parts: readonly MessagePart[]) => toolResult({ id: "c", name: "t" }, ...parts);
const link: LinkResource = {
  resourceId: "res_00000000000000aa",
  kind: "link",
  source: "link",
  uri: "https://a.example/",
};
const zip = image(0xbb, { kind: "file", mediaType: "application/octet-stream", name: "a.zip" });

/** Decision and reason at each place. */
async function outcome(
  context: Context,
  options: Partial<PlanAttachmentsOptions> = {},
): Promise<readonly string[]> {
  const plan = await planAttachments(context, { target: "t", blobs: everyBlob().blobs, ...options });
  for (const { decision, bytes } of plan.attachments) expect(bytes !== undefined).toBe(decision === "full");
  return plan.attachments.map(({ resource, decision, reason }) => {
    return `${Number.parseInt(resource.resourceId.slice(4), 16)} ${decision} ${reason}`;
  });
}

describe("planAttachments by the default policy", () => {
  test("sends the current turn's image on every round of its tools, then describes it", async () => {
    const turn: ContextMessage[] = [userMessage("look", image(1))];
    for (let round = 0; round < 3; round++) {
      expect(await outcome(contextWith(turn))).toEqual(["1 full currentTurn"]);
      turn.push(reply, result("done"));
    }
    turn.push(reply, userMessage("and now?"));
    expect(await outcome(contextWith(turn))).toEqual(["1 describe earlierTurn"]);
  });

  test("a view adds exactly one image, and the next turn has none", async () => {
    const before = [userMessage("look", image(1)), reply, userMessage("again?"), reply];
    const view = { item: 4, resourceId: image(1).resourceId };
    expect(await outcome(contextWith(before, [view]))).toEqual(["1 full viewed"]);
    expect(await outcome(contextWith([...before, result("shown"), reply], [view]))).toEqual([
      "1 full viewed",
    ]);
    expect(await outcome(contextWith([...before, result(image(1))], [view]))).toEqual([
      "1 describe earlierTurn",
      "1 full currentTurn",
    ]);
    const after = [...before, result(image(1)), reply, userMessage("next")];
    expect(await outcome(contextWith(after, [view]))).toEqual([
      "1 describe earlierTurn",
      "1 describe earlierTurn",
    ]);
  });

  test("two views of one resource bring it back once, and a view of what the turn has brings nothing more", async () => {
    const resourceId = image(1).resourceId;
    const messages = [userMessage(image(1)), reply, result(image(1)), reply, userMessage("see both")];
    const views = [
      { item: 5, resourceId },
      { item: 5, resourceId },
    ];
    expect(await outcome(contextWith(messages, views))).toEqual(["1 describe earlierTurn", "1 full viewed"]);
    const inTurn = [userMessage(image(1)), reply, result(image(1))];
    expect(await outcome(contextWith(inTurn, [{ item: 2, resourceId }]))).toEqual([
      "1 full currentTurn",
      "1 describe sentAlready",
    ]);
  });

  test("a view that a user makes before asking counts for the question", async () => {
    const messages = [userMessage(image(1)), reply, userMessage("what is in it?")];
    expect(await outcome(contextWith(messages, [{ item: 2, resourceId: image(1).resourceId }]))).toEqual([
      "1 full viewed",
    ]);
    expect(await outcome(contextWith(messages, [{ item: 1, resourceId: image(1).resourceId }]))).toEqual([
      "1 describe earlierTurn",
    ]);
  });

  test("keeps the image of a current message that a compaction retained", async () => {
    const context = contextWith([userMessage("look", image(1)), reply, result("r")]);
    const [first, ...rest] = context.items;
    const summary = { role: "compactionSummary", summary: "s", tokensBefore: 1, timestamp: 0 } as const;
    const items: Context["items"] = [
      { entryId: "c", origin: "summary", message: summary },
      { ...(first as Context["items"][number]), origin: "retained" },
      ...rest,
    ];
    expect(await outcome({ ...context, items })).toEqual(["1 full currentTurn"]);
  });

  test("describes links and bytes of unknown type, without asking the policy", async () => {
    const context = contextWith([userMessage(link, zip)]);
    const replay = () => expect.fail("it was asked");
    expect(await outcome(context, { replay })).toEqual(["170 describe link", "187 describe unknownType"]);
  });

  test("names views of what the context does not hold, in this turn only", async () => {
    const messages = [userMessage("a"), reply, userMessage("b"), reply];
    const views = [
      { item: 1, resourceId: "res_old" },
      { item: 4, resourceId: "res_gone" },
      { item: 4, resourceId: "res_gone" },
    ];
    const plan = await planAttachments(contextWith(messages, views), { target: "t" });
    expect(plan).toEqual({ attachments: [], unplacedViews: ["res_gone"] });
  });

  const contexts = fc
    .array(
      fc.record({
        role: fc.constantFrom("user", "assistant", "toolResult"),
        resources: fc.array(fc.constantFrom<Resource>(image(1), image(2), image(3), link, zip), {
          maxLength: 3,
        }),
        view: fc.constantFrom(undefined, undefined, 1, 2, 3),
      }),
      { maxLength: 10 },
    )
    .map((steps) => {
      const messages = steps.map(({ role, resources }) => {
        if (role === "assistant") return reply;
        return role === "user" ? userMessage("u", ...resources) : result("r", ...resources);
      });
      const views = steps.flatMap(({ view }, item) =>
        view === undefined ? [] : [{ item, resourceId: image(view).resourceId }],
      );
      return contextWith(messages, views);
    });

  test("does what the rule says, in any context", async () => {
    await fc.assert(
      fc.asyncProperty(contexts, fc.subarray([image(1).blob, image(2).blob]), async (context, missing) => {
        const { attachments } = await planAttachments(context, {
          target: "t",
          blobs: everyBlob(missing).blobs,
        });
        const decisions = attachments.map(({ item, block, decision }) => ({ item, block, decision }));
        expect(decisions).toEqual(naiveDecisions(context, missing));
      }),
      { numRuns: 500 },
    );
  });

  test("sends a resource's bytes at most once, whatever the policy, and reads each blob once", async () => {
    const policies = fc.constantFrom(
      replayAlways,
      replayNever,
      replayWithin({ maxCount: 2 }),
      replayWithin({ maxBytes: 150 }),
    );
    await fc.assert(
      fc.asyncProperty(contexts, policies, async (context, replay) => {
        const { blobs, reads } = everyBlob();
        const { attachments } = await planAttachments(context, { target: "t", blobs, replay });
        const sent = attachments.flatMap(({ resource, bytes }) => (bytes ? [resource.resourceId] : []));
        expect(new Set(sent).size).toBe(sent.length);
        expect(new Set(reads).size).toBe(reads.length);
      }),
    );
  });
});

describe("planAttachments with other policies", () => {
  const history = [
    userMessage(image(1)),
    reply,
    userMessage(image(2), image(3)),
    reply,
    userMessage(image(4)),
  ];

  test("budgeted: the newest that fit together with what is newer", async () => {
    expect(await outcome(contextWith(history), { replay: replayWithin({ maxBytes: 300 }) })).toEqual([
      "1 describe earlierTurn",
      "2 full replayed",
      "3 full replayed",
      "4 full currentTurn",
    ]);
    expect(await outcome(contextWith(history), { replay: replayWithin({ maxCount: 2 }) })).toEqual([
      "1 describe earlierTurn",
      "2 describe earlierTurn",
      "3 full replayed",
      "4 full currentTurn",
    ]);
  });

  test("a resource does not take room from itself", async () => {
    const twice = [userMessage(image(1)), reply, userMessage(image(1)), reply, userMessage("x")];
    expect(await outcome(contextWith(twice), { replay: replayWithin({ maxCount: 1 }) })).toEqual([
      "1 full replayed",
      "1 describe sentAlready",
    ]);
  });

  test("always, never, and one that omits", async () => {
    const context = contextWith([userMessage(image(1)), reply, userMessage(image(2))]);
    expect(await outcome(context, { replay: replayAlways })).toEqual([
      "1 full replayed",
      "2 full currentTurn",
    ]);
    expect(await outcome(context, { replay: replayNever })).toEqual([
      "1 describe earlierTurn",
      "2 describe policy",
    ]);
    expect(await outcome(context, { replay: () => "omit" })).toEqual(["1 omit policy", "2 omit policy"]);
  });
});

describe("planAttachments across the boundary", () => {
  const context = contextWith(
    [userMessage(image(1)), reply, userMessage(image(2), link), reply, result("r")],
    [{ item: 4, resourceId: image(1).resourceId }],
  );

  test("tells it what would go where, and why", async () => {
    const asked: (Omit<Transfer, "place"> & { readonly id: string })[] = [];
    const boundary = (resource: Resource, { place, ...transfer }: Transfer) => {
      expect(place.item).toBeLessThan(3);
      asked.push({ id: resource.resourceId.slice(-2), ...transfer });
      return "allow" as const;
    };
    await outcome(context, { boundary });
    expect(asked).toEqual([
      { id: "01", target: "t", wanted: "full", intent: "view" },
      { id: "02", target: "t", wanted: "full", intent: "attach" },
      { id: "aa", target: "t", wanted: "describe", intent: "attach" },
    ]);
  });

  test("can lessen what is sent, and never add to it", async () => {
    expect(await outcome(context, { boundary: () => "describe" })).toEqual([
      "1 describe boundary",
      "2 describe boundary",
      "170 describe link",
    ]);
    expect(await outcome(context, { boundary: async () => "refuse" as const })).toEqual([
      "1 omit boundary",
      "2 omit boundary",
      "170 omit boundary",
    ]);
    expect(await outcome(context, { boundary: () => "allow", replay: replayNever })).toEqual([
      "1 describe policy",
      "2 describe policy",
      "170 describe link",
    ]);
  });

  test("leaves nothing of what it refuses, and reads none of it", async () => {
    const { blobs, reads } = everyBlob();
    const plan = await planAttachments(context, { target: "t", blobs, boundary: () => "refuse" });
    expect(plan.attachments.map(({ text }) => text)).toEqual(["", "", ""]);
    expect(reads).toEqual([]);
  });

  test("stops the request where it throws", async () => {
    const boundary = (): Promise<never> => Promise.reject(new Error("ask again"));
    await expect(outcome(context, { boundary })).rejects.toThrow("ask again");
  });
});

describe("planAttachments and bytes that are not there", () => {
  const context = contextWith([userMessage("see", image(1), image(2), image(3))]);

  test("says that they are missing or damaged, and sends the rest", async () => {
    const { blobs } = everyBlob([image(1).blob], [image(2).blob]);
    expect(await outcome(context, { blobs })).toEqual([
      "1 describe missing",
      "2 describe corrupt",
      "3 full currentTurn",
    ]);
    const plan = await planAttachments(context, { target: "t", blobs });
    expect(plan.attachments[0]?.text).toContain("res_0000000000000001");
    expect(plan.attachments[0]?.text).toContain("not shown: its bytes are no longer stored");
    expect(plan.attachments[1]?.text).toContain("damaged");
  });

  test("without a store none are there", async () => {
    const plan = await planAttachments(context, { target: "t" });
    expect(plan.attachments.map(({ reason }) => reason)).toEqual(["missing", "missing", "missing"]);
  });

  test("passes on what else the store throws, and stops when it is told to", async () => {
    const get = () => Promise.reject(new Error("no disk"));
    await expect(planAttachments(context, { target: "t", blobs: { get } })).rejects.toThrow("no disk");
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(planAttachments(context, { target: "t", signal })).rejects.toThrow("enough");
    await expect(planAttachments(context, {} as never)).rejects.toThrow(TypeError);
  });
});
