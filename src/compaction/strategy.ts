import type { Context, ContextItem, ContextMessage } from "../content/index.js";
import type { EntryDraft } from "../session/index.js";

/** Tokens of a message; need not be whole. */
export type MessageEstimator = (message: ContextMessage) => number;

/** Why a context is compacted: asked for, before a turn, between two model calls of a turn, or after a provider refused it as too long. */
export type CompactionTrigger = "manual" | "pre-turn" | "mid-turn" | "overflow";

/** What a strategy has to go by besides the context. */
export interface CompactionBudget {
  /** What the model takes, in tokens, its answer included. */
  readonly window: number;
  /** What the context comes to now; see {@link contextTokens}. */
  readonly tokens: number;
  /** By default `manual`. */
  readonly trigger?: CompactionTrigger;
  /** By default `estimateMessageTokens` of `sessile/estimate`. */
  readonly estimate?: MessageEstimator;
  /** What was kept the first time does not fit: keep as little as can be. */
  readonly minimal?: true;
}

/** The words around a conversation that is to be summarised. */
export interface SummaryPrompt {
  /** Goes into the system prompt. */
  readonly system: string;
  /** Stands behind the conversation: what to write, under which headings. */
  readonly instructions: string;
  /** The same where there is an earlier summary to bring up to date. */
  readonly update: string;
  /** The length to ask for, in tokens. */
  readonly maxTokens: number;
}

/** One text to ask a model for. */
export interface SummaryPart {
  /** What is summarised, in order, as the context's edits leave it. */
  readonly items: readonly ContextItem[];
  readonly prompt: SummaryPrompt;
  /** An earlier summary that is brought up to date instead of being made again. */
  readonly previous?: string;
}

/** A context edit that goes along with a compaction, such as a tool's output that is cleared. */
export type ContextEditDraft = EntryDraft & { readonly type: "context_edit" };

/** What a strategy wants. {@link planCompaction} makes it safe: tool pairs stay whole, pins and the newest user message stay. */
export interface CompactionChoice {
  /** Index of the first item that stays as it is; the number of items for none. */
  readonly keepFrom: number;
  /** Ids of earlier entries in the context that stay too. */
  readonly retain?: readonly string[];
  /**
   * Edits of what stays. Those of pinned entries, of calls, and those that would take out a tool's result or the newest message
   * of the user are left out.
   */
  readonly edits?: readonly ContextEditDraft[];
  /**
   * The texts to ask for; none where the edits are enough and nothing is summarised. What stands before `keepFrom`, is in none
   * of them and is not retained is gone from the context.
   */
  readonly parts: readonly SummaryPart[];
}

/**
 * When to compact and what to keep. Three come with this module; one of your own is an object with these members. It is pure:
 * `compact` asks the model, verifies and writes.
 */
export interface CompactionStrategy {
  /** Stands in the compaction entry. */
  readonly name: string;
  /**
   * What a context may come to, in tokens: a compaction that leaves more is none. By default the window less 16,384 tokens for
   * the model's answer, and at least half of the window.
   */
  limit?(window: number): number;
  /** Whether the context is to be compacted now. After a compaction it must not ask for another one. */
  shouldCompact(context: Context, budget: CompactionBudget): boolean;
  /** What to keep and what to summarise; undefined where there is nothing to do. */
  choose(context: Context, budget: CompactionBudget): CompactionChoice | undefined;
  /** Makes one summary of the parts' texts, which are in the order of the parts. By default they are joined by a rule. */
  join?(texts: readonly string[]): string;
  /** Stands for a summary that comes back empty at the last attempt; without it that is an error. */
  readonly emptySummary?: string;
}
