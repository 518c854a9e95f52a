import fc from "fast-check";
import {
  observationsIn,
  planAttachments,
  type ResourceObservationDraft,
  type ResourceViewDraft,
  resourceObservation,
  resourcesIn,
  resourceView,
  viewResource,
} from "sessile/attachments";
import { assistantMessage, toolResult, userMessage } from "sessile/content";
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
