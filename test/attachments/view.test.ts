import fc from "fast-check";
import {
  observationsIn,
  observationText,
  type PlanAttachmentsOptions,
  planAttachments,
  type ResourceObservationDraft,
  type ResourceViewDraft,
  resourceObservation,
  resourcesIn,
  resourceView,
  viewResource,
} from "sessile/attachments";
import { assistantMessage, describeResource, toolResult, userMessage } from "sessile/content";
import { type EntryDraft, memorySessionStore, type Session } from "sessile/session";
import { describe, expect, expectTypeOf, test } from "vitest";
import { everyBlob, image } from "./samples.js";

const resources = [
  image(1),
  image(2),
  image(3),
  image(4, { kind: "file", mediaType: "application/octet-stream" }),
  { resourceId: "res_0000000000000005", kind: "link", source: "link", uri: "https://a.example/" },
] as const;
const { blobs } = everyBlob([image(2).blob], [image(3).blob]);
const reply = assistantMessage({ provider: "p", model: "m" }, "ok");
const call = { id: "c", name: "view_resource" };

async function pathOf(session: Session) {
  const entries = await Promise.all(session.tree.path(session.leafId).map(({ id }) => session.entry(id)));
  return entries.flatMap((entry) => entry ?? []);
}

describe("drafts", () => {
  test("are what a session appends", async () => {
    expectTypeOf<ResourceViewDraft>().toExtend<EntryDraft>();
    expectTypeOf<ResourceObservationDraft>().toExtend<EntryDraft>();
    const session = await memorySessionStore().create({ cwd: "/work" });
    const drafts = [
      resourceView("res_0000000000000001"),
      resourceView("res_0000000000000001", "why"),
      resourceObservation("res_0000000000000001", "a cat"),
    ];
    const entries = await session.append(drafts);
    expect(entries).toMatchObject([
      { type: "resource_view", resourceId: "res_0000000000000001" },
      { type: "resource_view", reason: "why" },
      { type: "resource_observation", text: "a cat" },
    ]);
    expect(entries[0]).not.toHaveProperty("reason");
  });

  test("name a resource", () => {
    expect(() => resourceView("")).toThrow(TypeError);
    expect(() => resourceObservation("res_0000000000000001", "")).toThrow(TypeError);
  });
});

describe("viewResource", () => {
  test("gives the resource for the tool's result, and what is to be recorded", async () => {
    const viewing = await viewResource("res_0000000000000001", resources, { blobs, reason: "why" });
    expect(viewing).toEqual({
      ok: true,
      resource: image(1),
      parts: [image(1)],
      draft: resourceView("res_0000000000000001", "why"),
    });
  });

  test.each([
    ["res_0000000000000009", "NOT_FOUND"],
    ["res_0000000000000005", "NOT_REHYDRATABLE"],
    ["res_0000000000000004", "NOT_REHYDRATABLE"],
    ["res_0000000000000002", "RESOURCE_MISSING"],
    ["res_0000000000000003", "BLOB_CORRUPT"],
  ])("of %s is %s, in words that name it", async (id, code) => {
    const viewing = await viewResource(id, resources, { blobs });
    expect(viewing).toMatchObject({ ok: false, code });
    expect(viewing.parts[0]).toContain(id);
    expect(viewing.parts[0]).toContain(code);
    expect(viewing.draft?.resourceId).toBe(code === "NOT_FOUND" ? undefined : id);
    expect(toolResult(call, ...viewing.parts).content).toEqual([{ type: "text", text: viewing.parts[0] }]);
  });

  test("answers anything that a model can ask, in one short line", async () => {
    await fc.assert(
      fc.asyncProperty(fc.anything(), async (id) => {
        fc.pre(!resources.some(({ resourceId }) => resourceId === id));
        const viewing = await viewResource(
          typeof id === "string" ? id : (JSON.stringify(id) ?? ""),
          resources,
          { blobs },
        );
        expect(viewing.parts[0]).toMatch(/^\[NOT_FOUND [\w-]{0,40}: [^\n[\]]+\]$/);
      }),
    );
  });

  test("passes on what else the store throws", async () => {
    const get = () => Promise.reject(new Error("no disk"));
    await expect(viewResource("res_0000000000000001", resources, { blobs: { get } })).rejects.toThrow(
      "no disk",
    );
  });
});

describe("a view in a session", () => {
  test("is recorded, brings one image back for this turn, and none for the next", async () => {
    const session = await memorySessionStore().create({ cwd: "/work" });
    const sent = async () => {
      const plan = await planAttachments(await session.context(), { target: "t", blobs });
      return plan.attachments.map(({ item, decision }) => `${item} ${decision}`);
    };
    await session.appendMessage(userMessage("look", image(1)));
    await session.appendMessage(reply);
    await session.appendMessage(userMessage("what was in the corner?"));
    expect(await sent()).toEqual(["0 describe"]);
    await session.appendMessage(
      assistantMessage({ provider: "p", model: "m" }, { type: "toolCall", ...call, arguments: {} }),
    );
    const viewing = await viewResource(image(1).resourceId, resourcesIn(await session.context()), { blobs });
    const message = toolResult(call, ...viewing.parts);
    await session.append([...(viewing.draft ? [viewing.draft] : []), { type: "message", message }]);
    expect((await session.context()).views).toMatchObject([{ resourceId: image(1).resourceId, item: 4 }]);
    expect(await sent()).toEqual(["0 describe", "4 full"]);
    await session.appendMessage(reply);
    await session.appendMessage(userMessage("thanks"));
    expect(await sent()).toEqual(["0 describe", "4 describe"]);
  });
});

describe("a view of what is no image", () => {
  test.each([
    ["application/pdf", "file"],
    ["text/plain", "file"],
    ["application/json", "file"],
    ["image/webp", "image"],
  ] as const)("brings %s back for one turn", async (mediaType, kind) => {
    const paper = image(7, { kind, mediaType });
    const viewing = await viewResource(paper.resourceId, [paper], { blobs });
    expect(viewing).toMatchObject({ ok: true, resource: paper, parts: [paper] });
    const session = await memorySessionStore().create({ cwd: "/work" });
    await session.appendMessage(userMessage("read", paper));
    await session.appendMessage(reply);
    await session.appendMessage(userMessage("what was on page two?"));
    await session.append([resourceView(paper.resourceId)]);
    const sent = async () => {
      const context = await session.context();
      const { attachments } = await planAttachments(context, { target: "t", blobs });
      return attachments.map(({ decision, reason }) => `${decision} ${reason}`);
    };
    expect(await sent()).toEqual(["full viewed"]);
    await session.appendMessage(reply);
    await session.appendMessage(userMessage("thanks"));
    expect(await sent()).toEqual(["describe earlierTurn"]);
  });
});

describe("observationsIn", () => {
  test("has what each branch saw, and a fork its own", async () => {
    const sessions = memorySessionStore();
    const session = await sessions.create({ cwd: "/work" });
    const start = await session.appendMessage(userMessage(image(1)));
    const id = image(1).resourceId;
    await session.append([resourceObservation(id, "a cat")]);
    const fork = await sessions.fork(session.id);
    await session.append([resourceObservation(id, "a black cat")]);
    await fork.append([resourceObservation(id, "a dog")]);
    expect(observationsIn(await pathOf(session)).get(id)).toEqual(["a cat", "a black cat"]);
    expect(observationsIn(await pathOf(fork)).get(id)).toEqual(["a cat", "a dog"]);
    session.branch(start.id);
    await session.append([resourceObservation(id, "a bird")]);
    expect(observationsIn(await pathOf(session)).get(id)).toEqual(["a bird"]);
  });

  test("reads over what is something else", () => {
    const entries = [{ type: "resource_observation" }, { type: "unknown", text: "x", resourceId: "r" }];
    expect(observationsIn(entries).size).toBe(0);
  });
});

describe("what was seen", () => {
  const id = image(1).resourceId;
  async function texts(session: Session, options: Partial<PlanAttachmentsOptions> = {}) {
    const plan = await planAttachments(await session.context(), {
      target: "t",
      blobs,
      viewTool: true,
      ...options,
    });
    return plan.attachments.map(({ text }) => text);
  }
  const turn = async (session: Session) => {
    await session.appendMessage(reply);
    await session.appendMessage(userMessage("and now?"));
  };

  test("is part of the descriptor from the next turn on, of each branch and fork its own", async () => {
    const sessions = memorySessionStore();
    const session = await sessions.create({ cwd: "/work" });
    await session.appendMessage(userMessage("look", image(1)));
    await session.append([resourceObservation(id, 'a [red]\ndialog that says "no"')]);
    const before = await texts(session);
    expect(before).toEqual([describeResource(image(1))]);
    await turn(session);
    const [described = ""] = await texts(session);
    expect(described).toContain(`not sent again, view ${id} to see it`);
    expect(described).toContain(`; noted when it was seen: "a _red_ dialog that says 'no'")`);
    const { leafId } = session;
    await session.append([resourceObservation(id, "a red dialog with two buttons")]);
    await turn(session);
    expect(await texts(session)).toEqual([expect.stringContaining('"a red dialog with two buttons"')]);
    session.branch(leafId);
    expect(await texts(session)).toEqual([described]);
    const fork = await sessions.fork(session.id, leafId === null ? {} : { upTo: leafId });
    await fork.append([resourceObservation(id, "seen by the fork")]);
    expect(await texts(fork)).toEqual([expect.stringContaining("seen by the fork")]);
    expect(await texts(session)).toEqual([described]);
  });

  test("changes no words of an earlier place where the resource was shown again since", async () => {
    const session = await memorySessionStore().create({ cwd: "/work" });
    await session.appendMessage(userMessage("look", image(1)));
    await session.append([resourceObservation(id, "a cat")]);
    await turn(session);
    const [first] = await texts(session);
    const asked = { type: "toolCall", ...call, arguments: {} } as const;
    await session.appendMessage(assistantMessage({ provider: "p", model: "m" }, asked));
    const viewing = await viewResource(id, [image(1)], { blobs });
    const message = toolResult(call, ...viewing.parts);
    await session.append([...(viewing.draft ? [viewing.draft] : []), { type: "message", message }]);
    expect((await texts(session))[0]).toBe(first);
    await session.append([resourceObservation(id, "a cat on a mat")]);
    expect((await texts(session))[0]).toBe(first);
    await turn(session);
    expect(await texts(session)).toEqual([first, expect.stringContaining('"a cat on a mat"')]);
  });

  test("is the boundary's to refuse with the descriptor, which hears of it", async () => {
    const session = await memorySessionStore().create({ cwd: "/work" });
    await session.appendMessage(userMessage("look", image(1)));
    await session.append([resourceObservation(id, "a secret")]);
    await turn(session);
    const heard: unknown[] = [];
    const under = (verdict: "allow" | "describe" | "refuse") =>
      texts(session, {
        boundary: (_resource, { observation }) => {
          heard.push(observation);
          return verdict;
        },
      });
    expect(await under("refuse")).toEqual([""]);
    expect(await under("describe")).toEqual([expect.stringContaining("a secret")]);
    expect(heard).toEqual(["a secret", "a secret"]);
    expect(await texts(session, { replay: () => "omit" })).toEqual([""]);
  });

  test("is shown once the context is built from the one before, as from the start", async () => {
    const session = await memorySessionStore().create({ cwd: "/work" });
    await session.appendMessage(userMessage("look", image(1)));
    expect(await session.context()).not.toHaveProperty("observations");
    const [entry] = await session.append([resourceObservation(id, "a cat")]);
    expect((await session.context()).observations).toEqual([
      { entryId: entry?.id, resourceId: id, item: 1, text: "a cat" },
    ]);
    await session.appendMessage(reply);
    expect((await session.context()).observations).toHaveLength(1);
  });
});

describe("observationText", () => {
  test("is one line in quotes that nothing can leave, of bounded length", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: "binary" }),
          fc.constantFrom("x".repeat(499), "x".repeat(500), "\ud83d\ude00".repeat(400)),
        ),
        (text) => {
          const told = observationText(text);
          if (told === "") return;
          const [, inner = ""] = /^noted when it was seen: "([^"]*)"$/s.exec(told) ?? [];
          expect(inner).not.toBe("");
          expect(inner.length).toBeLessThanOrEqual(500);
          expect(inner).not.toMatch(/[[\]<>"\p{Cc}\p{Zl}\p{Zp}]/u);
          expect(inner.isWellFormed()).toBe(true);
        },
      ),
    );
    const most = `noted when it was seen: "${"x".repeat(500)}"`;
    expect(observationText("x".repeat(500))).toBe(most);
    expect(observationText("x".repeat(501))).toBe(`noted when it was seen: "${"x".repeat(499)}…"`);
    expect([observationText(undefined), observationText(" \n\u0000")]).toEqual(["", ""]);
  });
});
