import type { Context, ContextItem, ImageBlock, SystemMessage, TextBlock } from "../content/index.js";
import { estimateMessageTokens } from "../estimate/index.js";
import { integerArgument } from "../internal/arguments.js";
import {
  type CoveredResource,
  coveredResources,
  mergeCoveredResources,
  readCoveredResources,
} from "./covered.js";
import { editedItem, editsByTarget, omission } from "./edited.js";
import { fittingEdits } from "./fit.js";
import { isInitialContext, isModelSwitch } from "./initial-context.js";
import { keptItems } from "./keep.js";
import { type FileLedger, type FileToolTable, fileLedger } from "./ledger/index.js";
import type {
  CompactionBudget,
  CompactionChoice,
  CompactionStrategy,
  CompactionTrigger,
  ContextEditDraft,
  MessageEstimator,
  SummaryPart,
} from "./strategy.js";
import { foldSystemMessages } from "./system-message.js";
import { contextTokens } from "./tokens.js";
import { defaultReserveTokens } from "./triggers.js";
import { newestUserMessage } from "./turns.js";

/** What a harness tells the model at the beginning, and when it is told again. */
export interface Reinjection {
  readonly content: string | readonly (TextBlock | ImageBlock)[];
  /**
   * `before-last-user`: it stands before the newest message of the user, where a compaction keeps that between summary and
   * tail, else between the two. `defer`: the old one goes, and the harness tells it again with the next turn; see
   * {@link hasInitialContext}. By default the first in the middle of a turn and after an overflow, else the second.
   */
  readonly mode?: "before-last-user" | "defer";
}

/** What {@link planCompaction} goes by. */
export interface PlanOptions {
  readonly strategy: CompactionStrategy;
  /** What the model takes, in tokens, its answer included. */
  readonly window: number;
  /** By default `mid-turn` where the context ends with a tool's result or a model's message, else `pre-turn`. */
  readonly trigger?: CompactionTrigger;
  /** Told again, or left to the next turn. Without it an initial context that is kept stays, and one that is summarised goes. */
  readonly initialContext?: Reinjection;
  /** Items that no summary is to cover. By default those that tell of a switch of models. */
  readonly skip?: (item: ContextItem) => boolean;
  /** The project's directory, for the paths of the file ledger. */
  readonly cwd?: string;
  /** What the harness's tools do to files. By default {@link fileTools}. */
  readonly tools?: FileToolTable;
  /** By default `estimateMessageTokens` of `sessile/estimate`. */
  readonly estimate?: MessageEstimator;
}

/** What a compaction will do; plain data. */
export interface CompactionPlan {
  /** The strategy's name. */
  readonly strategy: string;
  /** The texts to ask a model for; none where the edits are all there is to do. */
  readonly parts: readonly SummaryPart[];
  /** Index of the first item that stays where it is; the number of items for none. */
  readonly keepFrom: number;
  /** Ids of earlier entries that stay too, in order. */
  readonly retain: readonly string[];
  /** Edits of what stays. */
  readonly edits: readonly ContextEditDraft[];
  /** What is told again, and before which of `retain`. */
  readonly initialContext?: { readonly content: Reinjection["content"]; readonly at: number };
  /** The instructions in force. */
  readonly systemMessage?: SystemMessage;
  /** What was done to files up to `keepFrom`. */
  readonly files: FileLedger;
  /** The attachments that the summary covers, and those that earlier summaries did. */
  readonly resources: readonly CoveredResource[];
  /** What the context comes to now, in tokens. */
  readonly tokensBefore: number;
  /** An estimate of what stays, without the summary. */
  readonly tokensKept: number;
  /** What a context may come to after it. */
  readonly limit: number;
}

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
}

/** Options whose trigger is settled. */
export type SettledOptions = PlanOptions & { readonly trigger: CompactionTrigger };

/** Where in a turn a context ends. */
export function triggerOf({ items }: Pick<Context, "items">): CompactionTrigger {
  const role = items.at(-1)?.message.role;
  return role === "toolResult" || role === "assistant" ? "mid-turn" : "pre-turn";
}

/** {@link planCompaction}, with the strategy's choice. */
export function choosePlan(context: Context, options: SettledOptions): PlannedChoice | undefined {
  const { strategy, window, trigger, estimate = estimateMessageTokens } = options;
  integerArgument("window", window, 1);
  const budget: CompactionBudget = {
    window,
    tokens: contextTokens(context, { estimate }),
    trigger,
    estimate,
  };
  const first = settled(context, strategy.choose(context, budget), options);
  if (first === undefined || first.plan.parts.length === 0 || hasRoom(first.plan)) return first;
  return settled(context, strategy.choose(context, { ...budget, least: true }), options) ?? first;
}

function settled(
  context: Context,
  choice: CompactionChoice | undefined,
  options: SettledOptions,
): PlannedChoice | undefined {
  const plan = choice && settlePlan(context, choice, options);
  return plan && { plan, choice };
}

/** What of the limit is left for a summary at the least, as a part of it. */
const summaryShare = 4;

function hasRoom({ parts, tokensKept, limit }: CompactionPlan): boolean {
  const asked = parts.reduce((sum, { prompt }) => sum + prompt.maxTokens, 0);
  return tokensKept + Math.min(asked, limit / summaryShare) <= limit;
}

/** What a context may come to after a compaction by this strategy. */
export function limitOf(strategy: CompactionStrategy, window: number): number {
  return strategy.limit?.(window) ?? Math.max(window - defaultReserveTokens, Math.floor(window / 2));
}

/** The plan that a choice comes to in this context; undefined where it leaves everything as it is. */
export function settlePlan(
  context: Context,
  choice: CompactionChoice,
  options: PlanOptions,
): CompactionPlan | undefined {
  const { strategy, window, estimate = estimateMessageTokens, skip = isModelSwitch } = options;
  const { items } = context;
  integerArgument("keepFrom", choice.keepFrom, 0, items.length);
  const limit = limitOf(strategy, window);
  const tokensBefore = contextTokens(context, { estimate });
  const parts = choice.parts.flatMap((part): readonly SummaryPart[] => {
    const shown = part.items.filter((item) => isSummarised(item) && !skip(item));
    return shown.length === 0 && part.previous === undefined ? [] : [{ ...part, items: shown }];
  });
  const common = { strategy: strategy.name, tokensBefore, limit };
  if (parts.every((part) => part.items.length === 0)) {
    const edits = [...editsByTarget(choice.edits ?? []).values()];
    if (edits.length === 0) return undefined;
    const none = { keepFrom: 0, retain: [], files: { files: [] }, resources: [], tokensKept: 0 };
    return { ...common, ...none, parts: [], edits };
  }
  const { from, retained } = keptItems(context, choice.keepFrom, choice.retain ?? []);
  const staying = [...retained.map((at) => items[at] as ContextItem), ...items.slice(from)];
  const covered = items.slice(0, from);
  const edits = new Map(editsByTarget(choice.edits ?? []));
  const stayingIds = new Set(staying.map(({ entryId }) => entryId));
  for (const targetId of edits.keys()) if (!stayingIds.has(targetId)) edits.delete(targetId);
  for (const targetId of outdatedContext(context, from, options)) edits.set(targetId, omission(targetId));
  const systemMessage = foldSystemMessages(items);
  const initialContext = reinjected(items, retained, options);
  const kept = staying.flatMap((item) => {
    if (item.message.role === "system") return [];
    const edited = editedItem(item, edits.get(item.entryId));
    return edited === undefined ? [] : [edited];
  });
  const tokensOf = (of: readonly ContextItem[]) =>
    of.reduce((sum, { message }) => sum + estimate(message), 0);
  const added =
    (systemMessage === undefined ? 0 : estimate(systemMessage)) +
    (initialContext === undefined ? 0 : estimate(asCustomMessage(initialContext.content)));
  const asked = parts.reduce((sum, { prompt }) => sum + prompt.maxTokens, 0);
  const room = Math.floor(limit - Math.min(asked, limit / summaryShare) - added);
  const tokensKept = tokensOf(kept);
  for (const edit of fittingEdits(kept, new Set(context.pins), tokensKept, room, estimate)) {
    edits.set(edit.targetId, edit);
  }
  const fitted =
    edits.size === 0 ? kept : kept.flatMap((item) => editedItem(item, edits.get(item.entryId)) ?? []);
  return {
    ...common,
    parts,
    keepFrom: from,
    retain: retained.map((at) => (items[at] as ContextItem).entryId),
    edits: [...edits.values()],
    ...(initialContext === undefined ? {} : { initialContext }),
    ...(systemMessage === undefined ? {} : { systemMessage }),
    files: fileLedger(
      { items: covered },
      {
        ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
        ...(options.tools === undefined ? {} : { tools: options.tools }),
      },
    ),
    resources: mergeCoveredResources(earlierResources(covered), coveredResources(covered)),
    tokensKept: Math.ceil(tokensOf(fitted) + added),
  };
}

/** What a summary may cover. */
function isSummarised(item: ContextItem): boolean {
  return item.message.role !== "system" && !isInitialContext(item);
}

function earlierResources(items: readonly ContextItem[]): readonly CoveredResource[] {
  return mergeCoveredResources(
    ...items.map(({ message }) =>
      message.role === "compactionSummary" || message.role === "branchSummary"
        ? readCoveredResources(message.details)
        : [],
    ),
  );
}

/** Ids of initial contexts that would stay, and are not to. */
function outdatedContext(
  { items, pins }: Context,
  from: number,
  { initialContext }: PlanOptions,
): readonly string[] {
  const pinned = new Set(pins);
  return items.flatMap((item, at) => {
    if (!isInitialContext(item) || pinned.has(item.entryId)) return [];
    // One that was retained may lie in the range that is kept now.
    const stays = item.origin === "retained" || (at >= from && initialContext !== undefined);
    return stays ? [item.entryId] : [];
  });
}

function reinjected(
  items: readonly ContextItem[],
  retained: readonly number[],
  { initialContext, trigger }: PlanOptions,
): CompactionPlan["initialContext"] {
  if (initialContext === undefined) return undefined;
  const inTurn = trigger === "mid-turn" || trigger === "overflow";
  const mode = initialContext.mode ?? (inTurn ? "before-last-user" : "defer");
  if (mode === "defer") return undefined;
  const at = retained.indexOf(newestUserMessage(items));
  return { content: initialContext.content, at: at < 0 ? retained.length : at };
}

function asCustomMessage(content: Reinjection["content"]) {
  return { role: "custom", customType: "", content, display: false, timestamp: 0 } as const;
}
