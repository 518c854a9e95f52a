import { type Context, toolCalls } from "../content/index.js";
import { estimateMessageTokens } from "../estimate/index.js";
import { integerArgument } from "../internal/arguments.js";
import type { CompactionPlan, PlanOptions, SettledOptions } from "./compaction-plan.js";
import { remembering } from "./remembering.js";
import { roomForSummary } from "./room.js";
import { settlePlan } from "./settle.js";
import type { CompactionBudget, CompactionChoice, CompactionTrigger } from "./strategy.js";
import { contextTokens } from "./tokens.js";

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
  readonly isLeast: boolean;
}

/** Where in a turn a context ends: behind an answer that calls no tool the turn is over, else the model is to be asked next. */
export function triggerOf({ items }: Pick<Context, "items">): CompactionTrigger {
  const last = items.at(-1)?.message;
  const isOver = last === undefined || (last.role === "assistant" && toolCalls(last).length === 0);
  return isOver ? "pre-turn" : "mid-turn";
}

/** {@link planCompaction}, with the strategy's choice. */
export function choosePlan(context: Context, options: SettledOptions): PlannedChoice | undefined {
  const { strategy, window, trigger } = options;
  integerArgument("window", window, 1);
  const estimate = remembering(options.estimate ?? estimateMessageTokens);
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
  const least = { ...budget, least: true } as const;
  return settled(context, strategy.choose(context, least), known, true) ?? first;
}

function settled(
  context: Context,
  choice: CompactionChoice | undefined,
  options: SettledOptions,
  isLeast = false,
): PlannedChoice | undefined {
  const plan = choice && settlePlan(context, choice, options, isLeast);
  return plan && { plan, choice, isLeast };
}

function hasRoom({ parts, tokensKept, limit }: CompactionPlan): boolean {
  return tokensKept + roomForSummary(parts, limit) <= limit;
}
