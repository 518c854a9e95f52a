/**
 * Turns a strategy's choice into a plan, and checks its result before anything is written. The invariants
 * are enforced here, after the choice: no strategy can split a tool pair or lose a pin or the newest user
 * message.
 */

import { estimateMessageTokens } from "../content/estimate/index.js";
import { type Context, type ContextItem, toolCalls, toolPairs } from "../content/index.js";
import { integerArgument } from "../core/arguments.js";
import { SessileError } from "../core/errors/index.js";
import { allCoveredResources } from "./boundary.js";
import { fileLedger } from "./file-ledger/ledger.js";
import type { CompactionPlan, CompactOptions, PlanOptions, ResolvedOptions } from "./options.js";
import {
  applyEdits,
  editsByTarget,
  editsOfKept,
  foldSystemMessages,
  isModelSwitch,
  isSummarizable,
  itemsForLedger,
  newestUserIndex,
  planReinjection,
  readTokens,
  retainedItems,
  safeEdits,
  toCustomMessage,
} from "./retention.js";
import type { CompactionBudget, CompactionChoice, CompactionTrigger, SummaryPart } from "./strategy.js";
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

// Checks the result of a plan before anything is written.

/** Why a result is rejected: it is not smaller than the context, or larger than the limit. */
type Shortfall = "longer" | "over-limit";

/** The most that a context may have after an overflow, as a fraction of its tokens before. */
export const overflowShare = 0.9;

/** The result of a check. */
interface Verified {
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
