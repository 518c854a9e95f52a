/** The blocks of a reply, the response of a call, and the usage, of a record of any version. */

import type { AssistantMessage, TextBlock, ThinkingBlock, ToolCall, Usage } from "../../content/index.js";
import { digestOf } from "../shared/ids.js";
import { arrayOf, countOf, type ForeignObject, objectOf, textOf } from "../shared/values.js";
import type { Turn } from "./history.js";
import { type FunctionResponse, type Part, partsOf, responsesOf, shownText } from "./parts.js";

type Block = AssistantMessage["content"][number];

/** The id of a call, or one that follows from its place. */
export function callId({ key }: Turn, call: ForeignObject, at: number): string {
  const id = textOf(call.id);
  return id === undefined || id === "" ? `call_${digestOf(key).slice(0, 8)}_${at}` : id;
}

/**
 * The blocks of a reply. A checkpoint writes all parts to `content`; else `content` is the text, between
 * `thoughts` and `toolCalls`.
 */
export function replyBlocks(turn: Turn, tools: readonly ForeignObject[]): Block[] {
  const parts = partsOf(turn.value.content);
  const hasCalls = parts.some((part) => objectOf(part.functionCall) !== undefined);
  const isWhole = hasCalls || parts.some(({ thought }) => thought === true);
  const blocks: Block[] = isWhole ? [] : arrayOf(turn.value.thoughts).flatMap(thoughtOf);
  let count = 0;
  for (const part of parts) {
    const call = objectOf(part.functionCall);
    if (call !== undefined) blocks.push(callBlock(turn, call, part, count++));
    else for (const block of partBlock(part)) blocks.push(block);
  }
  if (!hasCalls) for (const [at, tool] of tools.entries()) blocks.push(callBlock(turn, tool, {}, at));
  return blocks;
}

function callBlock(turn: Turn, call: ForeignObject, part: Part, at: number): ToolCall {
  const signature = textOf(part.thoughtSignature);
  return {
    type: "toolCall",
    id: callId(turn, call, at),
    name: textOf(call.name) ?? "",
    arguments: objectOf(call.args) ?? {},
    ...(signature === undefined ? {} : { thoughtSignature: signature }),
  };
}

function partBlock(part: Part): readonly Block[] {
  const text = textOf(part.text);
  const signature = textOf(part.thoughtSignature);
  if (text === undefined) return [{ type: "opaque", data: part }];
  if (part.thought === true) {
    const signed = signature === undefined ? {} : { thinkingSignature: signature };
    return [{ type: "thinking", thinking: text, ...signed } satisfies ThinkingBlock];
  }
  if (signature === undefined) return /\S/.test(text) ? [{ type: "text", text }] : [];
  // Other providers refuse an empty text.
  if (!/\S/.test(text)) return [{ type: "opaque", data: part }];
  return [{ type: "text", text, textSignature: signature } satisfies TextBlock];
}

/** A thought as the agent sends it again. */
function thoughtOf(value: unknown): readonly Block[] {
  const thought = objectOf(value);
  const subject = textOf(thought?.subject) ?? "";
  const description = textOf(thought?.description) ?? "";
  const thinking = subject === "" ? description : `**${subject}** ${description}`;
  return thinking.trim() === "" ? [] : [{ type: "thinking", thinking }];
}

/**
 * The response of a call. A checkpoint gives each call of a reply the responses of all, of which one has its
 * id.
 */
export function responseOf(
  call: Pick<ToolCall, "id" | "name">,
  { result }: ForeignObject,
): FunctionResponse | undefined {
  if (result === undefined || result === null) return undefined;
  const { responses, others } = responsesOf(partsOf(result));
  const own = responses.find(({ id }) => id === call.id) ?? responses.find(({ name }) => name === call.name);
  const found = own ?? responses[0];
  if (found !== undefined) return found;
  const text = shownText(others);
  return { id: call.id, name: call.name, response: { output: text }, media: [] };
}

/** Tokens of a reply. The count of the input includes the cached ones, that of the output no thoughts. */
export function usageOf(value: unknown): Usage | undefined {
  const tokens = objectOf(value);
  if (tokens === undefined) return undefined;
  const cacheRead = countOf(tokens.cached);
  const input = Math.max(0, countOf(tokens.input) + countOf(tokens.tool) - cacheRead);
  const output = countOf(tokens.output) + countOf(tokens.thoughts);
  const total = countOf(tokens.total);
  return {
    input,
    output,
    cacheRead,
    cacheWrite: 0,
    totalTokens: total > 0 ? total : input + cacheRead + output,
  };
}
