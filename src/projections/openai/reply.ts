import type { AssistantMessage, StopReason, ToolCall, Usage } from "../../content/index.js";
import { modelNames } from "../model-ref.js";
import { countOf } from "../reply-shape.js";

/** Options of both OpenAI readers: facts that a reply does not contain. */
export interface OpenaiReplyOptions {
  /** The provider, as for the target. Default `openai`. */
  readonly provider?: string;
  /**
   * The requested model. Default the model that the reply names. Give it: reasoning is sent back to this
   * model only, and a reply may name another. Two names count as one model if they differ only by a date, a
   * version or `latest` at the end.
   */
  readonly model?: string;
  /** The account, as for the target. */
  readonly account?: string;
}

/** The content of a reply, before it becomes a message. */
export interface ReadReply {
  readonly api: string;
  readonly model: string;
  readonly content: AssistantMessage["content"];
  readonly usage: Usage | undefined;
  readonly stopReason: StopReason;
  readonly errorMessage?: string;
  /** Seconds since 1970. */
  readonly createdAt: number;
}

/** The message of a reply. */
export function replyMessage(read: ReadReply, options: OpenaiReplyOptions): AssistantMessage {
  const { api, model, content, usage, stopReason, errorMessage, createdAt } = read;
  return {
    role: "assistant",
    content,
    api,
    provider: options.provider ?? "openai",
    ...modelNames(options.model, model),
    ...(options.account === undefined ? {} : { account: options.account }),
    ...(usage === undefined ? {} : { usage }),
    // Some who speak the protocol say `stop` behind calls too.
    stopReason: stopReason === "stop" && content.some(isCall) ? "toolUse" : stopReason,
    ...(errorMessage === undefined ? {} : { errorMessage }),
    timestamp: countOf(createdAt) === undefined ? Date.now() : createdAt * 1000,
  };
}

function isCall(block: AssistantMessage["content"][number]): block is ToolCall {
  return block.type === "toolCall";
}

/** Token counts of this library: tokens read from or written to the cache are not part of the input. */
export function usageOf(tokens: {
  readonly input: unknown;
  readonly output: unknown;
  readonly cacheRead: unknown;
  readonly cacheWrite: unknown;
  readonly total: unknown;
}): Usage {
  const input = countOf(tokens.input) ?? 0;
  const output = countOf(tokens.output) ?? 0;
  const cacheRead = countOf(tokens.cacheRead) ?? 0;
  const cacheWrite = countOf(tokens.cacheWrite) ?? 0;
  return {
    input: Math.max(0, input - cacheRead - cacheWrite),
    output,
    cacheRead,
    cacheWrite,
    totalTokens: countOf(tokens.total) ?? input + output,
  };
}
