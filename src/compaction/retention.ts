/**
 * What stays of a context after a compaction: where it may be cut, which items are kept and with which
 * edits, and which messages are made anew instead of summarised.
 */

import { estimateMessageTokens } from "../content/estimate/index.js";
import {
  type Context,
  type ContextItem,
  type ContextMessage,
  type CustomMessage,
  type ImageBlock,
  type SystemMessage,
  type TextBlock,
  type ToolResultMessage,
  toolCalls,
  toolPairs,
  type UserMessage,
} from "../content/index.js";
import { toolsAfter } from "../content/internal.js";
import type { EntryDraft } from "../session/index.js";
import type { CompactionPlan, Reinjection, ResolvedOptions } from "./options.js";
import type { CompactionChoice, ContextEditDraft, MessageEstimator } from "./strategy.js";
import { truncateText, truncateToolResult } from "./truncate.js";

/** The items of a context that stay, by index. */
interface Retention {
  /** Every item from this index on stays in place. */
  readonly from: number;
  /** Indexes of earlier items that stay, in order. */
  readonly retained: readonly number[];
}

/**
 * The items that stay: the strategy's choice, pinned items, the newest user message, calls that wait for
 * results, and results that the model has not seen. The other half of every tool pair stays too. The summary,
 * system messages and initial context are never among them, because the compaction makes them anew.
 *
 * @param isMinimal drops results that the model has not seen; it can repeat the calls
 */
export function retainedItems(
  context: Context,
  { keepFrom, retain = [] }: Pick<CompactionChoice, "keepFrom" | "retain">,
  isMinimal: boolean,
): Retention {
  const { items, pins } = context;
  const head = headLength(items);
  const wanted = new Set([...retain, ...pins]);
  // Items of the head that the strategy keeps stay as retained items.
  const from = Math.max(keepFrom, head);
  const chosen: number[] = [];
  if (wanted.size > 0 || keepFrom < from) {
    for (let at = 0; at < from; at++) {
      if (at >= keepFrom || wanted.has((items[at] as ContextItem).entryId)) chosen.push(at);
    }
  }
  const newest = newestUserIndex(items);
  if (newest >= 0 && newest < from) chosen.push(newest);
  const called = latestCalls(items, isMinimal);
  if (called < from && called >= 0) chosen.push(called);
  const pinned = new Set(pins);
  const retained = withPairs(items, from, chosen).filter((at) =>
    isRetainable(items[at] as ContextItem, pinned),
  );
  return { from, retained };
}

/** Whether the item may be between the summary and the tail. */
function isRetainable(item: ContextItem, pinned: ReadonlySet<string>): boolean {
  const { role } = item.message;
  if (role === "system" || role === "compactionSummary") return false;
  return !isInitialContext(item) || pinned.has(item.entryId);
}

/**
 * Index of the last assistant message with tool calls if no user message follows it, else -1. With
 * `isMinimal`, only if a call is unanswered.
 */
function latestCalls(items: readonly ContextItem[], isMinimal: boolean): number {
  const answered = new Set<string>();
  for (let at = items.length - 1; at >= 0; at--) {
    const { message } = items[at] as ContextItem;
    if (message.role === "toolResult") answered.add(message.toolCallId);
    else if (message.role === "assistant") {
      const calls = toolCalls(message);
      return (isMinimal ? calls.some(({ id }) => !answered.has(id)) : calls.length > 0) ? at : -1;
    } else if (message.role === "user") return -1;
  }
  return -1;
}

/**
 * The chosen indexes and the missing halves of their tool pairs before `from`, sorted, without duplicates.
 */
function withPairs(
  items: readonly ContextItem[],
  from: number,
  chosen: readonly number[],
): readonly number[] {
  const kept = new Set(chosen);
  const hasTools = chosen.some((at) => isHalf((items[at] as ContextItem).message));
  if (hasTools || hasOrphans(items, from)) addOtherHalves(items, from, kept);
  return [...kept].sort((a, b) => a - b);
}

function isHalf(message: ContextMessage): boolean {
  return message.role === "toolResult" || (message.role === "assistant" && toolCalls(message).length > 0);
}

/** Whether the tail has a result whose call is not in the tail. */
function hasOrphans(items: readonly ContextItem[], from: number): boolean {
  const messages = items.slice(from).map(({ message }) => message);
  return toolPairs(messages).orphans.length > 0;
}

function addOtherHalves(items: readonly ContextItem[], from: number, kept: Set<number>): void {
  const { pairs } = toolPairs(items.map(({ message }) => message));
  const readResults = new Map<number, number[]>();
  for (const { callAt, resultAt } of pairs) {
    if (resultAt === undefined) continue;
    const results = readResults.get(callAt);
    if (results === undefined) readResults.set(callAt, [resultAt]);
    else results.push(resultAt);
  }
  const stays = (at: number) => at >= from || kept.has(at);
  // Parallel calls of one message: if one result stays, the call and all its results stay.
  for (const [callAt, results] of readResults) {
    if (!stays(callAt) && !results.some(stays)) continue;
    for (const at of [callAt, ...results]) if (at < from) kept.add(at);
  }
}

/**
 * The covered items for the file ledger. Leaves out retained calls without a result among them: the next
 * ledger sees their results.
 */
export function itemsForLedger(
  items: readonly ContextItem[],
  { from, retained }: Retention,
): readonly ContextItem[] {
  const covered = items.slice(0, from);
  if (!retained.some((at) => covered[at]?.message.role === "assistant")) return covered;
  const stays = new Set(retained);
  const open = new Set(
    toolPairs(covered.map(({ message }) => message)).pairs.flatMap(({ call, callAt, result }) =>
      result === undefined && stays.has(callAt) ? [call] : [],
    ),
  );
  if (open.size === 0) return covered;
  return covered.map((item, at) => {
    const { message } = item;
    if (message.role !== "assistant" || !stays.has(at)) return item;
    const content = message.content.filter((block) => block.type !== "toolCall" || !open.has(block));
    return { ...item, message: { ...message, content } };
  });
}

// Where a context may be cut, and where its turns start.

/** The options of {@link findCutPoint}. */
export interface CutPointOptions {
  /** The tokens to keep, approximately. */
  readonly keepTokens: number;
  /**
   * Index of the first item that may be kept. Default: after the system message, the summary and retained
   * items.
   */
  readonly from?: number | undefined;
  /** Default `estimateMessageTokens` of `sessile/estimate`. */
  readonly estimate?: MessageEstimator | undefined;
}

/** A cut of a context. */
interface CutPoint {
  /** Index of the first item that is kept. */
  readonly keepFrom: number;
  /** Index of the first item of the turn that the cut splits; absent if the cut is between turns. */
  readonly turnStart?: number;
}

/**
 * Finds the cut that keeps about `keepTokens` of a context. Walks back until the estimates reach
 * `keepTokens`, then takes the first cut point from there on; if there is none, the last cut point of the
 * context. If the context is smaller, takes the first cut point; if it has none, `from`.
 *
 * A cut point is a user, assistant or custom message, a command or a branch summary; never a tool result.
 * Reads only the kept items, so the time does not depend on the length of the history. The rules are pi
 * 1.5.2's, with two differences. Custom messages and branch summaries count at their own size, and a turn
 * that starts at the cut is not split.
 *
 * @example
 * ```ts
 * const { items } = await session.context();
 * const { keepFrom, turnStart } = findCutPoint(items, { keepTokens: 20_000 });
 * ```
 */
export function findCutPoint(items: readonly ContextItem[], options: CutPointOptions): CutPoint {
  const { keepTokens, estimate = estimateMessageTokens } = options;
  const from = options.from ?? headLength(items);
  const keepFrom = cutAt(items, from, keepTokens, estimate);
  const cut = items[keepFrom];
  if (cut === undefined || startsTurn(cut)) return { keepFrom };
  for (let at = keepFrom - 1; at >= from; at--) {
    if (startsTurn(items[at] as ContextItem)) return { keepFrom, turnStart: at };
  }
  return { keepFrom };
}

function cutAt(
  items: readonly ContextItem[],
  from: number,
  keepTokens: number,
  estimate: MessageEstimator,
): number {
  let kept = 0;
  /** The earliest cut point so far. */
  let cut: number | undefined;
  for (let at = items.length - 1; at >= from; at--) {
    const item = items[at] as ContextItem;
    if (isCutPoint(item)) cut = at;
    kept += estimate(item.message);
    if (kept < keepTokens) continue;
    if (cut !== undefined) return cut;
    const last = items.findLastIndex(isCutPoint);
    return Math.max(last, from);
  }
  return cut ?? from;
}

/**
 * The number of items that an earlier compaction made or retained: system message, summary, retained items.
 */
export function headLength(items: readonly ContextItem[]): number {
  let at = 0;
  while (at < items.length && isHead(items[at] as ContextItem)) at++;
  return at;
}

function isHead({ origin }: ContextItem): boolean {
  return origin === "system" || origin === "summary" || origin === "retained";
}

/**
 * Whether a kept tail may start with this item: not with a tool result, nor with an item that a compaction
 * makes.
 */
export function isCutPoint({ message }: ContextItem): boolean {
  switch (message.role) {
    case "user":
    case "assistant":
    case "bashExecution":
    case "custom":
    case "branchSummary":
      return true;
    default:
      return false;
  }
}

/** Whether a turn starts here: with a user message, a command of the user, or a message in their place. */
export function startsTurn(item: ContextItem): boolean {
  return isCutPoint(item) && item.message.role !== "assistant";
}

/** Index of the newest user message, or -1. */
export function newestUserIndex(items: readonly ContextItem[]): number {
  return items.findLastIndex(({ message }) => message.role === "user");
}

// Context edits: which of a strategy's are safe, which make the kept items fit, and how an item looks after
// one.

/** The edits by the entry that they change; the last edit of an entry wins. */
export function editsByTarget(edits: readonly ContextEditDraft[]): ReadonlyMap<string, ContextEditDraft> {
  return new Map(edits.map((edit) => [edit.targetId, edit]));
}

/** The item after an edit, as a session's context shows it; undefined if the edit removes it. */
function applyEdit(item: ContextItem, edit: ContextEditDraft | undefined): ContextItem | undefined {
  if (edit === undefined) return item;
  if (edit.replacement === null) return undefined;
  const { message } = item;
  if (!("content" in message) || message.role === "system") return item;
  return {
    ...item,
    message: { ...message, content: edit.replacement.content } as ContextMessage,
    edited: true,
  };
}

/** The items after the edits. */
export function applyEdits(
  items: readonly ContextItem[],
  edits: ReadonlyMap<string, ContextEditDraft>,
): readonly ContextItem[] {
  return items.flatMap((item) => applyEdit(item, edits.get(item.entryId)) ?? []);
}

/** An edit that replaces an entry's content. */
export function contentEdit(
  targetId: string,
  content: string | readonly (TextBlock | ImageBlock)[],
): ContextEditDraft {
  return { type: "context_edit", targetId, replacement: { content } };
}

/**
 * The choice's edits that keep the invariants. Edits of pinned entries and tool calls are dropped, and so are
 * edits that remove a tool result or the newest user message.
 */
export function safeEdits(
  { items, pins }: Context,
  { edits = [] }: CompactionChoice,
): ReadonlyMap<string, ContextEditDraft> {
  if (edits.length === 0) return new Map();
  const fixed = new Set(pins);
  const required = new Set([items[newestUserIndex(items)]?.entryId]);
  for (const { entryId, message } of items) {
    if (message.role === "assistant" && toolCalls(message).length > 0) fixed.add(entryId);
    if (message.role === "toolResult") required.add(entryId);
  }
  return editsByTarget(
    edits.filter(
      ({ targetId, replacement }) =>
        !fixed.has(targetId) && (replacement !== null || !required.has(targetId)),
    ),
  );
}

/**
 * The edits of the items that stay, those that make them fit into `room` included, and the tokens of the
 * result.
 */
export function editsOfKept(
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
    edits.set(targetId, { type: "context_edit", targetId, replacement: null });
  const kept = applyEdits(staying, edits);
  const tokens = readTokens(kept, estimate);
  const shrinking = shrinkingEdits(kept, new Set(pins), tokens, room, estimate);
  if (shrinking.length === 0) return { edits: [...edits.values()], tokens };
  for (const edit of shrinking) edits.set(edit.targetId, edit);
  return { edits: [...edits.values()], tokens: readTokens(applyEdits(staying, edits), estimate) };
}

/** The sum of the estimates of the items. */
export function readTokens(items: readonly ContextItem[], estimate: MessageEstimator): number {
  return items.reduce((sum, { message }) => sum + estimate(message), 0);
}

/** The tokens to which a tool result or a user message is truncated if the kept items do not fit. */
export const keptTextTokens = 2_000;

/**
 * Edits that shrink the kept items to `room` tokens. Truncates tool results to {@link keptTextTokens}, oldest
 * first, then user messages, and stops as soon as the items fit. Pinned items are not edited. The log keeps
 * the whole entries.
 */
export function shrinkingEdits(
  kept: readonly ContextItem[],
  pinned: ReadonlySet<string>,
  tokens: number,
  room: number,
  estimate: MessageEstimator,
): readonly ContextEditDraft[] {
  const edits: ContextEditDraft[] = [];
  let left = tokens;
  for (const role of ["toolResult", "user"] as const) {
    for (const { entryId, message } of kept) {
      if (left <= room) return edits;
      if (message.role !== role || pinned.has(entryId)) continue;
      const short = truncateMessage(message);
      if (short === message) continue;
      left -= estimate(message) - estimate(short);
      edits.push(contentEdit(entryId, short.content));
    }
  }
  return edits;
}

function truncateMessage<M extends UserMessage | ToolResultMessage>(message: M): M {
  const bound = { maxTokens: keptTextTokens };
  const { content } = message;
  if (typeof content === "string") {
    const text = truncateText(content, bound);
    return text === content ? message : { ...message, content: text };
  }
  const asResult: ToolResultMessage = {
    role: "toolResult",
    toolCallId: "",
    toolName: "",
    content,
    isError: false,
    timestamp: 0,
  };
  const short = truncateToolResult(asResult, bound);
  return short === asResult ? message : { ...message, content: short.content };
}

// The messages that a compaction makes anew instead of summarising them: initial context and system messages.

/** The `customType` of an entry of {@link initialContext}. */
const initialContextType = "sessile.initial_context";

/** The `customType` of a message that tells the model of a model switch. */
const modelSwitchType = "sessile.model_switch";

/** A custom message as an entry to append. */
type CustomMessageDraft = EntryDraft & { readonly type: "custom_message" };

/**
 * The entry for the initial context of a harness, such as instruction files and the environment. It is a
 * custom message with a type of its own, by which compactions recognise it.
 *
 * @example
 * ```ts
 * const context = await session.context();
 * if (!hasInitialContext(context)) await session.append([initialContext("AGENTS.md says: run the tests.")]);
 * ```
 */
export function initialContext(content: string | readonly (TextBlock | ImageBlock)[]): CustomMessageDraft {
  return { type: "custom_message", customType: initialContextType, content, display: false };
}

/**
 * Whether the context has its initial context. After a compaction with `mode: "defer"` it has none until the
 * next turn.
 */
export function hasInitialContext({ items }: Pick<Context, "items">): boolean {
  return items.some(isInitialContext);
}

/** Whether {@link initialContext} made the item. */
function isInitialContext({ message }: ContextItem): boolean {
  return message.role === "custom" && message.customType === initialContextType;
}

/** Whether the item tells the model of a model switch. */
export function isModelSwitch({ message }: ContextItem): boolean {
  return message.role === "custom" && message.customType === modelSwitchType;
}

/**
 * Whether a summary covers the item: system messages and initial context are made anew, and `skip` excludes
 * others.
 */
export function isSummarizable(item: ContextItem, skip: (item: ContextItem) => boolean): boolean {
  return item.message.role !== "system" && !isInitialContext(item) && !skip(item);
}

/**
 * The initial context to inject and its index in the retained items; undefined if the next turn injects it.
 */
export function planReinjection(
  items: readonly ContextItem[],
  retained: readonly number[],
  { initialContext, trigger }: ResolvedOptions,
): CompactionPlan["initialContext"] {
  if (initialContext === undefined) return undefined;
  const inTurn = trigger === "mid-turn" || trigger === "overflow";
  const mode = initialContext.mode ?? (inTurn ? "before-last-user" : "defer");
  if (mode === "defer") return undefined;
  const at = retained.indexOf(newestUserIndex(items));
  return { content: initialContext.content, at: at < 0 ? retained.length : at };
}

/** The injected content as a message, for estimates. */
export function toCustomMessage(content: Reinjection["content"]): CustomMessage {
  return { role: "custom", customType: "", content, display: false, timestamp: 0 };
}

/** Ids of initial contexts that would stay although they are replaced or already summarised. */
function outdatedInitialContexts(
  { items, pins }: Context,
  from: number,
  { initialContext }: ResolvedOptions,
): readonly string[] {
  const pinned = new Set(pins);
  const outdated: string[] = [];
  for (let at = 0; at < items.length; at++) {
    const item = items[at] as ContextItem;
    if (!isInitialContext(item) || pinned.has(item.entryId)) continue;
    // A retained one may lie in the range that is kept now.
    if (item.origin === "retained" || (at >= from && initialContext !== undefined))
      outdated.push(item.entryId);
  }
  return outdated;
}

/**
 * Folds the system messages of a context into one, because a compaction drops those of the range that it
 * summarises. Texts are in order without repetition, each section as its latest message has it, tools added
 * and not removed. Undefined if there is none.
 */
export function foldSystemMessages(items: readonly ContextItem[]): SystemMessage | undefined {
  const messages: SystemMessage[] = [];
  for (const { message } of items) if (message.role === "system") messages.push(message);
  const [first] = messages;
  if (first === undefined || messages.length === 1) return first;
  const content: TextBlock[] = [];
  const seen = new Set<string>();
  const sections = new Map<string, string>();
  let tools: readonly unknown[] = [];
  for (const message of messages) {
    const blocks =
      typeof message.content === "string"
        ? [{ type: "text" as const, text: message.content }]
        : message.content;
    for (const block of blocks) {
      // A harness that repeats its instructions at each start means them once.
      if (block.text === "" || seen.has(block.text)) continue;
      seen.add(block.text);
      content.push(block);
    }
    for (const [name, section] of Object.entries(message.sections ?? {})) {
      if (section === null) sections.delete(name);
      else sections.set(name, section);
    }
    tools = toolsAfter(tools, message);
  }
  return {
    role: "system",
    content,
    ...(sections.size === 0 ? {} : { sections: Object.fromEntries(sections) }),
    ...(tools.length === 0 ? {} : { toolsAdded: tools }),
    timestamp: (messages.at(-1) as SystemMessage).timestamp,
  };
}
