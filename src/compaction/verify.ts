import { type Context, type ContextItem, toolPairs } from "../content/index.js";
import { SessileError } from "../errors/index.js";
import { estimateMessageTokens } from "../estimate/index.js";
import { applyEdit, editsByTarget } from "./context-edits.js";
import { newestUserIndex } from "./cut-point.js";
import { customMessageOf } from "./initial-context.js";
import type { CompactionPlan, PlanOptions } from "./options.js";

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
  const items = previewItems(context, plan, summary);
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
  const newest = before[newestUserIndex(before)];
  if (newest !== undefined && !after.some(({ entryId }) => entryId === newest.entryId)) {
    throw new Error("a compaction would lose the newest message of the user");
  }
}

function brokenPairs(items: readonly ContextItem[]): number {
  const { pairs, orphans } = toolPairs(items.map(({ message }) => message));
  return orphans.length + pairs.filter(({ result }) => result === undefined).length;
}

/** Why a context cannot be made small enough. */
const reasons = {
  "nothing-to-summarize": "there is nothing left to summarise",
  kept: "what has to stay does not fit",
  longer: "no summary was smaller than what it replaces",
  "over-limit": "what a summary left was still too large",
} as const;

/** The error of a context that cannot be made small enough. */
export function irreducible(
  reason: keyof typeof reasons,
  { tokensBefore, limit }: { readonly tokensBefore: number; readonly limit: number },
  tokens: number,
): SessileError<"IRREDUCIBLE"> {
  const what = `${reasons[reason]} (${tokens} tokens, at most ${limit}); nothing was written`;
  return new SessileError("IRREDUCIBLE", what, { details: { reason, tokensBefore, tokens, limit } });
}

/**
 * The items of the context that a plan leaves, with this summary. Ids of what is not written yet are empty. The session's own
 * context after the compaction has the same messages in the same order.
 */
export function previewItems(
  { items }: Context,
  plan: CompactionPlan,
  summary: string | undefined,
): readonly ContextItem[] {
  const edits = editsByTarget(plan.edits);
  const edited = (item: ContextItem) => applyEdit(item, edits.get(item.entryId)) ?? [];
  if (summary === undefined) return items.flatMap(edited);
  const { systemMessage, tokensBefore, retain, keepFrom, initialContext } = plan;
  const head: ContextItem[] = [];
  if (systemMessage !== undefined) head.push({ entryId: "", origin: "system", message: systemMessage });
  const message = { role: "compactionSummary", summary, tokensBefore, timestamp: 0 } as const;
  head.push({ entryId: "", origin: "summary", message });
  const byId = new Map(items.slice(0, keepFrom).map((item) => [item.entryId, item]));
  const retained = retain.flatMap((id): readonly ContextItem[] => {
    const item = byId.get(id);
    return item === undefined ? [] : [{ ...item, origin: "retained" }];
  });
  if (initialContext !== undefined) {
    const { content, at } = initialContext;
    retained.splice(at, 0, { entryId: "", origin: "retained", message: customMessageOf(content) });
  }
  const tail = items.slice(keepFrom).filter(({ message }) => message.role !== "system");
  return [...head, ...[...retained, ...tail].flatMap(edited)];
}
