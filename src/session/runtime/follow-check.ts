/** `conflict: "follow"`: whether entries that were made for one place can go after another writer's entries. */

import { type ContextItem, toolCalls, toolPairs } from "../../content/index.js";
import { blockResources } from "../../content/internal.js";
import { SessileError } from "../../core/errors/index.js";
import { references, type SessionEntry, type UnknownEntry } from "../../log/internal.js";
import { contextAt, type EntryRequests } from "../context/build-context.js";
import { entryItem } from "../context/context-items.js";
import { type EntryTable, noRow } from "../tree/session-tree.js";
import { printId } from "./conflict.js";
import { toolStarted } from "./turn-settings.js";

/** The place that appends were made for, if the one before them went to another place. */
export interface Made {
  readonly from: string | null;
  /** Ids of the entries between `from` and the append. */
  readonly between: readonly string[];
}

/** The reason why drafts cannot follow another writer's entries. */
type FollowProblem = "pendingCall" | "lostCall" | "lostReference";

const branch = 'append again with conflict "branch"';

const followProblems: Readonly<Record<FollowProblem, { readonly reason: string; readonly remedy: string }>> =
  {
    pendingCall: {
      reason: "a tool call there has no result yet",
      remedy: `${branch}, or with "follow" once the result is there`,
    },
    lostCall: { reason: "a tool result would lose its call", remedy: branch },
    lostReference: { reason: "an entry or resource that they name is not on that path", remedy: branch },
  };

/** The error for drafts that cannot follow another writer's entries. */
export function followError(
  problem: FollowProblem,
  from: string | null,
  to: string | null,
): SessileError<"CONCURRENT_WRITER"> {
  const { reason, remedy } = followProblems[problem];
  return new SessileError(
    "CONCURRENT_WRITER",
    `the entries cannot move from behind ${printId(from)} to behind another writer's ${printId(to)}: ` +
      `${reason}. Nothing was written: ${remedy}`,
    {
      details: { expected: from ?? "none", actual: to ?? "none", leafId: to, entryIds: [], reason: problem },
    },
  );
}

/** The original and the new place of drafts. */
interface Move {
  readonly from: string | null;
  /** Rows of entries between `from` and the drafts. */
  readonly between: readonly number[];
  readonly to: string | null;
}

/**
 * The reason why entries made for one place cannot move to another; undefined if they can. A tool result
 * needs its call, only results may be between calls and results, and references must be on the path.
 */
export function* followProblem(
  rows: EntryTable,
  { from, between, to }: Move,
  entries: readonly SessionEntry[],
): EntryRequests<FollowProblem | undefined> {
  const readRow = (id: string | null) => (id === null ? noRow : rows.row(id));
  const own = entryItems(entries);
  const readBody = yield between;
  const here = [...(yield* contextAt(rows, readRow(from))).items, ...entryItems(between.map(readBody))];
  const there = (yield* contextAt(rows, readRow(to))).items;
  if (cutsPair(there, own)) return "pendingCall";
  const calledHere = contextCalls(here, own);
  const calledThere = contextCalls(there, own);
  // A result that finds its call there loses nothing.
  const loses = (before: string | undefined, after: string | undefined) =>
    before !== undefined && before !== after;
  if (own.some(({ entryId }) => loses(calledHere.get(entryId), calledThere.get(entryId)))) return "lostCall";
  const started = entries.flatMap((entry) => toolStarted.read(entry)?.toolCallId ?? []);
  if (
    started.some((id) =>
      loses(callerByToolCallId(id, [...here, ...own]), callerByToolCallId(id, [...there, ...own])),
    )
  )
    return "lostCall";
  const pathHere = new Set([...rows.path(readRow(from)), ...between]);
  const pathThere = new Set(rows.path(readRow(to)));
  const losesEntry = (id: string) => pathHere.has(rows.row(id)) && !pathThere.has(rows.row(id));
  const losesResource = (id: string) => hasResource(id, here) && !hasResource(id, [...there, ...own]);
  const isLost = entries.some((entry) => {
    if (entry.type === "resource_view" || entry.type === "resource_observation")
      return losesResource(entry.resourceId);
    return (
      entry.type !== "label" && references(entry).some(([, id]) => typeof id === "string" && losesEntry(id))
    );
  });
  return isLost ? "lostReference" : undefined;
}

function entryItems(entries: readonly (SessionEntry | UnknownEntry | undefined)[]): readonly ContextItem[] {
  return entries.flatMap((entry) => (entry && entryItem(entry, new Set())) ?? []);
}

/** Whether items would separate the last calls of a context from their results. */
function cutsPair(context: readonly ContextItem[], items: readonly ContextItem[]): boolean {
  const last = context.findLastIndex(({ message }) => message.role !== "toolResult");
  const asked = context[last]?.message;
  if (asked?.role !== "assistant" || asked.stopReason === "aborted" || asked.stopReason === "error")
    return false;
  const cut = items.findIndex(({ message }) => message.role !== "toolResult");
  if (cut < 0) return false;
  const before = [...context, ...items.slice(0, cut)].map(({ message }) => message);
  return toolPairs(before).pairs.some(({ callAt, result }) => callAt === last && result === undefined);
}

/** The entry with the call of each tool result among these items, by the result's entry. */
function contextCalls(
  context: readonly ContextItem[],
  items: readonly ContextItem[],
): ReadonlyMap<string, string> {
  const all = [...context, ...items];
  const { pairs } = toolPairs(all.map(({ message }) => message));
  return new Map(
    pairs.flatMap(({ callAt, resultAt }) =>
      resultAt === undefined || resultAt < context.length
        ? []
        : [[(all[resultAt] as ContextItem).entryId, (all[callAt] as ContextItem).entryId] as const],
    ),
  );
}

function callerByToolCallId(toolCallId: string, items: readonly ContextItem[]): string | undefined {
  const has = ({ message }: ContextItem) =>
    message.role === "assistant" && toolCalls(message).some(({ id }) => id === toolCallId);
  return items.findLast(has)?.entryId;
}

function hasResource(resourceId: string, items: readonly ContextItem[]): boolean {
  return items.some(
    ({ message }) =>
      "content" in message &&
      Array.isArray(message.content) &&
      message.content.some((block) =>
        blockResources(block).some((resource) => resource.resourceId === resourceId),
      ),
  );
}
