/**
 * The strategies: pi's rolling summary, codex's newest user messages, opencode's pruning of tool output, and
 * summaries that the provider's API made.
 */

import { resourcesIn } from "../attachments/index.js";
import { currentTurnStart } from "../attachments/internal.js";
import { estimateMessageTokens } from "../content/estimate/index.js";
import {
  type AssistantMessage,
  type Context,
  type ContextItem,
  type ContextMessage,
  type TextBlock,
  type ToolResultMessage,
  toolPairs,
  type UserMessage,
} from "../content/index.js";
import { isProviderSummary, type ToolPair } from "../content/internal.js";
import { describe, integerArgument, integerOption } from "../core/arguments.js";
import { withoutFooter } from "./boundary.js";
import { omissionText, prompts } from "./prompts.js";
import {
  applyEdits,
  contentEdit,
  editsByTarget,
  findCutPoint,
  headLength,
  newestUserIndex,
} from "./retention.js";
import type {
  CompactionBudget,
  CompactionChoice,
  CompactionStrategy,
  ContextEditDraft,
  MessageEstimator,
  SummaryPart,
} from "./strategy.js";
import {
  contextTokens,
  defaultReserveTokens,
  isOverflow,
  type ModelWindow,
  minSummaryTokens,
  type OverflowSettings,
  shouldCompact,
  usableTokens,
} from "./triggers.js";
import { approximateTokens, truncateText } from "./truncate.js";

/** The options of {@link rollingSummary}. */
export interface RollingSummaryOptions {
  /** False disables automatic compaction, but not manual. Default true. */
  readonly enabled?: boolean | undefined;
  /**
   * Tokens to leave free for the model's answer; at least 0. Default 16,384; never more than half of the
   * window.
   */
  readonly reserveTokens?: number | undefined;
  /**
   * Tokens of the newest messages to keep, approximately; at least 0. Default 20,000; never more than half of
   * the limit.
   */
  readonly keepRecentTokens?: number | undefined;
}

/** pi's defaults. */
const rollingDefaults = {
  enabled: true,
  reserveTokens: defaultReserveTokens,
  keepRecentTokens: 20_000,
};

/**
 * Keeps one summary, which each compaction updates, and the newest messages: pi's strategy. Compacts if the
 * context exceeds the window less the reserve. If the cut splits a turn, the turn's first part has a summary
 * of its own below a horizontal rule.
 *
 * @throws RangeError for options that are not integers in their range
 * @example
 * ```ts
 * const strategy = rollingSummary({ keepRecentTokens: 30_000 });
 * ```
 */
export function rollingSummary(options: RollingSummaryOptions = {}): CompactionStrategy {
  const { enabled = rollingDefaults.enabled } = options;
  const reserve = integerOption("reserveTokens", options.reserveTokens, rollingDefaults.reserveTokens, 0);
  const keep = integerOption(
    "keepRecentTokens",
    options.keepRecentTokens,
    rollingDefaults.keepRecentTokens,
    0,
  );
  const limit = (window: number) => Math.max(window - reserve, Math.floor(window / 2));
  return {
    name: "rolling-summary",
    limit,
    shouldCompact: (_, { window, tokens }) =>
      shouldCompact(tokens, window, { enabled, reserveTokens: window - limit(window) }),
    choose: (context, budget) =>
      chooseRolling(context, budget, Math.min(keep, Math.floor((budget.limit ?? limit(budget.window)) / 2))),
    join: ([history = "", prefix]) =>
      [history, prefix === undefined ? "" : `## Turn in Progress\n\n${prefix}`]
        .filter((text) => text !== "")
        .join("\n\n---\n\n"),
  };
}

function chooseRolling(
  { items }: Context,
  { estimate, minimal }: CompactionBudget,
  keepTokens: number,
): CompactionChoice | undefined {
  const from = headLength(items);
  const earlier = items.find(({ message }) => message.role === "compactionSummary")?.message;
  const previous = earlier?.role === "compactionSummary" ? withoutFooter(earlier.summary) : undefined;
  const { keepFrom, turnStart = keepFrom } = minimal
    ? { keepFrom: items.length }
    : findCutPoint(items, { keepTokens, from, estimate });
  if (keepFrom <= from) return undefined;
  const history: SummaryPart = {
    items: items.slice(from, turnStart),
    prompt: prompts.checkpoint,
    previous,
  };
  const prefix: SummaryPart = { items: items.slice(turnStart, keepFrom), prompt: prompts.turnPrefix };
  return { keepFrom, parts: turnStart < keepFrom ? [history, prefix] : [history] };
}

// The strategy of codex: a new summary and the newest user messages.

/** The options of {@link recentUserMessages}. */
export interface RecentUserMessagesOptions {
  /** Compacts from this many tokens on; at least 1. Default and maximum: 90 % of the window. */
  readonly tokenLimit?: number | undefined;
  /** Tokens of user messages to keep; at least 0. Default 20,000; never more than a quarter of the limit. */
  readonly keepUserTokens?: number | undefined;
  /** The first paragraph of the summary. Default: a note that another model began the work. */
  readonly preface?: string | undefined;
}

/** codex's defaults; the limit is a fraction of the window. */
const recentDefaults = { tokenLimitShare: 0.9, keepUserTokens: 20_000 } as const;

const handoffPreface =
  "Another model began this work, and wrote down for you how far it came. Build on that, and do not " +
  "do again what is done.";

/**
 * Writes a new summary each time, followed by the newest user messages, text only: codex's strategy. The
 * oldest kept message is truncated if it does not fit. Inline images become placeholders, attachments keep
 * their descriptors.
 *
 * @throws RangeError for options that are not integers in their range
 * @example
 * ```ts
 * const strategy = recentUserMessages({ tokenLimit: 180_000 });
 * ```
 */
export function recentUserMessages(options: RecentUserMessagesOptions = {}): CompactionStrategy {
  const { tokenLimitShare, keepUserTokens } = recentDefaults;
  const configured =
    options.tokenLimit === undefined ? undefined : integerArgument("tokenLimit", options.tokenLimit, 1);
  const keep = integerOption("keepUserTokens", options.keepUserTokens, keepUserTokens, 0);
  const { preface = handoffPreface } = options;
  const limit = (window: number) => {
    const most = Math.floor(window * tokenLimitShare);
    return Math.max(1, configured === undefined ? most : Math.min(configured, most));
  };
  return {
    name: "recent-user-messages",
    // A context of exactly the limit is compacted.
    limit: (window) => Math.max(1, limit(window) - 1),
    shouldCompact: (_, { window, tokens }) => tokens >= limit(window),
    choose: (context, budget) =>
      chooseRecent(context, budget, Math.min(keep, Math.floor((budget.limit ?? limit(budget.window)) / 4))),
    join: (texts) => `${preface}\n\n${texts.join("\n\n")}`,
    emptySummary: "(no summary available)",
  };
}

function chooseRecent(
  { items }: Context,
  { minimal }: CompactionBudget,
  keepTokens: number,
): CompactionChoice {
  const retain: string[] = [];
  const edits: ContextEditDraft[] = [];
  let left = minimal ? 0 : keepTokens;
  for (let at = items.length - 1; at >= 0 && left > 0; at--) {
    const { entryId, message } = items[at] as ContextItem;
    if (message.role !== "user") continue;
    const blocks = textBlocks(message);
    const attached = blocks.filter(({ resource }) => resource !== undefined);
    const texts = blocks.flatMap(({ resource, text }) => (resource === undefined ? [text] : []));
    const tokens = approximateTokens(blocks.map(({ text }) => text).join(""));
    retain.push(entryId);
    if (tokens > left) {
      const text = truncateText(texts.join("\n"), { maxTokens: left });
      // Attachments stay blocks, so that a boundary is asked about them.
      edits.push(contentEdit(entryId, [{ type: "text", text }, ...attached]));
    } else if (typeof message.content !== "string" && message.content.some(({ type }) => type !== "text")) {
      edits.push(contentEdit(entryId, blocks));
    }
    left -= tokens;
  }
  return { keepFrom: items.length, retain, edits, parts: [{ items, prompt: prompts.handoff }] };
}

/** The blocks of a user message with placeholders for inline images. */
function textBlocks({ content }: UserMessage): readonly TextBlock[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return content.map((block) =>
    block.type === "text"
      ? block
      : { type: "text", text: omissionText("image", "the conversation was compacted") },
  );
}

// The strategy of opencode: prune old tool output, then summarise everything.

/** The options of {@link pruneThenSummarize}. */
interface PruneThenSummarizeOptions extends OverflowSettings, Omit<PruneOptions, "estimate"> {
  /** The longest answer that is requested, in tokens. */
  readonly output?: ModelWindow["output"];
  /** The input limit of the model, if its provider has one. */
  readonly input?: ModelWindow["input"];
}

/**
 * Clears old tool output first. If that does not free enough, or the trigger asks for a summary, summarises
 * everything and keeps the newest user message: opencode's strategy. After an overflow, that message is kept
 * as text only.
 *
 * @example
 * ```ts
 * const strategy = pruneThenSummarize({ output: 32_000, protectedTools: ["skill", "plan"] });
 * ```
 */
export function pruneThenSummarize(options: PruneThenSummarizeOptions = {}): CompactionStrategy {
  const { auto, reserved, output, input, ...prune } = options;
  const settings = { auto, reserved };
  const model = (window: number): ModelWindow => ({ context: window, output, input });
  const limit = (window: number) => Math.max(usableTokens(model(window), settings), Math.floor(window / 2));
  return {
    name: "prune-then-summarize",
    limit,
    shouldCompact: (_, { window, tokens }) =>
      tokens > limit(window) && isOverflow(tokens, model(window), settings),
    choose: (context, budget) => {
      const most = budget.limit ?? limit(budget.window);
      return chooseAfterPruning(context, budget, most, { ...prune, ...scaledDefaults(most, prune) });
    },
  };
}

/** The defaults scaled to small windows: at most a quarter and an eighth of the limit. */
function scaledDefaults(limit: number, { protectTokens, minimumTokens }: PruneOptions): PruneOptions {
  return {
    protectTokens: protectTokens ?? Math.min(pruneDefaults.protectTokens, Math.floor(limit / 4)),
    minimumTokens: minimumTokens ?? Math.min(pruneDefaults.minimumTokens, Math.floor(limit / 8)),
  };
}

function chooseAfterPruning(
  context: Context,
  budget: CompactionBudget,
  limit: number,
  options: PruneOptions,
): CompactionChoice | undefined {
  const { tokens, trigger = "manual", estimate } = budget;
  const { items } = context;
  const prune = planPrune(context, { ...options, estimate });
  const edits: ContextEditDraft[] = [...(prune?.drafts ?? [])];
  const isAutomatic = trigger === "pre-turn" || trigger === "mid-turn";
  if (prune !== undefined && isAutomatic && tokens - prune.tokens <= limit) {
    return { keepFrom: 0, edits, parts: [] };
  }
  // The summary covers the newest message before it is reduced to text, so that it names the attachments.
  const targets = editsByTarget(edits);
  const shown = applyEdits(items, targets);
  if (trigger === "overflow") {
    for (const edit of textOnlyEdits(items[newestUserIndex(items)])) edits.push(edit);
  }
  return { keepFrom: items.length, edits, parts: [{ items: shown, prompt: prompts.continuation }] };
}

/** Replaces attachments and images by placeholders, since one of them may be too large; links stay. */
function textOnlyEdits(item: ContextItem | undefined): readonly ContextEditDraft[] {
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

/** The placeholder for pruned tool output, in opencode's words; the entry keeps the output. */
export const prunedOutput = "[Old tool result content cleared]";

/** The options of {@link planPrune}: the output that stays. */
export interface PruneOptions {
  /** The latest turns, counted by user messages, whose output stays; at least 0. Default 2. */
  readonly skipTurns?: number | undefined;
  /** Tokens of the newest output before those turns that stay; at least 0. Default 40,000. */
  readonly protectTokens?: number | undefined;
  /** A plan must free more tokens than this; at least 0. Default 20,000. */
  readonly minimumTokens?: number | undefined;
  /** Names of tools whose output is never pruned. Default `skill`. */
  readonly protectedTools?: readonly string[] | undefined;
  /** Default `estimateMessageTokens` of `sessile/estimate`. */
  readonly estimate?: MessageEstimator | undefined;
}

/** opencode's defaults. */
const pruneDefaults = {
  skipTurns: 2,
  protectTokens: 40_000,
  minimumTokens: 20_000,
  protectedTools: ["skill"],
};

/** Tool output to clear from a context. */
interface PrunePlan {
  /** An edit for each result, oldest first. */
  readonly drafts: readonly ContextEditDraft[];
  /** The entries of the drafts, in the same order. */
  readonly entryIds: readonly string[];
  /** An estimate of the cleared output. */
  readonly tokens: number;
}

/**
 * Chooses old tool output to clear from a context, without a model: opencode's rule. The output of the last
 * two turns stays, and so do the newest 40,000 tokens before them. Older output is cleared if it has more
 * than 20,000 tokens. The walk back stops at a summary and at output that was cleared before. Pure, and
 * linear in the context.
 *
 * Errors stay and do not count, and neither do results of protected tools, pinned results, results of pinned
 * calls, and results without a call. Attachments keep their descriptors. The drafts are context edits: the
 * entries keep the output, and a later edit can restore it.
 *
 * @returns undefined if too little would be freed
 * @throws RangeError for a count that is not an integer from 0 on
 * @see https://github.com/anomalyco/opencode `packages/opencode/src/session/compaction.ts`, `prune`, at
 *   commit 001aa6c (read 2026-11-22): the result that passes the 40,000 is cleared itself, and both
 *   comparisons are `>`.
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
  const isAlwaysKept = alwaysKept(context, new Set(options.protectedTools ?? pruneDefaults.protectedTools));
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
    if (message.role !== "toolResult" || message.isError || isAlwaysKept(at)) continue;
    if (item.edited === true && isCleared(message)) break;
    const size = estimate(message);
    total += size;
    if (total <= protect) continue;
    tokens += size;
    cleared.push(clearingEdit(item.entryId, message));
  }
  if (tokens <= minimum) return undefined;
  const drafts = cleared.reverse();
  return { drafts, entryIds: drafts.map(({ targetId }) => targetId), tokens };
}

/** Options of {@link cutGain}. */
export interface CutGainOptions extends Omit<PruneOptions, "minimumTokens"> {
  /** Prices of a million tokens: a row of `sessile/cost`, or yours. A write to the cache is `input` without one. */
  readonly price: { readonly input: number; readonly cacheRead: number; readonly cacheWrite?: number };
  /** Requests that the session is expected to make. Default 20. */
  readonly requests?: number;
}

/** What a request would no longer have after a cut, and what the cut costs. JSON-safe. */
export interface CutGain {
  /** Attachments of finished turns, and their tokens beyond a description. */
  readonly attachments: number;
  readonly attachmentTokens: number;
  /** Old tool output, by the rule of {@link planPrune}. */
  readonly outputs: number;
  readonly outputTokens: number;
  /** Dollars, once: the rest is processed again in place of a read from the cache. */
  readonly cost: number;
  /** Dollars that each later request saves. */
  readonly saved: number;
  /** The requests after which the cut has paid; absent if it never does. */
  readonly paidAfter?: number;
  readonly isWorth: boolean;
}

/**
 * Whether it is worth a cut now: a compaction, or a prune with `replayCurrentTurn` once, removes what stays in each
 * request of an append-only session. Reasoning that a cut makes invalid, and the summary's own price, are not in it.
 * A trigger beside those by size.
 *
 * @throws RangeError for a price or a count below 0
 * @example
 * ```ts
 * const { input, cacheRead, cacheWrite } = { input: 5, cacheRead: 0.5, cacheWrite: 6.25 };
 * const gain = cutGain(await session.context(), { price: { input, cacheRead, cacheWrite } });
 * if (gain.isWorth) console.log(gain.attachments, gain.outputTokens, gain.paidAfter);
 * ```
 */
export function cutGain(context: Context, options: CutGainOptions): CutGain {
  const { price, requests = 20, ...pruning } = options;
  const { input, cacheRead, cacheWrite = input } = price;
  for (const [name, value] of Object.entries({ input, cacheRead, cacheWrite, requests }))
    if (!(value >= 0)) throw new RangeError(`${name}: expected a number >= 0, got ${describe(value)}`);
  const past = context.items.slice(0, currentTurnStart(context));
  const plan = planPrune(context, { ...pruning, minimumTokens: 0 });
  // Cleared output keeps the descriptions of its attachments.
  const attachmentTokens = past.reduce((sum, { message }) => {
    const inFull = estimateMessageTokens(message, { replay: () => "full" });
    return sum + inFull - estimateMessageTokens(message);
  }, 0);
  const outputTokens = plan?.tokens ?? 0;
  const removed = attachmentTokens + outputTokens;
  const rest = Math.max(0, contextTokens(context) - removed);
  const million = 1_000_000;
  const cost = (rest * Math.max(0, cacheWrite - cacheRead)) / million;
  const saved = (removed * cacheRead) / million;
  const paidAfter = saved > 0 ? Math.ceil(cost / saved) : undefined;
  return {
    attachments: resourcesIn({ items: past }).filter(({ kind }) => kind !== "link").length,
    attachmentTokens,
    outputs: plan?.entryIds.length ?? 0,
    outputTokens,
    cost,
    saved,
    ...(paidAfter === undefined ? {} : { paidAfter }),
    isWorth: paidAfter !== undefined && paidAfter <= requests,
  };
}

function isSummary(message: ContextMessage): boolean {
  return message.role === "compactionSummary" || (message.role === "assistant" && message.summary === true);
}

function isCleared({ content: [first] }: ToolResultMessage): boolean {
  return first?.type === "text" && first.text === prunedOutput;
}

/** Whether a result always stays: of a protected tool, pinned, of a pinned call, or without a call. */
function alwaysKept({ items, pins }: Context, tools: ReadonlySet<string>): (at: number) => boolean {
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

/** Keeps the attachments, so that the model can view them again. */
function clearingEdit(targetId: string, { content }: ToolResultMessage): ContextEditDraft {
  const attached = content.filter((block) => block.type === "text" && block.resource !== undefined);
  return contentEdit(targetId, [{ type: "text", text: prunedOutput }, ...attached]);
}

// The strategy of summaries that the provider's API made, which stay with it and get a text for all others.

/**
 * Records a summary that the provider made itself as a compaction: Anthropic's `compaction` block, by request or
 * by threshold, and OpenAI's compaction item. The message with the block stays, and goes back to its own provider
 * as the first one. Every other model gets the text of the block, or the text of `generate` if it is encrypted.
 *
 * It asks for a compaction if a reply with such a block covers more than the shortest summary takes.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/compaction and
 *   https://developers.openai.com/api/docs/guides/conversation-state (stored copies, 2026-11-28)
 * @example
 * ```ts
 * const strategy = providerCompaction();
 * const context = await session.context();
 * if (strategy.shouldCompact(context, { window: 200_000, tokens: contextTokens(context) })) {
 *   await compact(session, { strategy, window: 200_000, generate });
 * }
 * ```
 */
export function providerCompaction(): CompactionStrategy {
  return {
    name: "provider",
    // The provider's own threshold bounds its context; this one has the text beside the block.
    limit: (window) => window,
    shouldCompact: ({ items }, { window, estimate = estimateMessageTokens }) => {
      const newest = items.findLastIndex(({ message }) => message.role === "user");
      // A summary is not shorter than that; the newest user message stays.
      let left = minSummaryTokens(window);
      const end = summaryAt(items);
      for (let at = headLength(items); at < end && left >= 0; at++)
        if (at !== newest) left -= estimate((items[at] as ContextItem).message);
      return left < 0;
    },
    choose({ items }) {
      const keepFrom = summaryAt(items);
      const from = headLength(items);
      if (keepFrom <= from) return undefined;
      const earlier = items.find(({ message }) => message.role === "compactionSummary")?.message;
      const previous = earlier?.role === "compactionSummary" ? withoutFooter(earlier.summary) : undefined;
      const part = { items: items.slice(from, keepFrom), prompt: prompts.checkpoint, previous };
      return { keepFrom, parts: [part], summary: summaryText(items[keepFrom]?.message as AssistantMessage) };
    },
  };
}

/** The index of the newest message with a summary of its provider; -1 if none has one. */
function summaryAt(items: Context["items"]): number {
  return items.findLastIndex(
    ({ message }) =>
      message.role === "assistant" &&
      message.content.some((block) => block.type === "opaque" && isProviderSummary(block.data)),
  );
}

/** The text of a summary; undefined if only its provider can read it. */
function summaryText({ content }: AssistantMessage): string | undefined {
  const texts = content.flatMap((block) =>
    block.type === "opaque" && isProviderSummary(block.data) && "content" in block.data
      ? [block.data.content]
      : [],
  );
  const text = texts.at(-1);
  return typeof text === "string" && text.trim() !== "" ? text : undefined;
}
