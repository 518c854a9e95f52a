/** Which items of a context stay after a compaction. */
import {
  type Context,
  type ContextItem,
  type ContextMessage,
  toolCalls,
  toolPairs,
} from "../content/index.js";
import { headLength, newestUserIndex } from "./cut-point.js";
import { isInitialContext } from "./initial-context.js";
import type { CompactionChoice } from "./strategy.js";

/** The items of a context that stay, by index. */
export interface Retention {
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
