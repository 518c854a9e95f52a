/** Compacts a session: plans, asks the model, verifies, and only then writes. */

import { estimateMessageTokens } from "../content/estimate/index.js";
import type { Context } from "../content/index.js";
import { integerOption } from "../core/arguments.js";
import { untilAborted } from "../core/concurrency.js";
import { applyBoundary, assertSummaryTarget } from "./boundary.js";
import { readTokens } from "./context-edits.js";
import { makeSummary } from "./make-summary.js";
import type {
  CompactableSession,
  CompactionPlan,
  CompactionResult,
  CompactOptions,
  PlanAnswer,
  ResolvedCompactOptions,
} from "./options.js";
import { choosePlan, contextBudget, contextTrigger, minimalPlan, type PlannedChoice } from "./plan.js";
import { type Generation, readGeneration } from "./summarize.js";
import {
  contextLimit,
  contextOverhead,
  contextTokens,
  firstOverhead,
  memoizeEstimate,
  minSummaryTokens,
  recordedSize,
} from "./triggers.js";
import { type IrreducibleSizes, irreducible, overflowShare, preview } from "./verify.js";
import { writeCompaction } from "./write.js";

/**
 * Compacts a session's context: plans, asks a model, verifies, and only then writes one batch after the leaf
 * of the plan. If anything fails, nothing is written. Nothing is ever deleted: the log keeps the entries that
 * a summary covers. Entries that are appended meanwhile stay in the context. The compaction's `details` hold
 * the file ledger and the covered attachments, and `usage` is the sum of the model calls.
 *
 * The result is a smaller context, an error, or a status that there is nothing to do. After a summary the
 * strategy does not ask for another one. An agent may therefore call `compact` in a loop while the status is
 * `compacted` or `pruned`.
 *
 * Tools and instructions beside the messages count as the provider counted them. If they leave no room, or
 * the last two compactions made too little, no model is asked, unless the trigger is `manual`.
 *
 * @throws SessileError IRREDUCIBLE if the items that must stay do not fit, or no summary is smaller than the
 *   items it replaces
 * @throws SessileError SUMMARY_FAILED if all attempts fail; `cause` is the last error of `generate`
 * @throws SessileError CONCURRENT_WRITER if the leaf moved to another branch, an earlier entry was edited, or
 *   new entries leave no room; errors of `append`
 * @throws TypeError for a boundary without a target; errors of the boundary; the signal's reason if it aborts
 * @example
 * ```ts
 * const strategy = rollingSummary();
 * const context = await session.context();
 * if (strategy.shouldCompact(context, { window: 200_000, tokens: contextTokens(context) })) {
 *   await compact(session, { strategy, window: 200_000, generate });
 * }
 * ```
 */
export async function compact(
  session: CompactableSession,
  options: CompactOptions,
): Promise<CompactionResult> {
  const generateWindow = integerOption("generateWindow", options.generateWindow, options.window, 1);
  const generation = readGeneration(options, generateWindow, options.strategy.emptySummary);
  assertSummaryTarget(options);
  generation.signal.throwIfAborted();
  // A read-only session fails here, before a model is asked.
  if (session.writable === false) await session.append([]);
  session.publish?.({ type: "compacting", active: true });
  try {
    const result = await run(session, { ...options, cwd: options.cwd ?? session.header.cwd }, generation);
    if (result.status === "compacted" || result.status === "pruned") await options.after?.(result);
    return result;
  } finally {
    session.publish?.({ type: "compacting", active: false });
  }
}

async function run(
  session: CompactableSession,
  given: CompactOptions,
  generation: Generation,
): Promise<CompactionResult> {
  const { signal } = generation;
  const { leafId } = session;
  const context = await session.context(leafId);
  const options: ResolvedCompactOptions = {
    ...given,
    trigger: given.trigger ?? contextTrigger(context),
    estimate: memoizeEstimate(given.estimate ?? estimateMessageTokens),
  };
  const planned = await payablePlan(context, options);
  if (planned === undefined) return nothingToDo(context, options);
  const { plan } = planned;
  const withoutGain = plan.parts.length === 0 ? 0 : compactionsWithoutGain(context, options);
  if (withoutGain >= maxWithoutGain) {
    const { tokensBefore } = plan;
    throw irreducible("without-gain", contextSizes(context, options, tokensBefore), plan.tokensKept);
  }
  const asked = await untilAborted(Promise.resolve(options.before?.(plan, context)), signal);
  const { summary = asked?.summary } = planned.choice;
  const answer = summary === undefined ? asked : { ...asked, summary };
  if (answer?.cancel === true) return { status: "cancelled" };
  const allowed = await applyBoundary(context, withoutUnasked(plan, answer), options, signal);
  const made = await makeSummary(context, allowed, options, generation, answer);
  if (made === undefined) return nothingToDo(context, options);
  const prepared = { leafId, context, ...planned, plan: allowed, ...made, withoutGain };
  const { entries, tokensAfter } = await writeCompaction(session, prepared, options, signal);
  const { tokensBefore } = plan;
  const entry = entries.at(-1);
  if (entry?.type !== "compaction") return { status: "pruned", entries, tokensBefore, tokensAfter };
  const { calls, omitted, usage } = generation.tally;
  return { status: "compacted", entry, entries, tokensBefore, tokensAfter, calls, omitted, usage };
}

/**
 * The plan, as far as it is known to fit without a model's answer; undefined if nothing can be summarised.
 *
 * @throws SessileError IRREDUCIBLE if no summary could be short enough
 */
async function payablePlan(
  context: Context,
  options: ResolvedCompactOptions,
): Promise<PlannedChoice | undefined> {
  const { fits } = options;
  let planned = choosePlan(context, options);
  if (planned === undefined) return undefined;
  const { overhead } = planned.plan;
  const isSendable = async ({ plan }: PlannedChoice) =>
    plan.parts.length === 0 || fits === undefined || (await fits(preview(context, plan, shortest)));
  // A summary of very little is longer than that: the minimum leaves more to summarise.
  if (!planned.isMinimal && !(canShrink(context, planned.plan, options) && (await isSendable(planned))))
    planned = minimalPlan(context, { ...options, overhead }) ?? planned;
  const { plan } = planned;
  const sizes = contextSizes(context, options, plan.tokensBefore);
  if (plan.parts.length > 0 && plan.tokensKept >= plan.limit)
    throw irreducible("kept", sizes, plan.tokensKept);
  if (!canShrink(context, plan, options)) return undefined;
  if (!(await isSendable(planned))) throw irreducible("fits", sizes, plan.tokensKept);
  return planned;
}

/** The shortest summary, for a preview. */
const shortest = "…";

/** At most this number of compactions in a row may free too little. */
const maxWithoutGain = 2;
/** A compaction that leaves room for less than this part of the limit has to be repeated at once. */
const gainShare = 32;

/**
 * The compactions in a row, up to the last one, after which the context was too large again at once: with few
 * new messages, or little room for them. 0 if the user asked, or the context is not too large.
 */
function compactionsWithoutGain(context: Context, options: ResolvedCompactOptions): number {
  const { strategy, window, trigger, estimate } = options;
  const last = recordedSize(context.items);
  if (last.messages === 0 || trigger === "manual") return 0;
  if (trigger !== "overflow" && !strategy.shouldCompact(context, contextBudget(context, options))) return 0;
  const limit = contextLimit(strategy, window);
  const first = firstOverhead(context, estimate);
  // The estimate has images and PDFs too small; the counts since the compaction show how much came with them.
  const now = contextOverhead(context, estimate);
  const unseen = Math.max(0, now - first);
  const added = readTokens(context.items, estimate) - last.messages + unseen;
  // The room grows if tools are removed, and not with new messages: an ignored error earns no further summary.
  const room = limit - Math.min(first, now) - last.messages;
  return Math.min(added, room) < limit / gainShare ? last.withoutGain + 1 : 0;
}

/** The sizes for an error. */
function contextSizes(
  context: Context,
  { strategy, window, estimate }: ResolvedCompactOptions,
  tokensBefore: number,
): IrreducibleSizes {
  const overhead = contextOverhead(context, estimate);
  return { tokensBefore, overhead, limit: Math.max(0, contextLimit(strategy, window) - overhead) };
}

/**
 * Empties the parts if a hook gives the summary: no item goes to a model, so the boundary is not asked about
 * them.
 */
function withoutUnasked(plan: CompactionPlan, answer: PlanAnswer | undefined): CompactionPlan {
  if (answer?.summary === undefined) return plan;
  return { ...plan, parts: plan.parts.map((part) => ({ ...part, items: [] })) };
}

/** Whether the shortest possible summary would make the context smaller. */
function canShrink(
  { items }: Context,
  { parts, tokensKept, overhead, limit }: CompactionPlan,
  { estimate, trigger }: ResolvedCompactOptions,
): boolean {
  if (parts.length === 0) return true;
  const share = trigger === "overflow" ? overflowShare : 1;
  let left = (tokensKept + minSummaryTokens(limit + overhead)) / share;
  return items.some(({ message }) => {
    left -= estimate(message);
    return left < 0;
  });
}

function nothingToDo(context: Context, options: ResolvedCompactOptions): CompactionResult {
  const { strategy, window, trigger, estimate } = options;
  const tokens = contextTokens(context, { estimate });
  if (!strategy.shouldCompact(context, { window, tokens, trigger, estimate }))
    return { status: "nothingToDo" };
  const sizes = contextSizes(context, options, tokens);
  throw irreducible("nothing-to-summarize", sizes, Math.max(0, tokens - sizes.overhead));
}
