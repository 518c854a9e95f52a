/**
 * Turns a strategy's choice into a plan. The invariants are enforced here, after the choice: no strategy can
 * split a tool pair or lose a pin or the newest user message.
 */

import { estimateMessageTokens } from "../content/estimate/index.js";
import { type Context, type ContextItem, toolCalls } from "../content/index.js";
import { integerArgument } from "../core/arguments.js";
import { editsOfKept, safeEdits } from "./context-edits.js";
import { fileLedger } from "./file-ledger/ledger-builder.js";
import {
  foldSystemMessages,
  isModelSwitch,
  isSummarizable,
  planReinjection,
  toCustomMessage,
} from "./initial-context.js";
import type { CompactionPlan, PlanOptions, ResolvedOptions } from "./options.js";
import { itemsForLedger, retainedItems } from "./retention.js";
import type { CompactionBudget, CompactionChoice, CompactionTrigger, SummaryPart } from "./strategy.js";
import { allCoveredResources } from "./summary-footer.js";
import {
  contextLimit,
  contextOverhead,
  contextTokens,
  memoizeEstimate,
  minSummaryTokens,
  summaryReserve,
} from "./triggers.js";

/**
 * Plans the compaction of a context: the covered items and the kept ones. Undefined if there is nothing to
 * do. Pure, and linear in the context.
 *
 * Whatever the strategy chooses, tool pairs stay whole, and so do calls that wait for a result, pinned items
 * and the newest user message. System messages are folded into one. If the kept items are too large, the
 * strategy is asked for the minimum, then edits truncate tool results and long texts. If the tools and
 * instructions beside the messages leave no room even for that, the plan is the minimum without regard to them.
 *
 * @throws RangeError if the window is not a positive integer, or the choice is out of range
 * @example
 * ```ts
 * const plan = planCompaction(await session.context(), { strategy: rollingSummary(), window: 200_000 });
 * plan?.parts.length; // the number of texts to ask a model for
 * ```
 */
export function planCompaction(context: Context, options: PlanOptions): CompactionPlan | undefined {
  return choosePlan(context, { ...options, trigger: options.trigger ?? contextTrigger(context) })?.plan;
}

/** A plan and the choice behind it. */
export interface PlannedChoice {
  readonly plan: CompactionPlan;
  readonly choice: CompactionChoice;
  /** Whether the choice keeps the minimum. */
  readonly isMinimal: boolean;
  /** Whether the kept items have no room beside the tools and instructions, which the plan disregards. */
  readonly isOver: boolean;
}

/** The default trigger: `pre-turn` if the context ends with an answer that calls no tool, else `mid-turn`. */
export function contextTrigger({ items }: Pick<Context, "items">): CompactionTrigger {
  const last = items.at(-1)?.message;
  const isOver = last === undefined || (last.role === "assistant" && toolCalls(last).length === 0);
  return isOver ? "pre-turn" : "mid-turn";
}

/** {@link planCompaction} with the strategy's choice, which a retry plans again. */
export function choosePlan(context: Context, options: ResolvedOptions): PlannedChoice | undefined {
  const { strategy, window, trigger } = options;
  integerArgument("window", window, 1);
  const estimate = memoizeEstimate(options.estimate ?? estimateMessageTokens);
  const overhead = contextOverhead(context, estimate);
  const memoized = { ...options, estimate, overhead };
  const first = planChoice(context, memoized);
  const isEnough =
    first === undefined
      ? // The provider may count more than the estimate: tools, instructions, images.
        trigger !== "overflow" &&
        !strategy.shouldCompact(context, { ...contextBudget(context, options), estimate })
      : first.plan.parts.length === 0 || fits(first.plan);
  if (isEnough) return first;
  const planned = minimalPlan(context, memoized) ?? first;
  if (planned === undefined || overhead === 0 || hasRoom(planned.plan)) return planned;
  // The measure may be of attachments that the estimate has too small.
  const without = minimalPlan(context, { ...memoized, overhead: 0 });
  return without && { ...without, isOver: true };
}

/** The plan that keeps the minimum; undefined if it would change nothing. */
export function minimalPlan(context: Context, options: ResolvedOptions): PlannedChoice | undefined {
  return planChoice(context, options, true);
}

/** The budget of a context with everything that a request has. */
export function contextBudget(context: Context, options: ResolvedOptions): CompactionBudget {
  const { window, trigger, estimate = estimateMessageTokens } = options;
  return { window, tokens: contextTokens(context, { estimate }), trigger, estimate };
}

/** Asks the strategy for a choice of messages in the room that a request has for them. */
function planChoice(
  context: Context,
  options: ResolvedOptions,
  isMinimal = false,
): PlannedChoice | undefined {
  const { strategy, overhead = 0 } = options;
  const budget = contextBudget(context, options);
  const choice = strategy.choose(context, {
    ...budget,
    window: Math.max(1, budget.window - overhead),
    limit: messageLimit(options),
    tokens: Math.max(0, budget.tokens - overhead),
    ...(isMinimal ? { minimal: true } : {}),
  });
  const plan = choice && enforceInvariants(context, choice, options, isMinimal);
  return plan && { plan, choice, isMinimal, isOver: false };
}

/** The most tokens of the messages. */
function messageLimit({ strategy, window, overhead = 0 }: ResolvedOptions): number {
  return Math.max(1, contextLimit(strategy, window) - overhead);
}

function fits(plan: CompactionPlan): boolean {
  const { parts, tokensKept, overhead, limit } = plan;
  return tokensKept + summaryReserve(parts, limit) <= limit && (overhead === 0 || hasRoom(plan));
}

/**
 * Whether the shortest summary has room beside the kept items. It is that of the whole window: no model writes
 * one of a few tokens because tools leave no more.
 */
function hasRoom({ tokensKept, overhead, limit }: CompactionPlan): boolean {
  return tokensKept + minSummaryTokens(limit + overhead) < limit;
}

/** Makes a choice safe and returns its plan; undefined if it would change nothing. */
export function enforceInvariants(
  context: Context,
  choice: CompactionChoice,
  options: ResolvedOptions,
  isMinimal: boolean,
): CompactionPlan | undefined {
  const { strategy, estimate = estimateMessageTokens, cwd, tools, overhead = 0 } = options;
  const { items } = context;
  integerArgument("keepFrom", choice.keepFrom, 0, items.length);
  const limit = messageLimit(options);
  const tokensBefore = contextTokens(context, { estimate });
  const common = { strategy: strategy.name, tokensBefore, overhead, limit };
  const parts = summarizableParts(choice.parts, options);
  if (parts.every((part) => part.items.length === 0)) {
    const edits = [...safeEdits(context, choice).values()];
    if (edits.length === 0) return undefined;
    return { ...common, parts: [], edits, keepFrom: 0, retain: [], ...nothingCovered };
  }
  const kept = retainedItems(context, choice, isMinimal);
  const systemMessage = foldSystemMessages(items);
  const initialContext = planReinjection(items, kept.retained, options);
  const added =
    (systemMessage === undefined ? 0 : estimate(systemMessage)) +
    (initialContext === undefined ? 0 : estimate(toCustomMessage(initialContext.content)));
  const room = Math.floor(limit - summaryReserve(parts, limit) - added);
  const { edits, tokens } = editsOfKept(context, choice, kept, room, options);
  return {
    ...common,
    parts,
    edits,
    keepFrom: kept.from,
    retain: kept.retained.map((at) => (items[at] as ContextItem).entryId),
    ...(initialContext === undefined ? {} : { initialContext }),
    ...(systemMessage === undefined ? {} : { systemMessage }),
    files: fileLedger({ items: itemsForLedger(items, kept) }, { cwd, tools }),
    resources: allCoveredResources(items.slice(0, kept.from), context.observations),
    tokensKept: Math.ceil(tokens + added),
  };
}

const nothingCovered = { files: { files: [] }, resources: [], tokensKept: 0 } as const;

/** The parts without the items that no summary covers. */
function summarizableParts(
  parts: readonly SummaryPart[],
  { skip = isModelSwitch }: ResolvedOptions,
): readonly SummaryPart[] {
  return parts.map((part) => ({ ...part, items: part.items.filter((item) => isSummarizable(item, skip)) }));
}
