/** Checks the result of a plan before anything is written. */

import { estimateMessageTokens } from "../content/estimate/index.js";
import { type Context, type ContextItem, toolPairs } from "../content/index.js";
import { SessileError } from "../core/errors/index.js";
import { applyEdits, editsByTarget, readTokens } from "./context-edits.js";
import { newestUserIndex } from "./cut-point.js";
import { toCustomMessage } from "./initial-context.js";
import type { CompactionPlan, CompactOptions, PlanOptions } from "./options.js";

/** Why a result is rejected: it is not smaller than the context, or larger than the limit. */
export type Shortfall = "longer" | "over-limit";

/** The most that a context may have after an overflow, as a fraction of its tokens before. */
export const overflowShare = 0.9;

/** The result of a check. */
export interface Verified {
  /** An estimate of the messages afterwards, in tokens. */
  readonly tokensAfter: number;
  readonly shortfall?: Shortfall | undefined;
}

/**
 * Checks a plan with this summary: the result must be smaller than the context, by the same estimate, and
 * within the limit. The strategy must not ask for another compaction of it.
 *
 * @throws Error if the plan breaks a tool pair or loses the newest user message, which is a bug in this
 *   library
 */
export async function verify(
  context: Context,
  plan: CompactionPlan,
  summary: string | undefined,
  options: PlanOptions & Pick<CompactOptions, "fits">,
): Promise<Verified> {
  const { strategy, window, trigger, estimate = estimateMessageTokens, fits } = options;
  const after = preview(context, plan, summary);
  const { items } = after;
  assertInvariants(context.items, items);
  const tokensAfter = Math.ceil(readTokens(items, estimate));
  const tokensBefore = readTokens(context.items, estimate);
  // The provider that refused the context would refuse one that is hardly shorter, again and again.
  const most = trigger === "overflow" ? tokensBefore * overflowShare : tokensBefore;
  if (tokensAfter >= most) return { tokensAfter, shortfall: "longer" };
  // Edits alone are a first step; a summary may follow.
  if (summary === undefined) return { tokensAfter };
  const isOver =
    tokensAfter > plan.limit ||
    strategy.shouldCompact(after, { window, tokens: tokensAfter + plan.overhead, trigger, estimate }) ||
    (fits !== undefined && !(await fits(after)));
  return isOver ? { tokensAfter, shortfall: "over-limit" } : { tokensAfter };
}

function assertInvariants(before: readonly ContextItem[], after: readonly ContextItem[]): void {
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

/** The context after a plan with this summary. */
export function preview(context: Context, plan: CompactionPlan, summary: string | undefined): Context {
  const items = previewItems(context, plan, summary);
  return { ...context, items, views: [], usageSince: items.length };
}

/**
 * Previews the items after a plan with this summary, with empty ids for entries that are not written yet. The
 * session's context after the compaction has the same messages in the same order.
 */
export function previewItems(
  { items }: Context,
  plan: CompactionPlan,
  summary: string | undefined,
): readonly ContextItem[] {
  const edits = editsByTarget(plan.edits);
  if (summary === undefined) return applyEdits(items, edits);
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
    retained.splice(at, 0, { entryId: "", origin: "retained", message: toCustomMessage(content) });
  }
  const tail = items.slice(keepFrom).filter(({ message }) => message.role !== "system");
  return [...head, ...applyEdits([...retained, ...tail], edits)];
}

/** Why a context cannot be made small enough. */
const irreducibleReasons = {
  "nothing-to-summarize": "there is nothing left to summarise",
  kept: "the items that must stay do not fit",
  longer: "no summary was smaller than the items that it replaces",
  "over-limit": "the context with the summary was still too large",
  fits: "`fits` is false for the kept items and the shortest summary",
  "without-gain": "the last compactions made too little room",
} as const;

/** The sizes that an error tells. */
export interface IrreducibleSizes {
  readonly tokensBefore: number;
  /** What a request has beside the messages. */
  readonly overhead: number;
  /** The most tokens of the messages. */
  readonly limit: number;
}

/**
 * The error for a context that cannot be made small enough.
 *
 * @param tokens of the messages, as far as they must stay
 */
export function irreducible(
  reason: keyof typeof irreducibleReasons,
  { tokensBefore, overhead, limit }: IrreducibleSizes,
  tokens: number,
): SessileError<"IRREDUCIBLE"> {
  const beside = overhead === 0 ? "" : `; tools and instructions beside them have ${overhead}`;
  const sizes = `${tokens} tokens of messages, at most ${limit}${beside}`;
  return new SessileError("IRREDUCIBLE", `${irreducibleReasons[reason]} (${sizes}); nothing was written`, {
    details: { reason, tokensBefore, tokens, limit, overhead },
  });
}
