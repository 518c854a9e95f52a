import type { Context } from "../content/index.js";
import { estimateMessageTokens } from "../estimate/index.js";
import { integerOption } from "../internal/arguments.js";
import { untilAborted } from "./abort.js";
import { applyBoundary, assertSummaryTarget } from "./boundary.js";
import { makeSummary } from "./make-summary.js";
import type {
  CompactableSession,
  CompactionPlan,
  CompactionResult,
  CompactOptions,
  PlanAnswer,
  ResolvedCompactOptions,
} from "./options.js";
import { isContextOverflow } from "./overflow.js";
import { choosePlan, triggerOf } from "./plan.js";
import { type Generation, retryPolicy } from "./summarize.js";
import { contextLimit, contextTokens, memoizeEstimate, minSummaryTokens } from "./triggers.js";
import { irreducible } from "./verify.js";
import { writeCompaction } from "./write.js";

/**
 * Compacts a session's context: plans, asks a model, verifies, and only then writes one batch after the tip that the plan was
 * made for. Nothing is written when anything fails, and nothing is ever deleted: the log keeps what a summary covers. What
 * was appended at the tip meanwhile stays in the context. The compaction's `details` hold the file ledger and the
 * attachments that it covers, its `usage` what the model was asked in all.
 *
 * Ends with a smaller context, throws, or says that there is nothing to do, and after a summary the strategy would not compact
 * again; so an agent may call it in a loop, for as long as it says `compacted` or `pruned`.
 *
 * @throws SessileError IRREDUCIBLE: what has to stay does not fit, or no summary is smaller than what it replaces
 * @throws SessileError SUMMARY_FAILED: attempts ran out; `cause` is the last error of `generate`
 * @throws SessileError CONCURRENT_WRITER: the tip went elsewhere meanwhile, something before it was edited, or what came leaves no
 *   room; and what `append` throws
 * @throws TypeError for a boundary without a target; what the boundary throws; the signal's reason when it aborts
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
  const signal = options.signal ?? new AbortController().signal;
  const attempts = integerOption("retry.attempts", options.retry?.attempts, 3, 1, 10);
  const generateWindow = integerOption("generateWindow", options.generateWindow, options.window, 1);
  assertSummaryTarget(options);
  signal.throwIfAborted();
  // Told before a model is asked.
  if (session.writable === false) await session.append([]);
  session.publish?.({ type: "compacting", active: true });
  try {
    const result = await run(
      session,
      { ...options, cwd: options.cwd ?? session.header.cwd },
      {
        generate: options.generate,
        signal,
        attempts,
        ...retryPolicy(options.retry),
        isOverflow: options.isOverflow ?? isContextOverflow,
        window: generateWindow,
        ...(options.focus === undefined ? {} : { focus: options.focus }),
        ...(options.strategy.emptySummary === undefined
          ? {}
          : { emptySummary: options.strategy.emptySummary }),
        tally: { calls: 0, omitted: 0, usage: undefined, model: undefined },
      },
    );
    if (result.status === "compacted" || result.status === "pruned") await options.after?.(result);
    return result;
  } finally {
    session.publish?.({ type: "compacting", active: false });
  }
}

async function run(
  session: CompactableSession,
  options: CompactOptions,
  generation: Generation,
): Promise<CompactionResult> {
  const { signal } = generation;
  const { leafId } = session;
  const context = await session.context(leafId);
  const settled: ResolvedCompactOptions = {
    ...options,
    trigger: options.trigger ?? triggerOf(context),
    estimate: memoizeEstimate(options.estimate ?? estimateMessageTokens),
  };
  const planned = choosePlan(context, settled);
  if (planned === undefined) return nothingToDo(context, settled);
  const { plan } = planned;
  if (plan.parts.length > 0 && plan.tokensKept >= plan.limit)
    throw irreducible("kept", plan, plan.tokensKept);
  if (!canShrink(context, plan, settled)) return nothingToDo(context, settled);
  const answer = await untilAborted(Promise.resolve(options.before?.(plan, context)), signal);
  if (answer?.cancel === true) return { status: "cancelled" };
  const shown = await applyBoundary(context, withoutAsked(plan, answer), options, signal);
  const made = await makeSummary(context, shown, settled, generation, answer);
  if (made === undefined) return nothingToDo(context, settled);
  const ready = { leafId, context, ...planned, plan: shown, ...made };
  const written = await writeCompaction(session, ready, settled, signal);
  const { entries, tokensAfter } = written;
  const tokensBefore = plan.tokensBefore;
  const entry = entries.at(-1);
  if (entry?.type !== "compaction") return { status: "pruned", entries, tokensBefore, tokensAfter };
  const { calls, omitted, usage } = generation.tally;
  return {
    status: "compacted",
    entry,
    entries,
    tokensBefore,
    tokensAfter,
    calls,
    omitted,
    ...(usage === undefined ? {} : { usage }),
  };
}

/** A hook's summary is no model's: nothing is asked about what it was made of. */
function withoutAsked(plan: CompactionPlan, answer: PlanAnswer | undefined): CompactionPlan {
  if (answer?.summary === undefined) return plan;
  return { ...plan, parts: plan.parts.map((part) => ({ ...part, items: [] })) };
}

/** Whether the shortest summary that is asked for would make the context smaller. */
function canShrink(
  { items }: Context,
  { parts, tokensKept, limit }: CompactionPlan,
  { estimate }: ResolvedCompactOptions,
): boolean {
  if (parts.length === 0) return true;
  let left = tokensKept + minSummaryTokens(limit);
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
  const limit = contextLimit(strategy, window);
  throw irreducible("nothing-to-summarize", { limit, tokensBefore: tokens }, tokens);
}
