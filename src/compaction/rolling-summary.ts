import type { Context } from "../content/index.js";
import { integerOption } from "../internal/arguments.js";
import { withoutFooter } from "./closing.js";
import { findCutPoint, headLength } from "./cut-point.js";
import { checkpointPrompt, turnPrefixPrompt } from "./prompts.js";
import type { CompactionBudget, CompactionChoice, CompactionStrategy, SummaryPart } from "./strategy.js";
import { defaultReserveTokens, shouldCompact } from "./triggers.js";

/** How {@link rollingSummary} works. */
export interface RollingSummaryOptions {
  /** By default true; false ends automatic compaction, and leaves the manual one. */
  readonly enabled?: boolean;
  /** Tokens left free for the model's answer; at least 0. By default 16,384, and never more than half of the window. */
  readonly reserveTokens?: number;
  /** About how much of the end is kept, in tokens; at least 0. By default 20,000, and never more than half of what is not reserved. */
  readonly keepRecentTokens?: number;
}

/** The defaults of {@link rollingSummary}, which are pi's. */
export const rollingSummaryDefaults: Required<RollingSummaryOptions> = {
  enabled: true,
  reserveTokens: defaultReserveTokens,
  keepRecentTokens: 20_000,
};

/**
 * One summary that is brought up to date, and the newest messages as they are: pi's way. Compacts where the context has
 * outgrown the window less the reserve. Where the cut falls into a turn, the turn's first part gets a summary of its own,
 * below a rule.
 *
 * @throws RangeError for options that are no whole numbers in their range.
 * @example
 * ```ts
 * const strategy = rollingSummary({ keepRecentTokens: 30_000 });
 * ```
 */
export function rollingSummary(options: RollingSummaryOptions = {}): CompactionStrategy {
  const { enabled = rollingSummaryDefaults.enabled } = options;
  const reserve = integerOption(
    "reserveTokens",
    options.reserveTokens,
    rollingSummaryDefaults.reserveTokens,
    0,
  );
  const keep = integerOption(
    "keepRecentTokens",
    options.keepRecentTokens,
    rollingSummaryDefaults.keepRecentTokens,
    0,
  );
  const limit = (window: number) => Math.max(window - reserve, Math.floor(window / 2));
  return {
    name: "rolling-summary",
    limit,
    shouldCompact: (_, { window, tokens }) =>
      shouldCompact(tokens, window, { enabled, reserveTokens: window - limit(window) }),
    choose: (context, budget) =>
      rolling(context, budget, Math.min(keep, Math.floor(limit(budget.window) / 2))),
    join: ([history = "", prefix]) =>
      [history, prefix === undefined ? "" : `## Turn in Progress\n\n${prefix}`]
        .filter((text) => text !== "")
        .join("\n\n---\n\n"),
  };
}

function rolling(
  { items }: Context,
  { estimate, minimal }: CompactionBudget,
  keepTokens: number,
): CompactionChoice | undefined {
  const from = headLength(items);
  const earlier = items.find(({ message }) => message.role === "compactionSummary")?.message;
  const previous = earlier?.role === "compactionSummary" ? withoutFooter(earlier.summary) : undefined;
  const { keepFrom, turnStart = keepFrom } = minimal
    ? { keepFrom: items.length }
    : findCutPoint(items, { keepTokens, from, ...(estimate === undefined ? {} : { estimate }) });
  if (keepFrom <= from) return undefined;
  const history: SummaryPart = {
    items: items.slice(from, turnStart),
    prompt: checkpointPrompt,
    ...(previous === undefined ? {} : { previous }),
  };
  const prefix: SummaryPart = { items: items.slice(turnStart, keepFrom), prompt: turnPrefixPrompt };
  return { keepFrom, parts: turnStart < keepFrom ? [history, prefix] : [history] };
}
