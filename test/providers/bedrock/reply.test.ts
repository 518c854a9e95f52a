import type { ConverseCommandOutput } from "@aws-sdk/client-bedrock-runtime";
import fc from "fast-check";
import { type AssistantMessage, contextFrom, project, type ToolCall, toolResult, userMessage } from "sessile";
import {
  type BedrockReply,
  type BedrockReplyBlock,
  bedrockConverse,
  readBedrockReply,
} from "sessile/bedrock";
import { describe, expect, expectTypeOf, test } from "vitest";
import { opaqueBlock, opaqueData } from "../../../src/providers/bedrock/reply.js";

const model = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";

function contentOf(...content: readonly BedrockReplyBlock[]): AssistantMessage["content"] {
  return readBedrockReply({ output: { message: { content } }, stopReason: "end_turn" }, { model }).content;
}

describe("readBedrockReply", () => {
  test("takes the official client's response", () => {
    expectTypeOf<ConverseCommandOutput>().toExtend<BedrockReply>();
  });

  test("keeps text, reasoning and calls, with signatures and withheld reasoning", () => {
    expect(
      contentOf(
        { reasoningContent: { reasoningText: { text: "Hm.", signature: "sig" } } },
        { reasoningContent: { reasoningText: { text: "So." } } },
        { reasoningContent: { redactedContent: Uint8Array.of(1, 2) } },
        { text: "Yes." },
        { toolUse: { toolUseId: "1", name: "read", input: { a: [1] } } },
      ),
    ).toEqual([
      { type: "thinking", thinking: "Hm.", thinkingSignature: "sig" },
      { type: "thinking", thinking: "So." },
      { type: "thinking", thinking: "", thinkingSignature: "AQI=", redacted: true },
      { type: "text", text: "Yes." },
      { type: "toolCall", id: "1", name: "read", arguments: { a: [1] } },
    ]);
  });

  test("keeps what is none of these as JSON, bytes too, and calls that Bedrock answers itself", () => {
    const audio: object = {
      audio: { format: "mp3", source: { bytes: Uint8Array.of(1, 2) } },
      text: undefined,
    };
    const added: object = { $unknown: ["new", { a: [1] }] };
    const server = { toolUse: { toolUseId: "1", name: "search", input: {}, type: "server_tool_use" } };
    const content = contentOf(audio, server, added);
    expect(content).toStrictEqual([
      { type: "opaque", data: { audio: { format: "mp3", source: { bytes: { $base64: "AQI=" } } } } },
      { type: "opaque", data: server },
      { type: "opaque", data: { $unknown: ["new", { a: [1] }] } },
    ]);
    expect(JSON.parse(JSON.stringify(content))).toEqual(content);
  });

  test("says why the model stopped", () => {
    const endOf = (stopReason?: string) => {
      const message = readBedrockReply({ stopReason }, { model });
      return [message.stopReason, message.errorMessage];
    };
    expect(endOf("end_turn")).toEqual(["stop", undefined]);
    expect(endOf("stop_sequence")).toEqual(["stop", undefined]);
    expect(endOf("tool_use")).toEqual(["toolUse", undefined]);
    expect(endOf("max_tokens")).toEqual(["length", undefined]);
    expect(endOf("model_context_window_exceeded")).toEqual(["length", undefined]);
    expect(endOf("guardrail_intervened")).toEqual(["error", "guardrail_intervened"]);
    expect(endOf("constructor")).toEqual(["error", "constructor"]);
    expect(endOf()).toEqual(["aborted", undefined]);
  });

  test("counts tokens", () => {
    const usage = {
      inputTokens: 600,
      outputTokens: 60,
      totalTokens: 1110,
      cacheReadInputTokens: 400,
      cacheWriteInputTokens: 50,
    };
    expect(readBedrockReply({ usage }, { model }).usage).toMatchObject({
      input: 600,
      output: 60,
      cacheRead: 400,
      cacheWrite: 50,
      totalTokens: 1110,
    });
    expect(readBedrockReply({}, { model }).usage).toMatchObject({ input: 0, totalTokens: 0 });
  });

  test("reads calls whose type is named, as the service does, and not those that the service answers itself", () => {
    const call = (type: string) => ({ toolUse: { toolUseId: "1", name: "read", input: { a: 1 }, type } });
    expect(contentOf(call("tool_use"))).toEqual([
      { type: "toolCall", id: "1", name: "read", arguments: { a: 1 } },
    ]);
    expect(contentOf(call("server_tool_use"))).toMatchObject([{ type: "opaque" }]);
  });

  test("takes a response without an end for an aborted one, and a call that was cut for one that never began", () => {
    const call = (toolUseId: string, input: unknown) => ({ toolUse: { toolUseId, name: "read", input } });
    const ids = (stopReason: string | undefined, last: unknown) => {
      const content = [call("a", {}), call("b", last)];
      return readBedrockReply({ output: { message: { content } }, stopReason }, { model }).content.length;
    };
    expect(ids(undefined, {})).toBe(1);
    expect(ids("max_tokens", '{"a')).toBe(1);
    expect(ids("max_tokens", {})).toBe(1);
    expect(ids("max_tokens", { a: 1 })).toBe(1);
    expect(ids("tool_use", {})).toBe(2);
  });

  test("keeps nothing of the reply itself", () => {
    const input = { at: { line: 1 } };
    const content = contentOf({ toolUse: { toolUseId: "1", name: "read", input } });
    input.at.line = 2;
    expect(content).toMatchObject([{ arguments: { at: { line: 1 } } }]);
  });

  test("names the maker as pi does", () => {
    expect(readBedrockReply({}, { model })).toMatchObject({
      provider: "amazon-bedrock",
      model,
      api: "bedrock-converse-stream",
    });
    expect(readBedrockReply({}, { model, provider: "mine", account: "a" })).toMatchObject({
      provider: "mine",
      account: "a",
    });
    expect(() => readBedrockReply({}, { model: "" })).toThrow(
      new TypeError("model: expected a non-empty string, got an empty string"),
    );
  });
});

const leaf = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null), fc.uint8Array());
const { value } = fc.letrec((tie) => ({
  value: fc.oneof({ depthSize: "small" }, leaf, fc.array(tie("value")), tie("fields")),
  fields: fc.dictionary(fc.string(), tie("value"), { noNullPrototype: true }),
}));
const kind = fc.constantFrom(
  "citationsContent",
  "searchResult",
  "audio",
  "video",
  "guardContent",
  "$unknown",
);

describe("a block that is kept as it is", () => {
  test("survives the log, bytes and all, in fresh objects", () => {
    fc.assert(
      fc.property(kind, value, (name, of) => {
        const block = { [name]: of };
        const stored = JSON.parse(JSON.stringify(opaqueData(block)));
        expect(stored).toEqual(opaqueData(block));
        expect(opaqueBlock(stored)).toEqual(block);
        if (typeof of === "object" && of !== null) {
          expect(Object.values(opaqueBlock(stored) ?? {})[0]).not.toBe(Object.values(stored)[0]);
        }
      }),
    );
  });

  test.each([
    [{ text: "a" }],
    [{ toolUse: { toolUseId: "1", name: "search", input: {} } }],
    [{ image: { format: "png", source: {} } }],
    [{ audio: {}, video: {} }],
    [{ $base64: "AQI=" }],
    [{}],
    ["text"],
    [null],
  ])("is none of %j", (data) => {
    expect(opaqueBlock(data)).toBeUndefined();
  });
});

/** As a response brings it: no -0. */
const json = fc.json().map((text): unknown => JSON.parse(text));
// No white space at the end: a turn may not end with it, so that it is taken away.
const words = fc.string({ minLength: 1, unit: "grapheme" }).filter((text) => /\S$/.test(text));
const bytes = fc.uint8Array({ minLength: 1, maxLength: 9 });
const block: fc.Arbitrary<BedrockReplyBlock> = fc.oneof(
  fc.record({ text: words }),
  fc
    .record({ text: words, signature: words })
    .map((reasoningText) => ({ reasoningContent: { reasoningText } })),
  bytes.map((redactedContent) => ({ reasoningContent: { redactedContent } })),
  bytes.map((audio): object => ({ audio: { format: "mp3", source: { bytes: audio } } })),
  fc
    .record({
      toolUseId: fc.uuid(),
      name: fc.constantFrom("read", "list"),
      input: fc.dictionary(fc.string(), json, { noNullPrototype: true }),
    })
    .map((toolUse) => ({ toolUse })),
);

test("whatever a model says goes back to it as it came", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(block), words, async (before, text) => {
      // Reasoning that nothing follows is for no model.
      const content = [...before, { text }];
      const reply = { output: { message: { content } }, stopReason: "end_turn" };
      const message = JSON.parse(JSON.stringify(readBedrockReply(reply, { model })));
      const calls: ToolCall[] = message.content.filter(({ type }: { type: string }) => type === "toolCall");
      const results = calls.map((call) => toolResult(call, "done"));
      const messages = [userMessage("hi"), message, ...results, userMessage("And?")];
      const { value, losses } = await project(contextFrom(messages), bedrockConverse({ model }));
      expect(losses).toEqual([]);
      expect(value.messages[1]?.content).toEqual(content);
    }),
  );
});
