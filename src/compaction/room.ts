import type { CompactionStrategy, SummaryPart } from "./strategy.js";
import { defaultReserveTokens } from "./triggers.js";

/** What a context may come to after a compaction by this strategy, in tokens. */
export function limitOf(strategy: CompactionStrategy, window: number): number {
  return strategy.limit?.(window) ?? Math.max(window - defaultReserveTokens, Math.floor(window / 2));
}

/** The least length of a summary that is asked for, in tokens: 256, and less in a small window. */
export function leastSummary(limit: number): number {
  return Math.max(1, Math.min(256, Math.floor(limit / 8)));
}

/** The most of the limit that is left free for a summary, as a part of it: a quarter. */
const summaryShare = 4;

/** What of the limit is left free for the summary of these parts, in tokens. */
export function roomForSummary(parts: readonly SummaryPart[], limit: number): number {
  const asked = parts.reduce((sum, { prompt }) => sum + prompt.maxTokens, 0);
  return Math.min(asked, limit / summaryShare);
}
