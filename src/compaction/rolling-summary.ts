/** The strategy of pi: one rolling summary and a tail of recent messages. */
import type { Context } from "../content/index.js";
import { integerOption } from "../core/arguments.js";
import { findCutPoint, headLength } from "./cut-point.js";
import { prompts } from "./prompts.js";
import type { CompactionBudget, CompactionChoice, CompactionStrategy, SummaryPart } from "./strategy.js";
import { withoutFooter } from "./summary-footer.js";
import { defaultReserveTokens, shouldCompact } from "./triggers.js";

/** The options of {@link rollingSummary}. */
export interface RollingSummaryOptions {
  /** False disables automatic compaction, but not manual. Default true. */
  readonly enabled?: boolean | undefined;
  /**
   * Tokens to leave free for the model's answer; at least 0. Default 16,384; never more than half of the
   * window.
   */
  readonly reserveTokens?: number | undefined;
  /**
   * Tokens of the newest messages to keep, approximately; at least 0. Default 20,000; never more than half of
   * the limit.
   */
  readonly keepRecentTokens?: number | undefined;
}

/** pi's defaults. */
const defaults = {
  enabled: true,
  reserveTokens: defaultReserveTokens,
  keepRecentTokens: 20_000,
};

/**
 * Keeps one summary, which each compaction updates, and the newest messages: pi's strategy. Compacts if the
 * context exceeds the window less the reserve. If the cut splits a turn, the turn's first part has a summary
 * of its own below a horizontal rule.
 *
 * @throws RangeError for options that are not integers in their range
 * @example
 * ```ts
 * const strategy = rollingSummary({ keepRecentTokens: 30_000 });
 * ```
 */
export function rollingSummary(options: RollingSummaryOptions = {}): CompactionStrategy {
  const { enabled = defaults.enabled } = options;
  const reserve = integerOption("reserveTokens", options.reserveTokens, defaults.reserveTokens, 0);
  const keep = integerOption("keepRecentTokens", options.keepRecentTokens, defaults.keepRecentTokens, 0);
  const limit = (window: number) => Math.max(window - reserve, Math.floor(window / 2));
  return {
    name: "rolling-summary",
    limit,
    shouldCompact: (_, { window, tokens }) =>
      shouldCompact(tokens, window, { enabled, reserveTokens: window - limit(window) }),
    choose: (context, budget) =>
      chooseRolling(context, budget, Math.min(keep, Math.floor((budget.limit ?? limit(budget.window)) / 2))),
    join: ([history = "", prefix]) =>
      [history, prefix === undefined ? "" : `## Turn in Progress\n\n${prefix}`]
        .filter((text) => text !== "")
        .join("\n\n---\n\n"),
  };
}

function chooseRolling(
  { items }: Context,
  { estimate, minimal }: CompactionBudget,
  keepTokens: number,
): CompactionChoice | undefined {
  const from = headLength(items);
  const earlier = items.find(({ message }) => message.role === "compactionSummary")?.message;
  const previous = earlier?.role === "compactionSummary" ? withoutFooter(earlier.summary) : undefined;
  const { keepFrom, turnStart = keepFrom } = minimal
    ? { keepFrom: items.length }
    : findCutPoint(items, { keepTokens, from, estimate });
  if (keepFrom <= from) return undefined;
  const history: SummaryPart = {
    items: items.slice(from, turnStart),
    prompt: prompts.checkpoint,
    previous,
  };
  const prefix: SummaryPart = { items: items.slice(turnStart, keepFrom), prompt: prompts.turnPrefix };
  return { keepFrom, parts: turnStart < keepFrom ? [history, prefix] : [history] };
}
