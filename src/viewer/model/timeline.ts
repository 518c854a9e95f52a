/** The timeline of a branch: tokens in context, costs, compactions and errors by turn of the model. */

import type { AssistantMessage, Usage } from "../../content/index.js";
import { type ModelPrice, usageCost } from "../../providers/cost/index.js";
import type { Row } from "./rows.js";

/** One reply of a model. */
export interface TimelinePoint {
  readonly entryId: string;
  /** Index among the rows of the conversation. */
  readonly row: number;
  /** Tokens of the request; undefined if the reply reports none. */
  readonly context: number | undefined;
  /** The part of `context` that came from a cache. */
  readonly cached: number;
  readonly output: number;
  /** US dollars; undefined without a price. */
  readonly cost: number | undefined;
  readonly failed: boolean;
  /** Calls of tools that failed. */
  readonly failedCalls: number;
}

/** A compaction, before the point with that index. */
export interface TimelineCompaction {
  readonly entryId: string;
  readonly point: number;
  readonly tokensBefore: number;
}

/** The content of a timeline. */
export interface Timeline {
  readonly points: readonly TimelinePoint[];
  readonly compactions: readonly TimelineCompaction[];
  readonly maxContext: number;
  /** Of the branch; replies without a price count nothing. */
  readonly cost: number;
  readonly maxCost: number;
}

/** The timeline of a conversation's rows. */
export function rowTimeline(rows: readonly Row[], prices?: readonly ModelPrice[]): Timeline {
  const points: TimelinePoint[] = [];
  const compactions: TimelineCompaction[] = [];
  rows.forEach((row, at) => {
    if (row.kind === "compaction") {
      const { tokensBefore } = row.entry;
      compactions.push({ entryId: row.id, point: points.length, tokensBefore });
    }
    if (row.kind !== "assistant") return;
    const { message, calls } = row;
    const { usage, stopReason } = message;
    points.push({
      entryId: row.id,
      row: at,
      context: contextTokens(usage),
      cached: usage?.cacheRead ?? 0,
      output: usage?.output ?? 0,
      cost: costOfReply(message, prices),
      failed: stopReason === "error",
      failedCalls: calls.filter(({ state }) => state === "failed").length,
    });
  });
  const costs = points.map(({ cost }) => cost ?? 0);
  return {
    points,
    compactions,
    maxContext: points.reduce((most, { context = 0 }) => Math.max(most, context), 0),
    cost: costs.reduce((sum, cost) => sum + cost, 0),
    maxCost: costs.reduce((most, cost) => Math.max(most, cost), 0),
  };
}

/** The tokens of a reply's request; undefined if it reports none, as a failed one. */
export function contextTokens(usage: Usage | undefined): number | undefined {
  if (usage === undefined) return undefined;
  const tokens = usage.input + usage.cacheRead + usage.cacheWrite;
  return Number.isFinite(tokens) && tokens > 0 ? tokens : undefined;
}

/** The cost of a reply: the recorded one, else by the price of its model. */
export function costOfReply(message: AssistantMessage, prices?: readonly ModelPrice[]): number | undefined {
  const { usage } = message;
  if (usage === undefined) return undefined;
  const recorded = usage.cost?.total;
  if (prices === undefined && recorded !== undefined && recorded > 0) return recorded;
  const priced = usageCost(usage, message, prices === undefined ? {} : { prices });
  return priced?.total ?? (recorded !== undefined && recorded > 0 ? recorded : undefined);
}

/** Groups points into at most so many columns, each with the largest context of its points. */
export function timelineColumns(
  points: readonly TimelinePoint[],
  most: number,
): readonly { readonly from: number; readonly points: readonly TimelinePoint[] }[] {
  const each = Math.max(1, Math.ceil(points.length / most));
  const count = Math.ceil(points.length / each);
  return Array.from({ length: count }, (_, at) => ({
    from: at * each,
    points: points.slice(at * each, (at + 1) * each),
  }));
}
