import fc from "fast-check";
import { type AssistantMessage, memorySessionStore } from "sessile";
import { type AiSdkReply, readAiSdkReply } from "sessile/ai-sdk";
import { type AnthropicReply, anthropicStream, readAnthropicReply } from "sessile/anthropic";
import { type BedrockReply, bedrockStream, readBedrockReply } from "sessile/bedrock";
import { SessileError } from "sessile/errors";
import { type GeminiReply, geminiStream, readGeminiReply } from "sessile/gemini";
import {
  type OpenaiChatReply,
  type OpenaiResponsesReply,
  openaiChatStream,
  openaiResponsesStream,
  readOpenaiChatReply,
  readOpenaiResponsesReply,
} from "sessile/openai";
import { describe, expect, test } from "vitest";
import { mutationOf } from "../arbitraries/mutations.js";
import {
  callingReply as anthropicCalls,
  searchingReply as anthropicSearch,
  messageOf,
} from "../support/providers/anthropic/replies.js";
import { callingReply as bedrockCalls } from "../support/providers/bedrock/replies.js";
import { callingReply as geminiCalls } from "../support/providers/gemini/replies.js";
import { chatCallsReply, responsesCallsReply } from "../support/providers/openai/replies.js";
import { rounds } from "../support/rounds.js";

interface Reader {
  readonly replies: readonly unknown[];
  read(reply: unknown): AssistantMessage;
  /** Members to spoil, with the path that the error names. */
  readonly wrong: readonly (readonly [path: string, value: unknown])[];
}

const step = {
  model: { provider: "openai.responses", modelId: "gpt-5" },
  content: [{ type: "text", text: "hi" }, { type: "tool-call" }],
  finishReason: "tool-calls",
  usage: {
    inputTokens: 10,
    inputTokenDetails: { noCacheTokens: 4, cacheReadTokens: 5, cacheWriteTokens: 1 },
    outputTokens: 3,
    totalTokens: 13,
  },
  response: {
    messages: [
      {
        role: "assistant",
        content: [
          { type: "text", text: "hi", providerOptions: { openai: { itemId: "msg_1" } } },
          { type: "reasoning", text: "hm", providerOptions: { openai: { itemId: "rs_1" } } },
          { type: "tool-call", toolCallId: "call_1", toolName: "read", input: { path: "a" } },
          { type: "source", url: "https://example.com" },
        ],
      },
    ],
  },
};

const readers: Readonly<Record<string, Reader>> = {
  readAnthropicReply: {
    replies: [
      messageOf(anthropicCalls, "claude-opus-5-5", 1),
      messageOf(anthropicSearch, "claude-opus-5-5", 2),
    ],
    read: (reply) => readAnthropicReply(reply as AnthropicReply),
    wrong: [
      ["content", "text"],
      ["model", null],
      ["stop_reason", ["end_turn"]],
    ],
  },
  readOpenaiChatReply: {
    replies: [chatCallsReply()],
    read: (reply) => readOpenaiChatReply(reply as OpenaiChatReply),
    wrong: [
      ["choices", null],
      ["choices[0].message.tool_calls", "read"],
      ["choices[0].message.tool_calls[1]", null],
      ["choices[0].message.content", 5],
      ["model", undefined],
    ],
  },
  readOpenaiResponsesReply: {
    replies: [responsesCallsReply()],
    read: (reply) => readOpenaiResponsesReply(reply as OpenaiResponsesReply),
    wrong: [
      ["output", "text"],
      ["output[2]", null],
      ["error", "No."],
    ],
  },
  readGeminiReply: {
    replies: [geminiCalls("gemini-3-pro", { ids: true })],
    read: (reply) => readGeminiReply(reply as GeminiReply),
    wrong: [
      ["candidates", {}],
      ["candidates[0].content.parts", "text"],
      ["candidates[0].content.parts[1]", null],
      ["candidates[0].content.parts[2].functionCall", "read"],
      ["modelVersion", ""],
    ],
  },
  readBedrockReply: {
    replies: [bedrockCalls("anthropic.claude")].map(withBytes),
    read: (reply) => readBedrockReply(reply as BedrockReply, { model: "anthropic.claude" }),
    wrong: [
      ["output.message.content", "text"],
      ["output.message.content[2]", null],
      ["output.message.content[3].toolUse", "read"],
      ["output.message.content[1].reasoningContent.redactedContent", 5],
      ["stopReason", 5],
    ],
  },
  readAiSdkReply: {
    replies: [step, { steps: [step] }],
    read: (reply) => readAiSdkReply(reply as AiSdkReply),
    wrong: [
      ["model", null],
      ["content", "text"],
      ["response.messages[0]", null],
    ],
  },
};

/** The official client gives bytes where JSON has base64. */
function withBytes(value: unknown): unknown {
  const revived = (key: string, member: unknown): unknown =>
    key === "redactedContent" && typeof member === "string" ? new Uint8Array(Buffer.from(member)) : member;
  const walk = (key: string, member: unknown): unknown => {
    if (Array.isArray(member)) return member.map((one) => walk("", one));
    if (typeof member !== "object" || member === null) return revived(key, member);
    return Object.fromEntries(Object.entries(member).map(([name, inner]) => [name, walk(name, inner)]));
  };
  return walk("", value);
}

function copyOf(reply: unknown): Record<string, unknown> {
  return structuredClone(reply) as Record<string, unknown>;
}

/** Whether a session takes a message, which is whether it is one. */
async function isTaken(message: AssistantMessage): Promise<boolean> {
  const session = await memorySessionStore().create({ cwd: "/p" });
  await session.appendMessage(message);
  await session.close();
  return true;
}

describe("a stream whose reply is malformed", () => {
  const odd = [5, null, [], {}, "text", true].map((value) => ({ value }));

  test.each(odd)("still gives a message, with $value in the place of its members", async ({ value }) => {
    async function* of<T>(...events: readonly unknown[]): AsyncGenerator<T, void> {
      yield* events as readonly T[];
    }
    const message = { model: value, content: value, stop_reason: value, stop_details: value, usage: value };
    const response = { model: value, status: value, error: value, incomplete_details: value, usage: value };
    const delta = { content: value, tool_calls: [value], refusal: value, audio: value };
    const streams = [
      anthropicStream(of({ type: "message_start", message }, { type: "message_stop" })),
      openaiResponsesStream(of({ type: "response.completed", response: { ...response, output: [value] } })),
      openaiChatStream(
        of({ model: value, usage: value, choices: [{ index: 0, delta, finish_reason: "stop" }] }),
      ),
      geminiStream(
        of({
          modelVersion: value,
          responseId: value,
          promptFeedback: value,
          usageMetadata: value,
          candidates: [
            {
              content: {
                parts: [
                  value,
                  { text: value },
                  { functionCall: value },
                  { functionCall: { name: value, args: value } },
                ],
              },
              finishReason: "STOP",
            },
          ],
        }),
      ),
      bedrockStream(
        of(
          {
            contentBlockStart: {
              contentBlockIndex: 0,
              start: { toolUse: { toolUseId: value, name: value } },
            },
          },
          { contentBlockStart: { contentBlockIndex: 1, start: { text: value } } },
          { contentBlockDelta: { contentBlockIndex: 2, delta: { reasoningContent: value } } },
          { contentBlockDelta: { contentBlockIndex: 3, delta: { reasoningContent: { signature: value } } } },
          { contentBlockStop: { contentBlockIndex: 0 } },
          { messageStop: { stopReason: "end_turn" } },
          { metadata: { usage: value } },
        ),
        { model: "m" },
      ),
    ];
    for (const stream of streams) expect(await isTaken(await stream.message())).toBe(true);
  });
});

describe.each(Object.entries(readers))("%s", (name, { replies, read, wrong }) => {
  test("reads the replies that are spoilt below", async () => {
    for (const reply of replies) expect(await isTaken(read(copyOf(reply)))).toBe(true);
  });

  // @covers security:replies
  test("gives a message of any mutation of a reply, or says where it is wrong", async () => {
    const mutations = mutationOf(mutationOf(fc.constantFrom(...replies)).map((reply) => reply ?? null));
    await fc.assert(
      fc.asyncProperty(fc.oneof(mutationOf(fc.constantFrom(...replies)), mutations), async (json) => {
        const reply = name === "readBedrockReply" ? withBytes(json) : json;
        let message: AssistantMessage;
        try {
          message = read(reply);
        } catch (error) {
          expect(error).toBeInstanceOf(SessileError);
          expect(error).toMatchObject({ code: "INVALID_MESSAGE", details: { path: expect.any(String) } });
          return;
        }
        expect(await isTaken(message)).toBe(true);
      }),
      { numRuns: rounds(400, 2000) },
    );
  });

  test("names the path of what is wrong", () => {
    for (const [path, value] of wrong) {
      const reply = copyOf(replies[0]);
      const keys = path.split(/[.[\]]+/).filter((key) => key !== "");
      const last = keys.pop() as string;
      let owner = reply;
      for (const key of keys) owner = owner[key] as Record<string, unknown>;
      owner[last] = value;
      expect(() => read(reply), path).toThrow(
        expect.objectContaining({ code: "INVALID_MESSAGE", details: expect.objectContaining({ path }) }),
      );
    }
    for (const reply of [undefined, null, "text", 5, []]) {
      expect(() => read(reply), String(reply)).toThrow(SessileError);
    }
  });
});

test("a reply of more blocks than a call takes arguments is read", () => {
  const count = 200_000;
  const many = <T>(block: T): T[] => Array.from({ length: count }, () => block);
  const options = { model: "m" };
  const gemini = { candidates: [{ content: { parts: many({ text: "a" }) }, finishReason: "STOP" }] };
  expect(readGeminiReply(gemini, options).content).toHaveLength(count);
  const bedrock = { output: { message: { content: many({ text: "a" }) } }, stopReason: "end_turn" };
  expect(readBedrockReply(bedrock, options).content).toHaveLength(count);
  const messages = [{ role: "assistant", content: many({ type: "text", text: "a" }) }];
  expect(readAiSdkReply({ ...step, response: { messages } } as AiSdkReply).content).toHaveLength(count);
});
