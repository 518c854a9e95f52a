import type { Context } from "../content/index.js";
import type { ContextEditDraft, MessageEstimator } from "./strategy.js";

/** Stands in a context for a tool's output that was pruned; the entry keeps the output. opencode's words. */
export const prunedOutput = "[Old tool result content cleared]";

/** What {@link planPrune} spares. */
export interface PruneOptions {
  /** Messages of users from the end on that stay with all that follows them; at least 0. By default 2. */
  readonly skipTurns?: number;
  /** Tokens of the newest output before those that stay; at least 0. By default 40,000. */
  readonly protectTokens?: number;
  /** A plan has to free more tokens than this; at least 0. By default 20,000. */
  readonly minimumTokens?: number;
  /** Names of tools whose output is never pruned. By default `skill`. */
  readonly protectedTools?: readonly string[];
  /** By default {@link estimateMessageTokens}. */
  readonly estimate?: MessageEstimator;
}

/** The defaults of {@link planPrune}, which are opencode's. */
export const pruneDefaults: Required<Omit<PruneOptions, "estimate">> = {
  skipTurns: 2,
  protectTokens: 40_000,
  minimumTokens: 20_000,
  protectedTools: ["skill"],
};

/** Tool output to clear from a context. */
export interface PrunePlan {
  /** An edit for each result, oldest first. */
  readonly drafts: readonly ContextEditDraft[];
  /** Whose content the drafts replace, in the same order. */
  readonly entryIds: readonly string[];
  /** What the cleared output comes to. */
  readonly tokens: number;
}

/** Which old tool output to clear from a context; undefined where that frees too little. Pure. */
export function planPrune(_context: Context, _options: PruneOptions = {}): PrunePlan | undefined {
  return undefined;
}
