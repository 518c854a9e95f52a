import { type Context, type ContextItem, toolPairs } from "../content/index.js";
import { estimateMessageTokens } from "../estimate/index.js";
import type { CompactionPlan, PlanOptions } from "./compaction-plan.js";
import { itemsAfter } from "./preview.js";
import { newestUserMessage } from "./turns.js";

/** What is wrong with a result: it is no smaller, or still too large. */
export type Shortfall = "longer" | "over-limit";

/** What a context may come to at most after an overflow, as a part of what it came to. */
const overflowShare = 0.9;

/** A result that was looked at. */
export interface Verified {
  /** An estimate of the context after it, in tokens. */
  readonly tokensAfter: number;
  readonly shortfall?: Shortfall;
}

/**
 * Whether a plan with this summary may be written: what it leaves is smaller than what there is, by the same estimate, and
 * fits, by the strategy's own measure too, so that no compaction asks for the next one.
 *
 * @throws Error where the plan breaks a tool pair or loses the user's newest message, which is a fault of this library.
 */
export async function verify(
  context: Context,
  plan: CompactionPlan,
  summary: string | undefined,
  options: PlanOptions & { readonly fits?: (context: Context) => boolean | Promise<boolean> },
): Promise<Verified> {
  const { strategy, window, estimate = estimateMessageTokens, fits } = options;
  const items = itemsAfter(context, plan, summary);
  assertWhole(context.items, items);
  const tokensOf = (of: readonly ContextItem[]) =>
    of.reduce((sum, { message }) => sum + estimate(message), 0);
  const tokensAfter = Math.ceil(tokensOf(items));
  const tokensBefore = tokensOf(context.items);
  // A provider that refused a context would refuse one that is hardly shorter, and so on for ever.
  const most = options.trigger === "overflow" ? tokensBefore * overflowShare : tokensBefore;
  if (tokensAfter >= most) return { tokensAfter, shortfall: "longer" };
  // Edits alone are a first step; the next one may be a summary.
  if (summary === undefined) return { tokensAfter };
  const after: Context = { ...context, items, views: [], usageSince: items.length };
  const budget = {
    window,
    tokens: tokensAfter,
    ...(options.trigger === undefined ? {} : { trigger: options.trigger }),
  };
  const isOver =
    tokensAfter > plan.limit ||
    strategy.shouldCompact(after, { ...budget, estimate }) ||
    (fits !== undefined && !(await fits(after)));
  return isOver ? { tokensAfter, shortfall: "over-limit" } : { tokensAfter };
}

function assertWhole(before: readonly ContextItem[], after: readonly ContextItem[]): void {
  if (brokenPairs(after) > brokenPairs(before)) throw new Error("a compaction would break a tool pair");
  const newest = before[newestUserMessage(before)];
  if (newest !== undefined && !after.some(({ entryId }) => entryId === newest.entryId)) {
    throw new Error("a compaction would lose the newest message of the user");
  }
}

function brokenPairs(items: readonly ContextItem[]): number {
  const { pairs, orphans } = toolPairs(items.map(({ message }) => message));
  return orphans.length + pairs.filter(({ result }) => result === undefined).length;
}
