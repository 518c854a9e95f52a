import type Anthropic from "@anthropic-ai/sdk";
import type { Tool as BedrockTool } from "@aws-sdk/client-bedrock-runtime";
import type { FunctionDeclaration } from "@google/genai";
import type { Tool as McpTool } from "@modelcontextprotocol/sdk/types.js";
import { jsonSchema, tool } from "ai";
import type OpenAI from "openai";
import { resourcesIn, runViewTool, viewResource, viewTool, viewToolName } from "sessile/attachments";
import { digest, memoryBlobStore } from "sessile/blobs";
import { compact, rollingSummary } from "sessile/compaction";
import { assistantMessage, type StoredResource, toolResult, userMessage } from "sessile/content";
import { project } from "sessile/projections";
import { anthropicMessages } from "sessile/projections/anthropic";
import { memorySessionStore, type Session } from "sessile/session";
import { describe, expect, test } from "vitest";
import { bytesOf, image, pdf, png } from "./samples.js";

const maker = { provider: "anthropic", model: "claude-sonnet-4-5" };
const blobs = memoryBlobStore();
const callOf = (args: unknown, id = "v1") =>
  ({ type: "toolCall", id, name: viewToolName, arguments: args as Record<string, unknown> }) as const;

async function stored(number: number, bytes: Uint8Array, mediaType: string): Promise<StoredResource> {
  await blobs.put(bytes);
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
    const message = await runViewTool(session, call, { blobs });
    expect(message).toMatchObject({ role: "toolResult", toolCallId: "v1", isError: false });
    await session.appendMessage(message);
    const recorded = session.tree.path(session.leafId).at(-2);
    expect(await session.entry(recorded?.id ?? "")).toMatchObject({
      type: "resource_view",
      resourceId: resource.resourceId,
      reason: "the code",
    });
    const target = anthropicMessages({ model: maker.model });
    const { value, losses, attachments } = await project(await session.context(), target, { blobs });
    expect(losses).toEqual([]);
    expect(attachments).toMatchObject([{ sent: "bytes", reason: "currentTurn" }]);
    expect(JSON.stringify(value.messages.at(-1))).toContain(`"type":"${type}"`);
    await session.appendMessage(assistantMessage(maker, "I see."));
    await session.appendMessage(userMessage("and now?"));
    const next = await project(await session.context(), target, { blobs, viewTool: true });
    expect(next.attachments).toMatchObject([{ sent: "descriptor", reason: "earlierTurn" }]);
    expect(JSON.stringify(next.value)).toContain(`view ${resource.resourceId} to see it`);
    const uninvited = await project(await session.context(), target, { blobs });
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
      const message = await runViewTool(session, callOf({ resourceId }), { blobs });
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
    const [said] = session.tree.path(session.leafId);
    const targetId = said?.id ?? "";
    const find = async ({ resourceId }: StoredResource) => {
      const viewing = await viewResource(resourceId, session, { blobs });
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
      (await runViewTool(session, callOf({ resourceId: shot.resourceId }), { blobs })).isError;
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
    const message = await runViewTool(session, callOf(args), { blobs });
    expect(message).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/^\[NOT_FOUND /) }],
    });
    expect(session.leafId).toBe(leafId);
    expect(toolResult(callOf(args), "x").toolCallId).toBe(message.toolCallId);
  });
});
