/** Options, request parts and reply members that Chat Completions and Responses share. */

import type { ImageFamily } from "../../content/estimate/index.js";
import type { AssistantMessage, ToolCall, Usage } from "../../content/index.js";
import type { LimitProfile } from "../../content/limits/index.js";
import { openai as openaiLimits } from "../../content/limits/internal.js";
import { mediaTypeExtension, mediaTypeOfName } from "../../content/media/index.js";
import { stringArgument } from "../../core/arguments.js";
import { oneLine } from "../../core/text.js";
import { modelFacts } from "../models/internal.js";
import { type ReplyEnding, readCount } from "../reply-shape.js";
import type { Part } from "../request.js";
import { type ModelRef, modelNames, type RenderTools, type Target, type TargetMedia } from "../target.js";

/** Options of both OpenAI targets. */
export interface OpenaiOptions {
  /** The model of the request, such as `gpt-5.4`. */
  readonly model: string;
  /**
   * The provider, as messages of the session name it. Reasoning and ids are sent back only to the same
   * provider. Default `openai`.
   */
  readonly provider?: string;
  /** The account, if the harness has several. Encrypted reasoning of another account is left out. */
  readonly account?: string;
  /** Default the limits of OpenAI itself. */
  readonly profile?: LimitProfile;
  /** The model's context window in tokens. */
  readonly contextWindow?: number;
  /** The role of the instructions. */
  readonly instructions?: "system" | "developer";
  /** Whether the model takes cache breakpoints, as those from GPT-5.6 on do. Default false. */
  readonly cacheBreakpoints?: boolean;
  /** Media types that the model reads. Default by the table of models: none if it reads no images. */
  readonly accepts?: TargetMedia;
  /** How images are counted in `usage`. Default by the model; `openaiHigh` for unknown models. */
  readonly imageTokens?: ImageFamily;
}

/** The types of images that OpenAI takes. A GIF has to be still, by its limits. */
export const imageTypes: readonly string[] = ["image/png", "image/jpeg", "image/webp", "image/gif"];

/**
 * A request has at most four breakpoints. The API uses one itself unless the request disables that.
 *
 * @see https://docs.rs/async-openai/0.42.0/async_openai/types/responses/struct.PromptCacheOptionsParam.html,
 *   generated from the API's own description (read as a stored copy, 2026-11-21)
 */
const maxBreakpoints = 3;

/**
 * The call id of a stored id: the text before the first `|`. After it comes the id of the item, which
 * Responses has beside the call id.
 */
export function callIdOfStoredId(storedId: string): string {
  const bar = storedId.indexOf("|");
  return bar === -1 ? storedId : storedId.slice(0, bar);
}

/** The item id of a stored id: the text after the first `|`. pi writes `undefined` for an absent one. */
export function itemIdOfStoredId(storedId: string): string | undefined {
  const bar = storedId.indexOf("|");
  return bar === -1 ? undefined : storedId.slice(bar + 1);
}

/** The members that the two targets share. */
export function openaiTarget(
  options: OpenaiOptions,
  api: string,
): Pick<Target<unknown>, "limits" | "estimate" | "maxCacheMarkers" | "embedsBase64"> & {
  readonly model: ModelRef;
} {
  const model = stringArgument("model", options?.model);
  const { provider = "openai", account, profile = openaiLimits, contextWindow } = options;
  const facts = modelFacts(model);
  const { pdf } = facts;
  return {
    model: {
      provider,
      model,
      api,
      ...(account === undefined ? {} : { account }),
    },
    limits: { profile, ...(contextWindow === undefined ? {} : { contextWindow }) },
    embedsBase64: true,
    estimate: {
      image: options.imageTokens ?? facts.image ?? "openaiHigh",
      ...(pdf !== undefined && { pdf }),
    },
    maxCacheMarkers: options.cacheBreakpoints === true ? maxBreakpoints : 0,
  };
}

/** An explicit breakpoint of the prompt cache: the prefix up to here is cached. */
export interface OpenaiBreakpoint {
  prompt_cache_breakpoint?: { mode: "explicit" };
}

/** A new breakpoint if the cached prefix ends at one of these parts, else no members. */
export function breakpointAfter(tools: RenderTools, ...parts: readonly Part[]): OpenaiBreakpoint {
  return parts.some((part) => tools.endsCache(part)) ? { prompt_cache_breakpoint: { mode: "explicit" } } : {};
}

/** A file's name as the API requires it: one line, with an extension by which the API knows its type. */
export function fileName(name: string | undefined, mediaType: string): string {
  const own = oneLine(name ?? "", /[\p{Cc}\p{Zl}\p{Zp}\s]{1,4096}/gu);
  const base = own === "" ? "document" : own;
  return mediaTypeOfName(base) === mediaType ? base : `${base}.${mediaTypeExtension(mediaType) ?? "txt"}`;
}

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
export interface ReadReply extends ReplyEnding {
  readonly api: string;
  readonly model: string;
  readonly content: AssistantMessage["content"];
  readonly usage: Usage | undefined;
  /** Seconds since 1970. */
  readonly createdAt: number;
  readonly providerFields?: NonNullable<AssistantMessage["providerFields"]>;
}

/** The message of a reply. */
export function replyMessage(read: ReadReply, options: OpenaiReplyOptions): AssistantMessage {
  const { api, model, content, usage, stopReason, errorMessage, refused, createdAt, providerFields } = read;
  return {
    role: "assistant",
    content,
    api,
    provider: options.provider ?? "openai",
    ...modelNames(options.model, model),
    ...(options.account === undefined ? {} : { account: options.account }),
    ...(usage === undefined ? {} : { usage }),
    // Some servers of the protocol send `stop` after calls too.
    stopReason: stopReason === "stop" && content.some(isCall) ? "toolUse" : stopReason,
    ...(errorMessage === undefined ? {} : { errorMessage }),
    ...(refused === undefined ? {} : { refused }),
    ...(providerFields === undefined ? {} : { providerFields }),
    timestamp: readCount(createdAt) === undefined ? Date.now() : createdAt * 1000,
  };
}

function isCall(block: AssistantMessage["content"][number]): block is ToolCall {
  return block.type === "toolCall";
}

/** Token counts of this library: tokens read from or written to the cache are not part of the input. */
export function openaiUsage(tokens: {
  readonly input: unknown;
  readonly output: unknown;
  readonly cacheRead: unknown;
  readonly cacheWrite: unknown;
  readonly total: unknown;
}): Usage {
  const input = readCount(tokens.input) ?? 0;
  const output = readCount(tokens.output) ?? 0;
  const cacheRead = readCount(tokens.cacheRead) ?? 0;
  const cacheWrite = readCount(tokens.cacheWrite) ?? 0;
  return {
    input: Math.max(0, input - cacheRead - cacheWrite),
    output,
    cacheRead,
    cacheWrite,
    totalTokens: readCount(tokens.total) ?? input + output,
  };
}
