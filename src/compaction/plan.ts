import { type Context, type ContextItem, toolCalls } from "../content/index.js";
import { estimateMessageTokens } from "../estimate/index.js";
import { integerArgument } from "../internal/arguments.js";
import { applyEdit, editsByTarget, omissionEdit, shrinkingEdits } from "./context-edits.js";
import { allCoveredResources } from "./covered.js";
import { newestUserIndex } from "./cut-point.js";
import { type FileLedger, fileLedger } from "./file-ledger/index.js";
import {
  customMessageOf,
  foldSystemMessages,
  isInitialContext,
  isModelSwitch,
  outdatedInitialContexts,
  planReinjection,
} from "./initial-context.js";
import type { CompactionPlan, PlanOptions, ResolvedOptions } from "./options.js";
import { itemsForLedger, type Retention, retainedItems } from "./retention.js";
import type {
  CompactionBudget,
  CompactionChoice,
  CompactionTrigger,
  ContextEditDraft,
  SummaryPart,
} from "./strategy.js";
import { contextLimit, contextTokens, memoizeEstimate, summaryReserve } from "./triggers.js";

/**
 * What a compaction of this context would summarise and keep; undefined where there is nothing to do. The strategy chooses, and
 * whatever it chooses is made safe: tool pairs stay whole, calls that wait for a result stay, and so do pinned items and the
 * newest message of the user; instructions are folded into one; where what stays is too large, the strategy is asked for the
 * least, and tool results and long texts are cut by edits. Pure, and linear in the context.
 *
 * @throws RangeError for a window that is no positive integer, or a choice that is out of range.
 * @example
 * ```ts
 * const plan = planCompaction(await session.context(), { strategy: rollingSummary(), window: 200_000 });
 * plan?.parts.length; // how many texts a model is to be asked for
 * ```
 */
export function planCompaction(context: Context, options: PlanOptions): CompactionPlan | undefined {
  return choosePlan(context, { ...options, trigger: options.trigger ?? triggerOf(context) })?.plan;
}

/** A plan, and the choice that it was made of. */
export interface PlannedChoice {
  readonly plan: CompactionPlan;
  readonly choice: CompactionChoice;
  /** It was made to keep as little as can be. */
  readonly isMinimal: boolean;
}

/** Where in a turn a context ends: behind an answer that calls no tool the turn is over, else the model is to be asked next. */
export function triggerOf({ items }: Pick<Context, "items">): CompactionTrigger {
  const last = items.at(-1)?.message;
  const isOver = last === undefined || (last.role === "assistant" && toolCalls(last).length === 0);
  return isOver ? "pre-turn" : "mid-turn";
}

/** {@link planCompaction}, with the strategy's choice. */
export function choosePlan(context: Context, options: ResolvedOptions): PlannedChoice | undefined {
  const { strategy, window, trigger } = options;
  integerArgument("window", window, 1);
  const estimate = memoizeEstimate(options.estimate ?? estimateMessageTokens);
  const known = { ...options, estimate };
  const budget: CompactionBudget = {
    window,
    tokens: contextTokens(context, { estimate }),
    trigger,
    estimate,
  };
  const first = settled(context, strategy.choose(context, budget), known);
  const isEnough =
    first === undefined
      ? // The provider may count more than the estimate does: tools, instructions, images.
        trigger !== "overflow" && !strategy.shouldCompact(context, budget)
      : first.plan.parts.length === 0 || hasRoom(first.plan);
  if (isEnough) return first;
  const minimal = { ...budget, minimal: true } as const;
  return settled(context, strategy.choose(context, minimal), known, true) ?? first;
}

function settled(
  context: Context,
  choice: CompactionChoice | undefined,
  options: ResolvedOptions,
  isMinimal = false,
): PlannedChoice | undefined {
  const plan = choice && enforceInvariants(context, choice, options, isMinimal);
  return plan && { plan, choice, isMinimal };
}

function hasRoom({ parts, tokensKept, limit }: CompactionPlan): boolean {
  return tokensKept + summaryReserve(parts, limit) <= limit;
}

/** The plan that a choice comes to in this context, made safe; undefined where it leaves everything as it is. */
export function enforceInvariants(
  context: Context,
  choice: CompactionChoice,
  options: ResolvedOptions,
  isMinimal: boolean,
): CompactionPlan | undefined {
  const { strategy, window, estimate = estimateMessageTokens } = options;
  const { items } = context;
  integerArgument("keepFrom", choice.keepFrom, 0, items.length);
  const common = {
    strategy: strategy.name,
    tokensBefore: contextTokens(context, { estimate }),
    limit: contextLimit(strategy, window),
  };
  const parts = shownParts(choice.parts, options);
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
    (initialContext === undefined ? 0 : estimate(customMessageOf(initialContext.content)));
  const room = Math.floor(common.limit - summaryReserve(parts, common.limit) - added);
  const { edits, tokens } = editsOfKept(context, choice, kept, room, options);
  return {
    ...common,
    parts,
    edits,
    keepFrom: kept.from,
    retain: kept.retained.map((at) => (items[at] as ContextItem).entryId),
    ...(initialContext === undefined ? {} : { initialContext }),
    ...(systemMessage === undefined ? {} : { systemMessage }),
    files: filesOf(items, kept, options),
    resources: allCoveredResources(items.slice(0, kept.from), context.observations),
    tokensKept: Math.ceil(tokens + added),
  };
}

const nothingCovered = { files: { files: [] }, resources: [], tokensKept: 0 } as const;

/** The parts without what no summary is to cover. */
function shownParts(
  parts: readonly SummaryPart[],
  { skip = isModelSwitch }: ResolvedOptions,
): readonly SummaryPart[] {
  return parts.map((part) => ({
    ...part,
    items: part.items.filter(
      (item) => item.message.role !== "system" && !isInitialContext(item) && !skip(item),
    ),
  }));
}

/** The choice's edits without those that could break a promise: of pinned entries, of calls, and those that take out what has to stay. */
function safeEdits(
  { items, pins }: Context,
  choice: CompactionChoice,
): ReadonlyMap<string, ContextEditDraft> {
  if (choice.edits === undefined || choice.edits.length === 0) return new Map();
  const refused = new Set(pins);
  const needed = new Set([items[newestUserIndex(items)]?.entryId]);
  for (const { entryId, message } of items) {
    if (message.role === "assistant" && toolCalls(message).length > 0) refused.add(entryId);
    if (message.role === "toolResult") needed.add(entryId);
  }
  return editsByTarget(
    choice.edits.filter(
      ({ targetId, replacement }) =>
        !refused.has(targetId) && (replacement !== null || !needed.has(targetId)),
    ),
  );
}

/** The choice's edits of what stays, and those that make it fit; and what stays comes to then. */
function editsOfKept(
  context: Context,
  choice: CompactionChoice,
  { from, retained }: Retention,
  room: number,
  options: ResolvedOptions,
): { readonly edits: readonly ContextEditDraft[]; readonly tokens: number } {
  const { estimate = estimateMessageTokens } = options;
  const { items, pins } = context;
  const staying = [...retained.map((at) => items[at] as ContextItem), ...items.slice(from)].filter(
    ({ message }) => message.role !== "system",
  );
  const ids = new Set(staying.map(({ entryId }) => entryId));
  const edits = new Map([...safeEdits(context, choice)].filter(([targetId]) => ids.has(targetId)));
  for (const targetId of outdatedInitialContexts(context, from, options))
    edits.set(targetId, omissionEdit(targetId));
  const edited = () => staying.flatMap((item) => applyEdit(item, edits.get(item.entryId)) ?? []);
  const tokensOf = (of: readonly ContextItem[]) =>
    of.reduce((sum, { message }) => sum + estimate(message), 0);
  const kept = edited();
  const tokens = tokensOf(kept);
  const fitting = shrinkingEdits(kept, new Set(pins), tokens, room, estimate);
  if (fitting.length === 0) return { edits: [...edits.values()], tokens };
  for (const edit of fitting) edits.set(edit.targetId, edit);
  return { edits: [...edits.values()], tokens: tokensOf(edited()) };
}

function filesOf(
  items: readonly ContextItem[],
  { from, retained }: Retention,
  { cwd, tools }: ResolvedOptions,
): FileLedger {
  const options = { ...(cwd === undefined ? {} : { cwd }), ...(tools === undefined ? {} : { tools }) };
  return fileLedger({ items: itemsForLedger(items, from, retained) }, options);
}
