import type { ContextItem } from "../content/index.js";
import { estimateMessageTokens } from "../estimate/index.js";
import type { MessageEstimator } from "./strategy.js";

/** How {@link findCutPoint} cuts. */
export interface CutPointOptions {
  /** About how much is to be kept, in tokens. */
  readonly keepTokens: number;
  /** Index of the first item that may be kept. By default behind the system message, the summary and what was retained. */
  readonly from?: number;
  /** By default `estimateMessageTokens` of `sessile/estimate`. */
  readonly estimate?: MessageEstimator;
}

/** Where a context is cut. */
export interface CutPoint {
  /** Index of the first item that is kept. */
  readonly keepFrom: number;
  /** Where the turn began that is cut in two; absent where the cut is between turns. */
  readonly turnStart?: number;
}

/**
 * Where to cut a context so that about `keepTokens` of it are kept: the first item that may begin a context at or behind the
 * point at which that much is reached, counted from the end. If nothing behind the point may begin one, the last item that
 * may; if the context is smaller than that, the first; if no item may, `from`. A user's, an assistant's or a custom message, a
 * command or a branch summary may begin a context; a tool's result never does. Looks only at what is kept, so that it takes as
 * long for a short history as for a long one. The rules are pi 1.5.2's, but that custom messages and branch summaries count
 * for what they are, and that a turn which begins at the cut is not one that is cut in two.
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
  /** The earliest item behind the point that may begin a context. */
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
 * Where a context's own messages begin: behind its system message, its summary and what a compaction retained, all of which
 * were in a compaction's hands before.
 */
export function headLength(items: readonly ContextItem[]): number {
  let at = 0;
  while (at < items.length && isHead(items[at] as ContextItem)) at++;
  return at;
}

function isHead({ origin }: ContextItem): boolean {
  return origin === "system" || origin === "summary" || origin === "retained";
}

/** Whether a context may begin with this item: never with a tool's result, nor with what a compaction makes itself. */
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

/** Whether a turn begins here: a person, a command of a person's, or something in a person's place said something. */
export function startsTurn(item: ContextItem): boolean {
  return isCutPoint(item) && item.message.role !== "assistant";
}

/** The index of the newest message that a user wrote, or -1. */
export function newestUserIndex(items: readonly ContextItem[]): number {
  return items.findLastIndex(({ message }) => message.role === "user");
}
