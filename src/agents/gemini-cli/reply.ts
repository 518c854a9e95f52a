/** The blocks of a reply, the response of a call, and the usage, of a record of any version. */

import type { AssistantMessage, ToolCall, Usage } from "../../content/index.js";
import {
  callBlock,
  callId,
  contentParts,
  type FunctionResponse,
  partBlock,
  partResponses,
  shownText,
  usageOfCounts,
} from "../shared/gemini-parts.js";
import { type ForeignObject, readCount, readObject, readText, toArray } from "../shared/values.js";
import type { Turn } from "./history.js";

type Block = AssistantMessage["content"][number];

/**
 * The blocks of a reply. A checkpoint writes all parts to `content`; else `content` is the text, between
 * `thoughts` and `toolCalls`.
 */
export function replyBlocks(turn: Turn, tools: readonly ForeignObject[]): Block[] {
  const parts = contentParts(turn.value.content);
  const hasCalls = parts.some((part) => readObject(part.functionCall) !== undefined);
  const isWhole = hasCalls || parts.some(({ thought }) => thought === true);
  const blocks: Block[] = isWhole ? [] : toArray(turn.value.thoughts).flatMap(readThought);
  let count = 0;
  for (const part of parts) {
    const call = readObject(part.functionCall);
    if (call !== undefined) blocks.push(callBlock(callId(turn.key, call, count++), call, part));
    else for (const block of partBlock(part)) blocks.push(block);
  }
  if (!hasCalls)
    for (const [at, tool] of tools.entries()) blocks.push(callBlock(callId(turn.key, tool, at), tool, {}));
  return blocks;
}

/** A thought as the agent sends it again. */
function readThought(value: unknown): readonly Block[] {
  const thought = readObject(value);
  const subject = readText(thought?.subject) ?? "";
  const description = readText(thought?.description) ?? "";
  const thinking = subject === "" ? description : `**${subject}** ${description}`;
  return thinking.trim() === "" ? [] : [{ type: "thinking", thinking }];
}

/**
 * The response of a call. A checkpoint gives each call of a reply the responses of all, of which one has its
 * id.
 */
export function callResponse(
  call: Pick<ToolCall, "id" | "name">,
  { result }: ForeignObject,
): FunctionResponse | undefined {
  if (result === undefined || result === null) return undefined;
  const { responses, others } = partResponses(contentParts(result));
  const own = responses.find(({ id }) => id === call.id) ?? responses.find(({ name }) => name === call.name);
  const found = own ?? responses[0];
  if (found !== undefined) return found;
  const text = shownText(others);
  return { id: call.id, name: call.name, response: { output: text }, media: [] };
}

/** Tokens of a reply. The count of the input includes the cached ones, that of the output no thoughts. */
export function readUsage(value: unknown): Usage | undefined {
  const tokens = readObject(value);
  if (tokens === undefined) return undefined;
  const prompt = readCount(tokens.input) + readCount(tokens.tool);
  return usageOfCounts(
    prompt,
    tokens.cached,
    readCount(tokens.output) + readCount(tokens.thoughts),
    tokens.total,
  );
}
