// What the AI SDK does in the benchmarks, in a process of its own: node tasks/ai-sdk.mjs TASK INPUT
import { readFileSync } from "node:fs";
import { createAnthropic } from "@ai-sdk/anthropic";
import { generateText } from "ai";
import { convertToLanguageModelPrompt } from "ai/internal";
import { countsOf } from "./request-counts.mjs";
import { task } from "./task.mjs";

/**
 * A message as the AI SDK keeps it.
 *
 * @param {import("sessile").Message} message
 * @returns {import("ai").ModelMessage}
 */
function asModelMessage(message) {
  switch (message.role) {
    case "user":
      return { role: "user", content: textsOf(message.content) };
    case "assistant":
      return {
        role: "assistant",
        content: message.content.flatMap((block) =>
          block.type === "toolCall" ? callParts(block) : textsOf([block]),
        ),
      };
    case "toolResult": {
      const { toolCallId, toolName } = message;
      const output = { type: /** @type {const} */ ("content"), value: textsOf(message.content) };
      return { role: "tool", content: [{ type: "tool-result", toolCallId, toolName, output }] };
    }
    default:
      throw new TypeError(`message.role: expected one of a plain conversation, got ${message.role}`);
  }
}

/**
 * @param {import("sessile").ToolCall} call
 * @returns {(import("ai").ToolCallPart | import("ai").TextPart)[]}
 */
function callParts({ id, name, arguments: input }) {
  return [{ type: "tool-call", toolCallId: id, toolName: name, input }];
}

/**
 * @param {string | readonly { type: string, text?: string }[]} content
 * @returns {import("ai").TextPart[]}
 */
function textsOf(content) {
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
  return blocks.map(({ text = "" }) => ({ type: "text", text }));
}

/** What was last sent. */
let body = "";
/** Anthropic's API for one who only looks at requests. @type {typeof fetch} */
const answer = async (_, init) => {
  body = String(init?.body);
  const reply = {
    type: "message",
    id: "msg_1",
    role: "assistant",
    model: "m",
    content: [{ type: "text", text: "Yes." }],
  };
  const usage = { input_tokens: 1, output_tokens: 1 };
  return Response.json({ ...reply, stop_reason: "end_turn", stop_sequence: null, usage });
};
const model = createAnthropic({ apiKey: "none", fetch: answer })("claude-opus-5-5");

/** @typedef {(messages: import("ai").ModelMessage[]) => Promise<unknown>} Send */

/** @type {Send} */
const request = (messages) => generateText({ model, messages, maxOutputTokens: 4096, maxRetries: 0 });

/**
 * By functions that it keeps to itself: what is left of the above where messages are not validated.
 *
 * @type {Send}
 */
const unchecked = async (messages) => {
  const prompt = await convertToLanguageModelPrompt({
    prompt: { messages },
    supportedUrls: {},
    download: undefined,
  });
  return model.doGenerate({ prompt, maxOutputTokens: 4096 });
};

/** @param {Send} send */
const timing =
  (send) =>
  /**
   * @param {{ path: string, warm: number }} input
   * @param {<T>(act: () => T) => Promise<T>} timed
   */
  async ({ path, warm }, timed) => {
    /** @type {readonly import("sessile").Message[]} */
    const kept = JSON.parse(readFileSync(path, "utf8"));
    const messages = kept.map(asModelMessage);
    // What is compiled on the way counts for neither side.
    for (let i = 0; i < warm; i++) await send(messages.slice(0, 401));
    await timed(() => send(messages));
    return countsOf(body);
  };

await task({ request: timing(request), unchecked: timing(unchecked) });
