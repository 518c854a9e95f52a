import {
  type Context,
  type ContextItem,
  type ContextMessage,
  type ToolPair,
  type ToolResultMessage,
  toolPairs,
} from "../content/index.js";
import { estimateMessageTokens } from "../estimate/index.js";
import { integerOption } from "../internal/arguments.js";
import { applyEdit, contentEdit, editsByTarget } from "./context-edits.js";
import { newestUserIndex } from "./cut-point.js";
import { continuationPrompt } from "./prompts.js";
import { omissionText } from "./serialize.js";
import type {
  CompactionBudget,
  CompactionChoice,
  CompactionStrategy,
  ContextEditDraft,
  MessageEstimator,
} from "./strategy.js";
import { isOverflow, type ModelWindow, type OverflowSettings, usableTokens } from "./triggers.js";

/** How {@link pruneThenSummarize} works. */
export interface PruneThenSummarizeOptions extends OverflowSettings, Omit<PruneOptions, "estimate"> {
  /** The longest answer that is asked of the model, in tokens. */
  readonly output?: ModelWindow["output"];
  /** What the model takes as prompt, where its provider bounds that. */
  readonly input?: ModelWindow["input"];
}

/**
 * Old output of tools is cleared first; where that does not free enough, or a summary was asked for, all is summarised and
 * the newest message of the user stays: opencode's way. After an overflow that message goes as text alone.
 *
 * @example
 * ```ts
 * const strategy = pruneThenSummarize({ output: 32_000, protectedTools: ["skill", "plan"] });
 * ```
 */
export function pruneThenSummarize(options: PruneThenSummarizeOptions = {}): CompactionStrategy {
  const { auto, reserved, output, input, ...prune } = options;
  const settings = {
    ...(auto === undefined ? {} : { auto }),
    ...(reserved === undefined ? {} : { reserved }),
  };
  const model = (window: number): ModelWindow => ({
    context: window,
    ...(output === undefined ? {} : { output }),
    ...(input === undefined ? {} : { input }),
  });
  const limit = (window: number) => Math.max(usableTokens(model(window), settings), Math.floor(window / 2));
  return {
    name: "prune-then-summarize",
    limit,
    shouldCompact: (_, { window, tokens }) =>
      tokens > limit(window) && isOverflow(tokens, model(window), settings),
    choose: (context, budget) => {
      const most = limit(budget.window);
      return pruned(context, budget, most, { ...scaled(most), ...prune });
    },
  };
}

/** What is protected by default, for windows that its numbers were not made for: at most a quarter and an eighth of the limit. */
function scaled(limit: number): Pick<PruneOptions, "protectTokens" | "minimumTokens"> {
  return {
    protectTokens: Math.min(pruneDefaults.protectTokens, Math.floor(limit / 4)),
    minimumTokens: Math.min(pruneDefaults.minimumTokens, Math.floor(limit / 8)),
  };
}

function pruned(
  context: Context,
  budget: CompactionBudget,
  limit: number,
  options: PruneOptions,
): CompactionChoice | undefined {
  const { tokens, trigger = "manual", estimate } = budget;
  const { items } = context;
  const prune = planPrune(context, { ...options, ...(estimate === undefined ? {} : { estimate }) });
  const edits: ContextEditDraft[] = [...(prune?.drafts ?? [])];
  const byItself = trigger === "pre-turn" || trigger === "mid-turn";
  if (prune !== undefined && byItself && tokens - prune.tokens <= limit) {
    return { keepFrom: 0, edits, parts: [] };
  }
  // The summary is of the newest message as it is, with what names its attachments.
  const targets = editsByTarget(edits);
  const shown = items.flatMap((item) => applyEdit(item, targets.get(item.entryId)) ?? []);
  if (trigger === "overflow") {
    for (const edit of textOnly(items[newestUserIndex(items)])) edits.push(edit);
  }
  return { keepFrom: items.length, edits, parts: [{ items: shown, prompt: continuationPrompt }] };
}

/** The message with words in the place of attachments and images, since one of them may be what was too large; links stay. */
function textOnly(item: ContextItem | undefined): readonly ContextEditDraft[] {
  if (item?.message.role !== "user" || typeof item.message.content === "string") return [];
  const { content } = item.message;
  let changed = false;
  const blocks = content.map((block) => {
    const kind = block.type === "image" ? "image" : block.resource?.kind;
    if (kind === undefined || kind === "link") return block;
    changed = true;
    return { type: "text" as const, text: omissionText(kind, "the request was too large") };
  });
  return changed ? [contentEdit(item.entryId, blocks)] : [];
}

/** Stands in a context for a tool's output that was pruned; the entry keeps the output. opencode's words. */
export const prunedOutput = "[Old tool result content cleared]";

/** What {@link planPrune} spares. */
export interface PruneOptions {
  /** Messages of users from the end on that stay with all that follows them; at least 0. By default 2. */
  readonly skipTurns?: number;
  /** Tokens of the newest output before those that stay; at least 0. By default 40,000. */
  readonly protectTokens?: number;
  /** A plan has to free more tokens than this; at least 0. By default 20,000. */
  readonly minimumTokens?: number;
  /** Names of tools whose output is never pruned. By default `skill`. */
  readonly protectedTools?: readonly string[];
  /** By default {@link estimateMessageTokens}. */
  readonly estimate?: MessageEstimator;
}

/** The defaults of {@link planPrune}, which are opencode's. */
export const pruneDefaults: Required<Omit<PruneOptions, "estimate">> = {
  skipTurns: 2,
  protectTokens: 40_000,
  minimumTokens: 20_000,
  protectedTools: ["skill"],
};

/** Tool output to clear from a context. */
export interface PrunePlan {
  /** An edit for each result, oldest first. */
  readonly drafts: readonly ContextEditDraft[];
  /** Whose content the drafts replace, in the same order. */
  readonly entryIds: readonly string[];
  /** What the cleared output comes to. */
  readonly tokens: number;
}

/**
 * Which old output of tools to clear from a context, without a model: opencode's rule. Output of the last two turns stays, and
 * before them the newest 40,000 tokens of it; what is older is cleared, if it is more than 20,000 tokens. The walk back ends
 * at a summary and at output that was cleared before. Errors stay, and so does what a protected tool gave, what is pinned or
 * belongs to a pinned call, and a result without its call: they count nothing either. Attachments keep their descriptors. Pure, and linear in the context.
 *
 * The drafts are context edits: the entries keep the output, and a later edit can bring it back.
 *
 * @returns undefined where too little would be freed
 * @throws RangeError for a count that is no integer from 0 on.
 * @see https://github.com/anomalyco/opencode `packages/opencode/src/session/compaction.ts`, `prune`, at commit 001aa6c (read
 * 2026-11-22): the result that passes the 40,000 is cleared itself, and both comparisons are `>`.
 * @example
 * ```ts
 * const plan = planPrune(await session.context());
 * if (plan !== undefined) await session.append(plan.drafts);
 * ```
 */
export function planPrune(context: Context, options: PruneOptions = {}): PrunePlan | undefined {
  const skipTurns = integerOption("skipTurns", options.skipTurns, pruneDefaults.skipTurns, 0);
  const protect = integerOption("protectTokens", options.protectTokens, pruneDefaults.protectTokens, 0);
  const minimum = integerOption("minimumTokens", options.minimumTokens, pruneDefaults.minimumTokens, 0);
  const estimate: MessageEstimator = options.estimate ?? ((message) => estimateMessageTokens(message));
  const isSpared = sparedIn(context, new Set(options.protectedTools ?? pruneDefaults.protectedTools));
  const cleared: ContextEditDraft[] = [];
  let turns = 0;
  let total = 0;
  let tokens = 0;
  for (let at = context.items.length - 1; at >= 0; at--) {
    const item = context.items[at] as ContextItem;
    const { message } = item;
    if (message.role === "user") turns++;
    if (turns < skipTurns) continue;
    if (isSummary(message)) break;
    if (message.role !== "toolResult" || message.isError || isSpared(at)) continue;
    if (item.edited === true && isCleared(message)) break;
    const size = estimate(message);
    total += size;
    if (total <= protect) continue;
    tokens += size;
    cleared.push(clearing(item.entryId, message));
  }
  if (tokens <= minimum) return undefined;
  const drafts = cleared.reverse();
  return { drafts, entryIds: drafts.map(({ targetId }) => targetId), tokens };
}

function isSummary(message: ContextMessage): boolean {
  return message.role === "compactionSummary" || (message.role === "assistant" && message.summary === true);
}

function isCleared({ content: [first] }: ToolResultMessage): boolean {
  return first?.type === "text" && first.text === prunedOutput;
}

/** Whether the result at an index stays whatever its size: of a protected tool, pinned with its call, or without one. */
function sparedIn({ items, pins }: Context, tools: ReadonlySet<string>): (at: number) => boolean {
  const calls = new Map<number, ToolPair>();
  for (const pair of toolPairs(items.map(({ message }) => message)).pairs) {
    if (pair.resultAt !== undefined) calls.set(pair.resultAt, pair);
  }
  const pinned = new Set(pins);
  const isPinned = (at: number) => pinned.has(items[at]?.entryId ?? "");
  return (at) => {
    const pair = calls.get(at);
    if (pair === undefined) return true;
    return isPinned(at) || isPinned(pair.callAt) || tools.has(pair.call.name);
  };
}

/** Attachments stay as they are named, so that they can be asked for again. */
function clearing(targetId: string, { content }: ToolResultMessage): ContextEditDraft {
  const attached = content.filter((block) => block.type === "text" && block.resource !== undefined);
  return contentEdit(targetId, [{ type: "text", text: prunedOutput }, ...attached]);
}
