/** Reads a reply of the Messages API as an assistant message. */

import type { AssistantMessage, Usage } from "../../content/index.js";
import { anything, array, isRecord, object, string } from "../../core/shape.js";
import {
  assertReply,
  blockFields,
  countsIn,
  given,
  givenFields,
  isSignature,
  type ReplyEnding,
  readCount,
  replyEnd,
  replyEnding,
  replyFields,
  usageFields,
} from "../reply-shape.js";
import { modelNames } from "../target.js";

/** The members of a finished message that are read; the official client's type has more. */
export interface AnthropicReply {
  readonly model: string;
  readonly content: readonly { readonly type: string }[];
  readonly stop_reason: string | null;
  readonly stop_details?: { readonly explanation?: string | null } | null;
  readonly usage: {
    readonly input_tokens: number;
    readonly output_tokens: number;
    readonly cache_read_input_tokens?: number | null;
    readonly cache_creation_input_tokens?: number | null;
    readonly cache_creation?: { readonly ephemeral_1h_input_tokens: number } | null;
  };
}

/** Options of {@link readAnthropicReply}. */
export interface ReadAnthropicReplyOptions {
  /** The provider, as for the target. Default `anthropic`. */
  readonly provider?: string;
  /**
   * The requested model. Default the model that the reply names. Give it: reasoning is sent back to this
   * model only, and a reply may name another. Two names count as one model if they differ only by a date, a
   * version or `latest` at the end.
   */
  readonly model?: string;
  /** The account, as for the target. */
  readonly account?: string;
  /** Milliseconds since 1970; default now. */
  readonly timestamp?: number;
}

/** The shape of the members that are read, of a message and of a stream's `message_start`. */
export const messageFields = {
  model: string,
  content: array(anything),
  stop_reason: given(string),
  stop_details: givenFields({ explanation: given(string) }),
};
const finished = object(messageFields);

type Content = AssistantMessage["content"][number];

/** The members of a reply that a message represents itself. */
const knownMembers = ["type", "role", "model", "content"];
const knownCounts = [
  ...["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"],
  "cache_creation",
];
/** Each request places its own cache markers. */
const knownFields = ["type", "cache_control"];

/**
 * Reads a reply of Anthropic's API as a message of a session. A projection to the same model sends the API
 * its own blocks back: reasoning with its signature, text with its citations, calls with their caller. An
 * unknown block is kept whole, and so are the other members of the reply, such as its container.
 *
 * A refusal is an error with the API's explanation, and `refused`. A message without a stop reason, as after
 * the client aborted its stream, is aborted. A call at its end, or at the end of a reply that a limit cut, may
 * be incomplete and is left out.
 *
 * @throws SessileError INVALID_MESSAGE with the path of the first invalid member.
 * @example
 * ```ts
 * const model = "claude-opus-5-5";
 * const { value } = await project(await session.context(), anthropicMessages({ model }));
 * const reply = await client.messages.stream({ model, max_tokens: 4096, ...value }).finalMessage();
 * await session.appendMessage(readAnthropicReply(reply, { model }));
 * ```
 */
export function readAnthropicReply(
  reply: AnthropicReply,
  options: ReadAnthropicReplyOptions = {},
): AssistantMessage {
  assertReply(reply, finished);
  const { provider = "anthropic", account, timestamp = Date.now() } = options;
  const { content, stop_reason: reason, stop_details: details, usage } = reply;
  const ending: ReplyEnding =
    (reason ?? undefined) === undefined
      ? { stopReason: "aborted" }
      : replyEnding(replyEnd(reason) ?? "stop", details?.explanation ?? `stopped: ${reason}`);
  // https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons (stored copy, 2026-11-28)
  const isCut = ending.stopReason === "aborted" || ending.stopReason === "length";
  const last = content.length - 1;
  // Calls can arrive at once: one before the last has text as its input if it is half.
  const isHalf = (block: AnthropicReply["content"][number], at: number) =>
    isCut &&
    block?.type === "tool_use" &&
    (at === last || ("input" in block && typeof block.input === "string"));
  return {
    role: "assistant",
    content: content.filter((block, at) => !isHalf(block, at)).map(readBlock),
    api: "anthropic-messages",
    provider,
    ...modelNames(options.model, reply.model),
    usage: anthropicUsage(usage),
    ...ending,
    ...replyFields({ ...reply, ...usageFields("usage", usage, ...knownCounts) }, ...knownMembers),
    ...(account === undefined ? {} : { account }),
    timestamp,
  };
}

function readBlock(block: AnthropicReply["content"][number]): Content {
  if (!isRecord(block)) return { type: "opaque", data: block };
  const fields: Readonly<Record<string, unknown>> = block;
  switch (fields.type) {
    case "text": {
      if (typeof fields.text !== "string") break;
      return { type: "text", text: fields.text, ...blockFields(fields, ...knownFields, "text") };
    }
    case "thinking": {
      const { thinking, signature } = fields;
      if (typeof thinking !== "string") break;
      const signed = isSignature(signature) ? { thinkingSignature: signature } : {};
      const rest = blockFields(fields, ...knownFields, "thinking", "signature");
      return { type: "thinking", thinking, ...signed, ...rest };
    }
    case "redacted_thinking": {
      const { data } = fields;
      if (typeof data !== "string") break;
      const rest = blockFields(fields, ...knownFields, "data");
      return { type: "thinking", thinking: "", thinkingSignature: data, redacted: true, ...rest };
    }
    case "tool_use": {
      const { id, name, input } = fields;
      if (typeof id !== "string" || typeof name !== "string") break;
      const copy = input === undefined || input === null ? {} : structuredClone(input);
      const rest = blockFields(fields, ...knownFields, "id", "name", "input");
      return { type: "toolCall", id, name, arguments: copy, ...rest };
    }
  }
  const { signature, ...unsigned } = fields;
  return { type: "opaque", data: structuredClone(isSignature(signature) ? fields : unsigned) };
}

/** Other servers of this protocol may leave counts out. */
function anthropicUsage(usage: unknown): Usage {
  const tokens = countsIn(usage);
  const input = readCount(tokens.input_tokens) ?? 0;
  const output = readCount(tokens.output_tokens) ?? 0;
  const cacheRead = readCount(tokens.cache_read_input_tokens) ?? 0;
  const cacheWrite = readCount(tokens.cache_creation_input_tokens) ?? 0;
  const cacheWrite1h = readCount(countsIn(tokens.cache_creation).ephemeral_1h_input_tokens) ?? 0;
  return {
    input,
    output,
    cacheRead,
    cacheWrite,
    ...(cacheWrite1h > 0 ? { cacheWrite1h } : {}),
    totalTokens: input + output + cacheRead + cacheWrite,
  };
}
