import { assistantMessage, messageText } from "sessile";
import { describe, expect, test } from "vitest";
import { opaqueWords } from "../../src/content/internal.js";

describe("opaqueWords", () => {
  test.each<[string, unknown, string]>([
    ["text of an unknown type", { type: "steering-message", text: "go left" }, "go left"],
    [
      "a cited answer of Converse",
      { citationsContent: { content: [{ text: "Blue" }, { text: "sky" }] } },
      "Blue\nsky",
    ],
    ["a guarded text of Converse", { guardContent: { text: { text: "mind", qualifiers: [] } } }, "mind"],
    [
      "a summary by Anthropic's API",
      { type: "compaction", content: "so far", encrypted_content: "RU5D" },
      "so far",
    ],
    [
      "a document of plain text",
      { type: "document", source: { type: "text", data: "chapter" }, title: "t" },
      "chapter",
    ],
    [
      "a search result, not its address",
      { type: "search_result", source: "https://a", content: [{ text: "x" }] },
      "x",
    ],
    ["a refusal", { type: "refusal", refusal: "I may not" }, "I may not"],
    ["what was heard", { type: "audio", transcript: "hello" }, "hello"],
    [
      "parts of a message",
      { type: "message", content: [{ type: "output_text", text: "a" }, { text: "b" }] },
      "a\nb",
    ],
    ["nested parts of a user", { type: "steering-message", parts: [{ type: "text", text: "stop" }] }, "stop"],
    ["reasoning", { type: "reasoning", content: [{ type: "reasoning_text", text: "hm" }] }, ""],
    ["reasoning of Converse", { reasoningContent: { reasoningText: { text: "hm", signature: "c" } } }, ""],
    ["a thought of Gemini", { text: "hm", thought: true }, ""],
    ["a result of a tool", { type: "mcp_tool_result", content: [{ type: "text", text: "rows" }] }, ""],
    ["a response of Gemini", { functionResponse: { name: "f", response: { text: "rows" } } }, ""],
    ["fields beside the blocks of a message", { message: { audio: { id: "a", transcript: "hi" } } }, ""],
    ["white space", { type: "note", text: " \n" }, ""],
    ["no object", "text", ""],
  ])("%s", (_, data, words) => {
    expect(opaqueWords(data)).toBe(words);
    const message = assistantMessage({ provider: "p", model: "m" }, "Said.", { type: "opaque", data });
    expect(messageText(message)).toBe(words === "" ? "Said." : `Said.\n${words}`);
  });

  test("takes any depth and any cycle", () => {
    const cyclic: Record<string, unknown> = { type: "x", text: "once" };
    cyclic.content = cyclic;
    expect(opaqueWords(cyclic)).toContain("once");
    let deep: unknown = { text: "deep" };
    for (let at = 0; at < 10_000; at++) deep = [deep];
    expect(opaqueWords(deep)).toBe("");
  });
});
