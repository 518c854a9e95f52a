/** Contexts: the messages of the next model call, with their origins; policies of replay. */

import { assertHas } from "../core/arguments.js";
import type { ContextMessage, StoredResource } from "./message.js";

/** One message of a context, and its origin. */
export interface ContextItem {
  /** The session entry of the message, for reports and repairs. */
  readonly entryId: string;
  /**
   * `message`: a stored message. `summary`: a compaction's summary. `system`: a compaction's system message.
   * `retained`: a message from before the compaction that it keeps. `branchSummary`, `custom`: entries of
   * that type.
   */
  readonly origin: "message" | "summary" | "system" | "branchSummary" | "custom" | "retained";
  readonly message: ContextMessage;
  /** A context edit replaced the content. */
  readonly edited?: true;
}

/** A request to send a resource again, and its position in the context. */
export interface ContextView {
  readonly entryId: string;
  readonly resourceId: string;
  /** Number of the context's items before it. */
  readonly item: number;
}

/** A recorded observation of a resource, and its position in the context. */
export interface ContextObservation extends ContextView {
  readonly text: string;
}

/** The input of the next model call, in order: a plain value that other modules take. */
export interface Context {
  readonly items: readonly ContextItem[];
  /** Resource views on the path since the start of the context, oldest first. */
  readonly views: readonly ContextView[];
  /**
   * Observations of resources on the whole path, oldest first. Those before a compaction are at position 0.
   * Absent if empty.
   */
  readonly observations?: readonly ContextObservation[];
  /** Ids of entries pinned at the leaf, in path order. The next compaction keeps them. */
  readonly pins: readonly string[];
  /** The model in force at the leaf. */
  readonly model: { readonly provider: string; readonly modelId: string } | null;
  /** Default `off`. */
  readonly thinkingLevel: string;
  /**
   * Index of the first item after the latest compaction or context edit on the path, else 0. Usage reported
   * by earlier assistant messages is of another context. Edits count even if their target is not in the
   * context.
   */
  readonly usageSince: number;
}

/**
 * A context from messages, without a session. Entry ids are `m0`, `m1` and so on. `usageSince` is the first
 * message after the last compaction summary with a later timestamp, since messages that the compaction kept
 * also follow the summary.
 *
 * @example
 * ```ts
 * const context = contextFrom([userMessage("hi")]);
 * context.items[0]?.entryId; // "m0"
 * ```
 */
export function contextFrom(messages: readonly ContextMessage[]): Context {
  assertHas("messages", messages, ["map"], "an array of messages");
  let model: Context["model"] = null;
  for (const message of messages) {
    if (message.role === "assistant") model = { provider: message.provider, modelId: message.model };
  }
  return {
    items: messages.map((message, index) => ({
      entryId: `m${index}`,
      origin: messageOrigin(message),
      message,
    })),
    views: [],
    pins: [],
    model,
    thinkingLevel: "off",
    usageSince: usageSince(messages),
  };
}

function usageSince(messages: readonly ContextMessage[]): number {
  const summaryAt = messages.findLastIndex(({ role }) => role === "compactionSummary");
  const summary = messages[summaryAt];
  if (summary === undefined) return 0;
  const at = messages.findIndex(({ timestamp }, index) => index > summaryAt && timestamp > summary.timestamp);
  return at < 0 ? messages.length : at;
}

function messageOrigin(message: ContextMessage): ContextItem["origin"] {
  if (message.role === "compactionSummary") return "summary";
  if (message.role === "branchSummary") return "branchSummary";
  return message.role === "custom" ? "custom" : "message";
}

/**
 * How an attachment is sent in one request. `full`: its bytes and its descriptor. `describe`: its descriptor
 * only. `omit`: neither.
 */
export type ReplayDecision = "full" | "describe" | "omit";

/** An occurrence of a resource in a context, as the input of a {@link ReplayPolicy}. */
export interface ReplayPlace {
  readonly entryId: string;
  /** Index among the context's items. */
  readonly item: number;
  /** Whether the item belongs to the current turn: the latest user message and all items after it. */
  readonly currentTurn: boolean;
  /**
   * Whether a resource view of the current turn brings it back here: at its last occurrence before the turn,
   * if it has none in the turn.
   */
  readonly viewed: boolean;
  /** The other resources with bytes that occur after it, each counted once. */
  readonly newer: {
    readonly count: number;
    /** Bytes. */
    readonly bytes: number;
  };
  /**
   * Amounts before it and in the whole context, where each occurrence counts. `before` stays the same while
   * the context grows. Absent for a resource that only a summary names.
   */
  readonly history?: { readonly before: ReplayAmount; readonly all: ReplayAmount };
}

/** Amounts of attachments with bytes, and of turns. */
export interface ReplayAmount {
  /** Estimated for the `anthropic` family, independent of the target. */
  readonly tokens: number;
  readonly images: number;
  readonly turns: number;
}

/**
 * Decides how each attachment is sent in each request. Pure: the result does not depend on the order of
 * calls.
 */
export type ReplayPolicy = (resource: StoredResource, place: ReplayPlace) => ReplayDecision;
