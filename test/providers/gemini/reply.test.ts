import type { GenerateContentResponse } from "@google/genai";
import fc from "fast-check";
import { type AssistantMessage, contextFrom, project, type ToolCall, toolResult, userMessage } from "sessile";
import { type GeminiReply, type GeminiReplyPart, geminiContents, readGeminiReply } from "sessile/gemini";
import { describe, expect, expectTypeOf, test } from "vitest";
import { base64 } from "../../attachments/samples.js";

const model = "gemini-3-pro-preview";

type Parts = NonNullable<NonNullable<NonNullable<GeminiReply["candidates"]>[number]["content"]>["parts"]>;

function replyOf(parts: Parts, more: Partial<GeminiReply> = {}, finishReason = "STOP"): GeminiReply {
  return { candidates: [{ content: { parts }, finishReason }], responseId: "abc-1", ...more };
}

function contentOf(...parts: Parts): AssistantMessage["content"] {
  return readGeminiReply(replyOf(parts), { model }).content;
}

describe("readGeminiReply", () => {
  test("takes the official client's response", () => {
    expectTypeOf<GenerateContentResponse>().toExtend<GeminiReply>();
  });

  test("keeps text, reasoning and calls, each with its signature", () => {
    expect(
      contentOf(
        { text: "Hm.", thought: true, thoughtSignature: "YQ==" },
        { text: "So.", thought: true },
        { text: "Yes.", thoughtSignature: "Yg==" },
        { functionCall: { id: "1", name: "read", args: { a: [1] } }, thoughtSignature: "Yw==" },
        { functionCall: { id: "2", name: "list" } },
        { text: " or no" },
      ),
    ).toEqual([
      { type: "thinking", thinking: "Hm.", thinkingSignature: "YQ==" },
      { type: "thinking", thinking: "So." },
      { type: "text", text: "Yes.", textSignature: "Yg==" },
      { type: "toolCall", id: "1", name: "read", arguments: { a: [1] }, thoughtSignature: "Yw==" },
      { type: "toolCall", id: "2", name: "list", arguments: {} },
      { type: "text", text: " or no" },
    ]);
  });

  test("gives calls without an id, or with one again, an id of their own, the same each time", () => {
    const parts = [
      { functionCall: { name: "read", args: {} } },
      { functionCall: { name: "read", args: {} } },
      { functionCall: { id: "1", name: "read", args: {} } },
      { functionCall: { id: "1", name: "read", args: {} } },
    ];
    const idsOf = (reply: GeminiReply) =>
      readGeminiReply(reply, { model }).content.map((block) => block.type === "toolCall" && block.id);
    const ids = ["gemini_noid_abc-1_0", "gemini_noid_abc-1_1", "1", "gemini_noid_abc-1_3"];
    expect(idsOf(replyOf(parts))).toEqual(ids);
    expect(idsOf(replyOf(parts))).toEqual(ids);
    const { responseId: _, ...unnamed } = replyOf(parts);
    expect(new Set(idsOf(unnamed)).size).toBe(4);
    expect(idsOf(unnamed)).toEqual(idsOf(unnamed));
    expect(idsOf(unnamed)[0]).toMatch(/^gemini_noid_[0-9a-f]{8}_0$/);
    expect(idsOf(replyOf(parts, { responseId: `${"/".repeat(99)}` }))[0]).toMatch(/^[\w-]{1,64}$/);
  });

  test("keeps what is no text, reasoning or call as it came, and a signature on a text of nothing", () => {
    const code = { executableCode: { language: "PYTHON", code: "1" }, text: undefined };
    const parts = [code, { text: "", thoughtSignature: "YQ==" }] as unknown as Parts;
    expect(contentOf(...parts)).toEqual([
      { type: "opaque", data: { executableCode: { language: "PYTHON", code: "1" } } },
      { type: "opaque", data: { text: "", thoughtSignature: "YQ==" } },
    ]);
  });

  test("says why the model stopped", () => {
    const endOf = (reply: GeminiReply) => {
      const { stopReason, errorMessage } = readGeminiReply(reply, { model });
      return [stopReason, errorMessage];
    };
    const call = { functionCall: { id: "1", name: "read" } };
    expect(endOf(replyOf([{ text: "x" }]))).toEqual(["stop", undefined]);
    expect(endOf(replyOf([call]))).toEqual(["toolUse", undefined]);
    expect(endOf(replyOf([call], {}, "MAX_TOKENS"))).toEqual(["length", undefined]);
    expect(endOf(replyOf([], {}, "SAFETY"))).toEqual(["error", "SAFETY"]);
    expect(endOf({ candidates: [{ finishReason: "OTHER", finishMessage: "why" }] })).toEqual([
      "error",
      "OTHER: why",
    ]);
    const blocked = { blockReason: "PROHIBITED_CONTENT", blockReasonMessage: "no" };
    expect(endOf({ promptFeedback: blocked })).toEqual(["error", "PROHIBITED_CONTENT: no"]);
    expect(endOf({ candidates: [{ content: { parts: [] } }] })).toEqual(["aborted", undefined]);
    expect(endOf({})).toEqual(["error", "no candidate"]);
  });

  test("counts tokens: what came from the cache apart, thoughts as output", () => {
    const usageMetadata = {
      promptTokenCount: 1000,
      cachedContentTokenCount: 400,
      candidatesTokenCount: 60,
      thoughtsTokenCount: 40,
      toolUsePromptTokenCount: 5,
      totalTokenCount: 1105,
    };
    expect(readGeminiReply(replyOf([], { usageMetadata }), { model }).usage).toMatchObject({
      input: 605,
      output: 100,
      cacheRead: 400,
      cacheWrite: 0,
      totalTokens: 1105,
    });
    expect(readGeminiReply(replyOf([]), { model }).usage).toMatchObject({ input: 0, totalTokens: 0 });
  });

  test("keeps nothing of the reply itself, and takes null for what is not there", () => {
    const args = { at: { line: 1 } };
    const parts = [
      { functionCall: { name: "read", args }, text: null },
      { functionCall: { name: "list", args: null } },
      { text: "Yes.", functionCall: null, thoughtSignature: null },
    ];
    const reply = { candidates: [{ content: { parts }, finishReason: "STOP" }], usageMetadata: null };
    const message = readGeminiReply(reply as unknown as GeminiReply, { model: "m" });
    args.at.line = 2;
    expect(message.content).toMatchObject([
      { type: "toolCall", arguments: { at: { line: 1 } } },
      { type: "toolCall", arguments: {} },
      { type: "text", text: "Yes." },
    ]);
    expect(message.content[2]).toEqual({ type: "text", text: "Yes." });
    expect(message.usage).toMatchObject({ totalTokens: 0 });
  });

  test("names the maker as pi does, by default the model that answered", () => {
    const reply = replyOf([], { modelVersion: "gemini-3-pro" });
    expect(readGeminiReply(reply)).toMatchObject({
      provider: "google",
      model: "gemini-3-pro",
      api: "google-generative-ai",
    });
    expect(
      readGeminiReply(reply, { model: "gemini-flash-latest", provider: "google-vertex", account: "a" }),
    ).toMatchObject({
      provider: "google-vertex",
      model: "gemini-flash-latest",
      api: "google-vertex",
      account: "a",
    });
    expect(() => readGeminiReply({})).toThrow(
      expect.objectContaining({
        code: "INVALID_MESSAGE",
        details: { path: "modelVersion", expected: "a non-empty string" },
      }),
    );
  });
});

const models = ["gemini-2.5-pro", "gemini-3-pro-preview", "gemini-flash-latest"];

/** As a response brings it: no -0. */
const json = fc.json().map((text): unknown => JSON.parse(text));
const words = fc.string({ minLength: 1, unit: "grapheme" }).filter((text) => /\S/.test(text));
const signature = fc.uint8Array({ minLength: 1, maxLength: 9 }).map(base64);
const signed = <T extends object>(part: fc.Arbitrary<T>) =>
  fc.tuple(part, fc.option(signature)).map(([fields, thoughtSignature]) => ({
    ...fields,
    ...(thoughtSignature === null ? {} : { thoughtSignature }),
  }));
const thought = fc.record({ text: words, thought: fc.constant(true), thoughtSignature: signature });
const nothing = fc.record({ text: fc.constant(""), thoughtSignature: signature });
const code = words.map((text) => ({ executableCode: { language: "PYTHON", code: text } }));
const call = fc
  .record(
    {
      id: fc.uuid(),
      name: fc.constantFrom("read", "list"),
      args: fc.dictionary(fc.string(), json, { noNullPrototype: true }),
    },
    { requiredKeys: ["name", "args"] },
  )
  .map((functionCall) => ({ functionCall }));
// Reasoning that nothing follows is for no model.
const last: fc.Arbitrary<GeminiReplyPart> = fc.oneof(signed(fc.record({ text: words })), signed(call));
const part: fc.Arbitrary<GeminiReplyPart> = fc.oneof(
  signed(fc.record({ text: words })),
  thought,
  nothing,
  signed(code),
  signed(call),
);

/** What one candidate says: the first of its calls is signed, as from Gemini 3 on it always is. */
const said = fc.tuple(fc.array(part), last, signature).map(([before, end, thoughtSignature]) => {
  const parts = [...before, end];
  const first = parts.find(({ functionCall }) => functionCall !== undefined);
  return parts.map((one) => (one === first ? { ...one, thoughtSignature } : one));
});

test("whatever a model says goes back to it as it came", async () => {
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...models), said, async (model, parts) => {
      const reply: GeminiReply = { candidates: [{ content: { parts }, finishReason: "STOP" }] };
      const message = JSON.parse(JSON.stringify(readGeminiReply(reply, { model })));
      const calls: ToolCall[] = message.content.filter(({ type }: { type: string }) => type === "toolCall");
      const messages = [
        userMessage("hi"),
        message,
        ...calls.map((one) => toolResult(one, "done")),
        userMessage("And?"),
      ];
      const { value, losses } = await project(contextFrom(messages), geminiContents({ model }));
      expect(losses).toEqual([]);
      expect(value.contents[1]?.parts).toEqual(parts);
    }),
  );
});
