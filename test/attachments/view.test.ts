import type Anthropic from "@anthropic-ai/sdk";
import type { Tool as BedrockTool } from "@aws-sdk/client-bedrock-runtime";
import type { FunctionDeclaration } from "@google/genai";
import type { Tool as McpTool } from "@modelcontextprotocol/sdk/types.js";
import { jsonSchema, tool } from "ai";
import fc from "fast-check";
import type OpenAI from "openai";
import {
  assistantMessage,
  describeResource,
  digest,
  type EntryDraft,
  memoryBlobStore,
  memorySessionStore,
  type ProjectOptions,
  project,
  type Session,
  type StoredResource,
  toolResult,
  userMessage,
} from "sessile";
import { anthropicMessages } from "sessile/anthropic";
import {
  observationsIn,
  type ResourceObservationDraft,
  type ResourceViewDraft,
  resourceObservation,
  resourcesIn,
  resourceView,
  runViewTool,
  viewResource,
  viewTool,
  viewToolName,
} from "sessile/attachments";
import { compact, rollingSummary } from "sessile/compaction";
import { describe, expect, expectTypeOf, test } from "vitest";
import { vp8l, webp } from "../support/media-files.js";
import { bytesOf, everyBlob, image, pdf, png, sentAttachments } from "./samples.js";

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
  const entries = await Promise.all(
    (await session.tree()).path(session.leafId).map(({ id }) => session.entry(id)),
  );
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
  // @covers R1 R9 R10
  test("is recorded, brings one image back for this turn, and none for the next", async () => {
    const session = await memorySessionStore().create({ cwd: "/work" });
    const sent = async () => {
      const { items } = await session.context();
      return (await sentAttachments(await session.context(), { blobs })).map(({ entryId, sent }) => {
        return `${items.findIndex((item) => item.entryId === entryId)} ${sent}`;
      });
    };
    await session.appendMessage(userMessage("look", image(1)));
    await session.appendMessage(reply);
    await session.appendMessage(userMessage("what was in the corner?"));
    expect(await sent()).toEqual(["0 descriptor"]);
    await session.appendMessage(
      assistantMessage({ provider: "p", model: "m" }, { type: "toolCall", ...call, arguments: {} }),
    );
    const viewing = await viewResource(image(1).resourceId, resourcesIn(await session.context()), { blobs });
    const message = toolResult(call, ...viewing.parts);
    await session.append([...(viewing.draft ? [viewing.draft] : []), { type: "message", message }]);
    expect((await session.context()).views).toMatchObject([{ resourceId: image(1).resourceId, item: 4 }]);
    expect(await sent()).toEqual(["0 descriptor", "4 bytes"]);
    await session.appendMessage(reply);
    await session.appendMessage(userMessage("thanks"));
    expect(await sent()).toEqual(["0 descriptor", "4 descriptor"]);
  });
});

describe("a view of what is no image", () => {
  // @covers R9
  test.each([
    ["application/pdf", "file", pdf],
    ["text/plain", "file", bytesOf("page two")],
    ["application/json", "file", bytesOf("{}")],
    ["image/webp", "image", webp(vp8l({ width: 640, height: 480 }))],
  ] as const)("brings %s back for one turn", async (mediaType, kind, bytes) => {
    const paper = image(7, { kind, mediaType });
    const blobs = { get: async () => bytes };
    const viewing = await viewResource(paper.resourceId, [paper], { blobs });
    expect(viewing).toMatchObject({ ok: true, resource: paper, parts: [paper] });
    const session = await memorySessionStore().create({ cwd: "/work" });
    await session.appendMessage(userMessage("read", paper));
    await session.appendMessage(reply);
    await session.appendMessage(userMessage("what was on page two?"));
    await session.append([resourceView(paper.resourceId)]);
    const sent = async () => {
      const sent = await sentAttachments(await session.context(), { blobs });
      return sent.map(({ sent, reason }) => `${sent} ${reason}`);
    };
    expect(await sent()).toEqual([`${mediaType === "application/json" ? "text" : "bytes"} viewed`]);
    await session.appendMessage(reply);
    await session.appendMessage(userMessage("thanks"));
    expect(await sent()).toEqual(["descriptor earlierTurn"]);
  });
});

describe("observationsIn", () => {
  // @covers R24
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
    await session.branch(start.id);
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
  async function texts(session: Session, options: ProjectOptions = {}) {
    const sent = await sentAttachments(await session.context(), { blobs, viewTool: true, ...options });
    return sent.map(({ text }) => text);
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
    await session.branch(leafId);
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

const maker = { provider: "anthropic", model: "claude-sonnet-4-5" };
const kept = memoryBlobStore();
const callOf = (args: unknown, id = "v1") =>
  ({ type: "toolCall", id, name: viewToolName, arguments: args as Record<string, unknown> }) as const;

async function stored(number: number, bytes: Uint8Array, mediaType: string): Promise<StoredResource> {
  await kept.put(bytes);
  const blob = digest(bytes);
  const kind = mediaType.startsWith("image/") ? "image" : "file";
  return { ...image(number), kind, mediaType, size: bytes.length, blob, contentSha256: blob.slice(7) };
}

async function sessionWith(...resources: readonly StoredResource[]): Promise<Session> {
  const session = await memorySessionStore().create({ cwd: "/work" });
  await session.appendMessage(userMessage("look", ...resources));
  await session.appendMessage(assistantMessage(maker, "seen"));
  return session;
}

async function compacted(session: Session): Promise<void> {
  for (let turn = 0; turn < 4; turn++) {
    await session.appendMessage(userMessage(`${turn} ${"question ".repeat(400)}`));
    await session.appendMessage(assistantMessage(maker, `${"answer ".repeat(400)}.`));
  }
  const strategy = rollingSummary({ keepRecentTokens: 200 });
  const generate = async () => ({ text: "What was found." });
  const { status } = await compact(session, { strategy, window: 4_000, generate, trigger: "manual" });
  expect(status).toBe("compacted");
  expect(resourcesIn(await session.context())).toEqual([]);
}

describe("viewTool", () => {
  test("has the shape that each client declares tools in", () => {
    const { name, description, schema } = viewTool("plain");
    const anthropic: Anthropic.Tool = viewTool("anthropic");
    const chat: OpenAI.ChatCompletionTool = viewTool("openaiChat");
    const responses: OpenAI.Responses.FunctionTool = viewTool("openaiResponses");
    const gemini: FunctionDeclaration = viewTool("gemini");
    const bedrock = viewTool("bedrock") satisfies BedrockTool | { toolSpec: object };
    const mcp: McpTool = viewTool("mcp");
    expect(anthropic).toEqual({ name, description, input_schema: schema });
    expect(chat).toEqual({ type: "function", function: { name, description, parameters: schema } });
    expect(responses).toEqual({ type: "function", name, description, parameters: schema, strict: false });
    expect(gemini).toEqual({ name, description, parametersJsonSchema: schema });
    expect(bedrock).toEqual({ toolSpec: { name, description, inputSchema: { json: schema } } });
    expect(mcp).toEqual({ name, description, inputSchema: schema });
    expect(tool({ description, inputSchema: jsonSchema(schema) })).toMatchObject({ description });
    expect(schema).toMatchObject({ type: "object", required: ["resourceId"], additionalProperties: false });
  });

  test("is the caller's to change, and refuses a shape that is none", () => {
    viewTool("plain").schema.required.push("reason");
    expect(viewTool("plain").schema.required).toEqual(["resourceId"]);
    expect(() => viewTool("toString" as "plain")).toThrow(TypeError);
    expect(() => viewTool(undefined as unknown as "plain")).toThrow(TypeError);
  });
});

describe("runViewTool", () => {
  test.each([
    ["an image", png(), "image/png", "image"],
    ["a PDF", pdf, "application/pdf", "document"],
    ["text", bytesOf("some,words"), "text/plain", "document"],
  ])("shows %s again, also after a compaction, and records the view", async (_, bytes, mediaType, type) => {
    const resource = await stored(1, bytes, mediaType);
    const session = await sessionWith(resource);
    await compacted(session);
    await session.appendMessage(userMessage("look again"));
    const call = callOf({ resourceId: resource.resourceId, reason: "the code" });
    await session.appendMessage(assistantMessage(maker, call));
    const message = await runViewTool(session, call, { blobs: kept });
    expect(message).toMatchObject({ role: "toolResult", toolCallId: "v1", isError: false });
    await session.appendMessage(message);
    const recorded = (await session.tree()).path(session.leafId).at(-2);
    expect(await session.entry(recorded?.id ?? "")).toMatchObject({
      type: "resource_view",
      resourceId: resource.resourceId,
      reason: "the code",
    });
    const target = anthropicMessages({ model: maker.model });
    const { value, losses, attachments } = await project(await session.context(), target, { blobs: kept });
    expect(losses).toEqual([]);
    expect(attachments).toMatchObject([{ sent: "bytes", reason: "currentTurn" }]);
    expect(JSON.stringify(value.messages.at(-1))).toContain(`"type":"${type}"`);
    await session.appendMessage(assistantMessage(maker, "I see."));
    await session.appendMessage(userMessage("and now?"));
    const next = await project(await session.context(), target, { blobs: kept, viewTool: true });
    expect(next.attachments).toMatchObject([{ sent: "descriptor", reason: "earlierTurn" }]);
    expect(JSON.stringify(next.value)).toContain(`view ${resource.resourceId} to see it`);
    const uninvited = await project(await session.context(), target, { blobs: kept });
    expect(JSON.stringify(uninvited.value)).not.toMatch(/to see it|ask to view/i);
  });

  test("finds a link and unknown bytes from before a compaction, and says that there is nothing to show", async () => {
    const unknown = await stored(1, bytesOf("ID3\u0004 sound"), "application/octet-stream");
    const session = await sessionWith(unknown);
    const link = {
      resourceId: "res_00000000000000aa",
      kind: "link",
      source: "link",
      uri: "https://a.example/",
    } as const;
    await session.appendMessage(userMessage("and", link));
    await compacted(session);
    for (const { resourceId } of [unknown, link]) {
      const message = await runViewTool(session, callOf({ resourceId }), { blobs: kept });
      const text = `[NOT_REHYDRATABLE ${resourceId}: only its description is kept, there is nothing to show]`;
      expect(message).toMatchObject({ isError: true, content: [{ text }] });
    }
  });

  test("finds nothing that an edit or an update took out, and what one put in", async () => {
    const [first, second] = [
      await stored(1, png(2, 2), "image/png"),
      await stored(2, png(3, 3), "image/png"),
    ];
    const session = await sessionWith(first);
    const [said] = (await session.tree()).path(session.leafId);
    const targetId = said?.id ?? "";
    const find = async ({ resourceId }: StoredResource) => {
      const viewing = await viewResource(resourceId, session, { blobs: kept });
      return viewing.ok ? "ok" : viewing.code;
    };
    expect([await find(first), await find(second)]).toEqual(["ok", "NOT_FOUND"]);
    await session.append([{ type: "message_update", targetId, message: userMessage("now", second) }]);
    expect([await find(first), await find(second)]).toEqual(["NOT_FOUND", "ok"]);
    const part = userMessage("", first).content[1] as never;
    await session.append([{ type: "part_update", targetId, index: 1, part }]);
    expect([await find(first), await find(second)]).toEqual(["ok", "NOT_FOUND"]);
    await session.append([{ type: "context_edit", targetId, replacement: null }]);
    expect([await find(first), await find(second)]).toEqual(["NOT_FOUND", "NOT_FOUND"]);
    const { content } = userMessage("again", second);
    await session.append([{ type: "context_edit", targetId, replacement: { content } }]);
    expect([await find(first), await find(second)]).toEqual(["NOT_FOUND", "ok"]);
  });

  test("finds nothing of another branch, but for what the summary of a left one records", async () => {
    const shot = await stored(1, png(4, 4), "image/png");
    const session = await sessionWith();
    const { leafId } = session;
    await session.appendMessage(userMessage("look", shot));
    await session.branchWithSummary(leafId, "left");
    const code = async () =>
      (await runViewTool(session, callOf({ resourceId: shot.resourceId }), { blobs: kept })).isError;
    expect(await code()).toBe(true);
    const details = { resources: [{ resourceId: shot.resourceId, resource: shot }] };
    await session.branchWithSummary(leafId, "left", { details });
    expect(await code()).toBe(false);
  });

  test.each([
    [undefined],
    [null],
    [{}],
    [{ resourceId: 7 }],
    [{ resourceId: "res_0123456789abcdef" }],
    ["res_1"],
  ])("answers %j in words, and records nothing", async (args) => {
    const session = await sessionWith();
    const { leafId } = session;
    const message = await runViewTool(session, callOf(args), { blobs: kept });
    expect(message).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/^\[NOT_FOUND /) }],
    });
    expect(session.leafId).toBe(leafId);
    expect(toolResult(callOf(args), "x").toolCallId).toBe(message.toolCallId);
  });
});
