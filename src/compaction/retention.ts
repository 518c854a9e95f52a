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

/** What of a context stays, by index. */
export interface Retention {
  /** Everything from here on stays where it is. */
  readonly from: number;
  /** Earlier items that stay, in order. */
  readonly retained: readonly number[];
}

/**
 * What stays of a context besides what a strategy chose: pinned items, the newest message of the user, calls that wait for
 * their results, results that no model has seen yet, and to every call or result that stays its other half. A summary, system
 * messages and initial context are made anew, and are never among them.
 *
 * @param isMinimal results that no model has seen go too; the model can make the calls again
 */
export function retainedItems(
  context: Context,
  { keepFrom, retain = [] }: Pick<CompactionChoice, "keepFrom" | "retain">,
  isMinimal: boolean,
): Retention {
  const { items, pins } = context;
  const head = headLength(items);
  const wanted = new Set([...retain, ...pins]);
  // Where a strategy would keep part of the head, that part stays as retained items do.
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

/** An item that can stand between a summary and what follows. */
function isRetainable(item: ContextItem, pinned: ReadonlySet<string>): boolean {
  const { role } = item.message;
  if (role === "system" || role === "compactionSummary") return false;
  return !isInitialContext(item) || pinned.has(item.entryId);
}

/** The last assistant message where nobody spoke since and it calls tools, only where one has no result yet if `isMinimal`; or -1. */
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

/** The chosen indexes, and those before `from` that are the other half of a pair which stays; in order, each once. */
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

/** Whether what stays has a result whose call does not. */
function hasOrphans(items: readonly ContextItem[], from: number): boolean {
  const messages = items.slice(from).map(({ message }) => message);
  return toolPairs(messages).orphans.length > 0;
}

function addOtherHalves(items: readonly ContextItem[], from: number, kept: Set<number>): void {
  const { pairs } = toolPairs(items.map(({ message }) => message));
  const resultsOf = new Map<number, number[]>();
  for (const { callAt, resultAt } of pairs) {
    if (resultAt === undefined) continue;
    const results = resultsOf.get(callAt);
    if (results === undefined) resultsOf.set(callAt, [resultAt]);
    else results.push(resultAt);
  }
  const stays = (at: number) => at >= from || kept.has(at);
  // A call brings its results, and a result its call, which brings its other results.
  for (const [callAt, results] of resultsOf) {
    if (!stays(callAt) && !results.some(stays)) continue;
    for (const at of [callAt, ...results]) if (at < from) kept.add(at);
  }
}

/**
 * The items that a compaction covers, for its file ledger: a call that stays and has no result among them is left to the next
 * ledger, which sees what became of it.
 */
export function itemsForLedger(
  items: readonly ContextItem[],
  from: number,
  retained: readonly number[],
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
