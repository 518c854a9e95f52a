/**
 * The port of a compaction strategy: its input and its choice. A strategy is pure; `compact`
 * asks the model, verifies and writes.
 */
import type { Context, ContextItem, ContextMessage } from "../content/index.js";
import type { EntryDraft } from "../session/index.js";

/** Returns the tokens of a message, which may be a fraction. */
export type MessageEstimator = (message: ContextMessage) => number;

/**
 * The reason for a compaction: the user asked for it, a turn starts, a turn continues with another model
 * call, or the provider refused the context as too long.
 */
export type CompactionTrigger = "manual" | "pre-turn" | "mid-turn" | "overflow";

/** The size of a context and the bounds for it. */
export interface CompactionBudget {
  /**
   * The model's context window in tokens, its answer included. For a choice it is less what a request has
   * beside the messages.
   */
  readonly window: number;
  /** The size of the context now; see {@link contextTokens}. For a choice it is that of the messages. */
  readonly tokens: number;
  /** For a choice, the most tokens that the messages may have afterwards. Default: the strategy's `limit`. */
  readonly limit?: number | undefined;
  /** Default `manual`. */
  readonly trigger?: CompactionTrigger | undefined;
  /** Default `estimateMessageTokens` of `sessile/estimate`. */
  readonly estimate?: MessageEstimator | undefined;
  /** Set if the first choice does not fit: the strategy must keep as little as it can. */
  readonly minimal?: true | undefined;
}

/** The prompt around a conversation that is summarised. */
export interface SummaryPrompt {
  /** The system prompt. */
  readonly system: string;
  /** Follows the conversation: the task and the headings. */
  readonly instructions: string;
  /** Replaces `instructions` if there is an earlier summary to update. */
  readonly update: string;
  /** The length to ask for, in tokens. */
  readonly maxTokens: number;
}

/** One text that the model is asked for. */
export interface SummaryPart {
  /** The items to summarise, in order, with the context's edits applied. */
  readonly items: readonly ContextItem[];
  readonly prompt: SummaryPrompt;
  /** An earlier summary to update. */
  readonly previous?: string | undefined;
}

/** A context edit that accompanies a compaction, such as cleared tool output. */
export type ContextEditDraft = EntryDraft & { readonly type: "context_edit" };

/**
 * The choice of a strategy. {@link planCompaction} makes it safe: it keeps tool pairs whole, and it keeps
 * pins and the newest user message.
 */
export interface CompactionChoice {
  /** Index of the first item that stays in place; the number of items to keep no tail. */
  readonly keepFrom: number;
  /** Ids of earlier entries in the context that stay too. */
  readonly retain?: readonly string[] | undefined;
  /**
   * Edits of items that stay. Edits of pinned entries and of tool calls are ignored, and so are edits that
   * remove a tool result or the newest user message.
   */
  readonly edits?: readonly ContextEditDraft[] | undefined;
  /**
   * The texts to ask for; empty if edits are enough. An item before `keepFrom` that is in no part and is not
   * retained leaves the context.
   */
  readonly parts: readonly SummaryPart[];
  /** A summary that exists already: no model is asked for the parts. */
  readonly summary?: string | undefined;
}

/**
 * Decides when to compact and what to keep. Four strategies come with this module; your own is an object
 * with these members.
 */
export interface CompactionStrategy {
  /** Recorded in the compaction entry. */
  readonly name: string;
  /**
   * The most tokens that a context may have after a compaction. Default: the window less 16,384 tokens for
   * the model's answer, at least half of the window.
   */
  limit?(window: number): number;
  /** Whether to compact the context now. Must be false for the result of a compaction. */
  shouldCompact(context: Context, budget: CompactionBudget): boolean;
  /** Chooses the items to keep and to summarise; undefined if there is nothing to do. */
  choose(context: Context, budget: CompactionBudget): CompactionChoice | undefined;
  /**
   * Joins the texts of the parts, in their order, into one summary. Default: with a horizontal rule between
   * them.
   */
  join?(texts: readonly string[]): string;
  /** The summary if the model's last attempt is empty; without it an empty summary is an error. */
  readonly emptySummary?: string | undefined;
}
