/** Where a context may be cut, and where its turns start. */

import { estimateMessageTokens } from "../content/estimate/index.js";
import type { ContextItem } from "../content/index.js";
import type { MessageEstimator } from "./strategy.js";

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
export interface CutPoint {
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
