import type { AssistantMessage, StopReason, ToolCall, Usage } from "../../content/index.js";
import { modelNames } from "../model-ref.js";
import { countOf } from "../reply-shape.js";

/** What a reply does not say of itself. */
export interface OpenaiReplyOptions {
  /** As for the target that asked; default `openai`. */
  readonly provider?: string;
  /**
   * As in the request; by default what the reply names. Reasoning goes back to this model alone, and a reply may name another, so
   * give it: only a date, a version and `latest` at the end of a name are known to be the same model's.
   */
  readonly model?: string;
  /** As for the target that asked. */
  readonly account?: string;
}

/** What a reply comes to. */
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

/** Tokens as this library counts them: what came from the cache, or went into it, is no part of the input. */
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
