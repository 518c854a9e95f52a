import type { GenerateContentResponse } from "@google/genai";
import type { AssistantMessage } from "sessile/content";
import { type GeminiReply, readGeminiReply } from "sessile/projections/gemini";
import { describe, expect, expectTypeOf, test } from "vitest";

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
