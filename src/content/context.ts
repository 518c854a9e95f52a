import type { ContextMessage } from "./message.js";
import type { StoredResource } from "./resource.js";

/** One message of a context, and where it comes from. */
export interface ContextItem {
  /** The session entry behind the message, so that a fault found later can be named and mended. */
  readonly entryId: string;
  /**
   * `message`: a stored message. `summary`: a compaction's summary. `system`: a compaction's system message.
   * `retained`: from before the compaction, which lists it to stay. `branchSummary`, `custom`: entries of that kind.
   */
  readonly origin: "message" | "summary" | "system" | "branchSummary" | "custom" | "retained";
  readonly message: ContextMessage;
  /** A context edit replaced the content. */
  readonly edited?: true;
}

/** A request to see a resource again, and where in a context it was made. */
export interface ContextView {
  readonly entryId: string;
  readonly resourceId: string;
  /** How many of the context's items stand before it. */
  readonly item: number;
}

/** What was seen in a resource, and where in a context that was recorded. */
export interface ContextObservation extends ContextView {
  readonly text: string;
}

/** What a model is to see next, in order; a plain value that every other module takes. */
export interface Context {
  readonly items: readonly ContextItem[];
  /** Resource views on the path since the context begins, oldest first. */
  readonly views: readonly ContextView[];
  /**
   * What was seen in resources, on the whole path and oldest first: what a compaction covers too, at its place 0. Absent where
   * nothing was.
   */
  readonly observations?: readonly ContextObservation[];
  /** Ids of entries that are pinned at the leaf, in path order; the next compaction keeps them. */
  readonly pins: readonly string[];
  /** The model in force at the leaf. */
  readonly model: { readonly provider: string; readonly modelId: string } | null;
  /** `off` where none was chosen. */
  readonly thinkingLevel: string;
  /**
   * Index of the first item after the latest compaction or context edit on the path: the usage that an assistant message
   * before it reports is of another context. Every edit counts, also one whose target is not in context. 0 where there
   * is neither.
   */
  readonly usageSince: number;
}

/**
 * A context of messages that the caller keeps, without a session. Entry ids are `m0`, `m1` and so on. `usageSince` is the
 * first message behind the last compaction summary that is later than it, since those that the compaction kept follow it too.
 *
 * @example
 * ```ts
 * const context = contextOf([userMessage("hi")]);
 * context.items[0]?.entryId; // "m0"
 * ```
 */
export function contextOf(messages: readonly ContextMessage[]): Context {
  let model: Context["model"] = null;
  for (const message of messages) {
    if (message.role === "assistant") model = { provider: message.provider, modelId: message.model };
  }
  return {
    items: messages.map((message, index) => ({ entryId: `m${index}`, origin: originOf(message), message })),
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

function originOf(message: ContextMessage): ContextItem["origin"] {
  if (message.role === "compactionSummary") return "summary";
  if (message.role === "branchSummary") return "branchSummary";
  return message.role === "custom" ? "custom" : "message";
}

/**
 * What becomes of an attachment's bytes in one request. `full`: the bytes are sent. `describe`: the descriptor text
 * stands in their place. `omit`: neither bytes nor descriptor leave.
 */
export type ReplayDecision = "full" | "describe" | "omit";

/** Where in the context a resource stands, for a {@link ReplayPolicy} to decide by. */
export interface ReplayPlace {
  readonly entryId: string;
  /** Index among the context's items. */
  readonly item: number;
  /** The item belongs to the current turn: to the latest user message, or to what follows it. */
  readonly currentTurn: boolean;
  /**
   * A resource view of the current turn brings it back here: at its latest place before the turn, where it has none in
   * the turn.
   */
  readonly viewed: boolean;
  /** The other resources that could be sent and stand behind it, each once. */
  readonly newer: {
    readonly count: number;
    /** Bytes. */
    readonly bytes: number;
  };
  /**
   * What stands before it, and in the whole context, counted from the start: `before` stays what it is while the context
   * grows. Each place counts. Absent for a resource that only a summary names.
   */
  readonly history?: { readonly before: ReplayAmount; readonly all: ReplayAmount };
}

/** Attachments that could be sent, and turns. */
export interface ReplayAmount {
  /** Estimated as for the `anthropic` family, whatever the target. */
  readonly tokens: number;
  readonly images: number;
  readonly turns: number;
}

/** Decides, for each attachment of each request, what is sent. Pure: the order of its calls has no meaning. */
export type ReplayPolicy = (resource: StoredResource, place: ReplayPlace) => ReplayDecision;
