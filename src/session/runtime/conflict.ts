/**
 * Conflicts between writers: the options and errors of an append, and whether its entries can go after those
 * of another.
 */

import { type ContextItem, toolCalls, toolPairs } from "../../content/index.js";
import { blockResources } from "../../content/internal.js";
import { describe } from "../../core/arguments.js";
import { SessileError } from "../../core/errors/index.js";
import { type EntryDraft, references, type SessionEntry, type UnknownEntry } from "../../log/internal.js";
import type { AppendOptions } from "../api/session.js";
import { contextAt, type EntryRequests } from "../context/build-context.js";
import { entryItem } from "../context/context-items.js";
import {
  type EntryTable,
  isSameConversation,
  metadata,
  noRow,
  parseKind,
  type RemoteChanges,
  type SessionTree,
  treeRows,
} from "../tree/session-tree.js";
import type { SessionState } from "./session-state.js";
import { toolStarted } from "./turn-settings.js";

/** The conflict mode of an append; see {@link AppendOptions.conflict}. */
export type Conflict = NonNullable<AppendOptions["conflict"]>;

const conflicts: ReadonlySet<unknown> = new Set([
  "reject",
  "rebase",
  "branch",
  "follow",
] satisfies Conflict[]);

/** Throws for invalid options of an append, and for an aborted signal. */
export function checkAppendOptions(drafts: readonly EntryDraft[], options: AppendOptions): void {
  const { conflict = "reject", signal, after } = options;
  if (!conflicts.has(conflict)) {
    const known = Array.from(conflicts, (name) => JSON.stringify(name)).join(", ");
    throw new TypeError(`conflict: expected one of ${known}, got ${String(conflict)}`);
  }
  if (!Array.isArray(drafts))
    throw new TypeError(`drafts: expected an array of entry drafts, got ${describe(drafts)}`);
  signal?.throwIfAborted();
  if (conflict === "follow" && drafts.some((draft) => draft?.type === "leaf"))
    throw new TypeError('conflict: "follow" cannot go with a leaf entry, which has its own place');
  if (conflict !== "rebase") return;
  if (drafts.some((draft) => !metadata.has(draft.type))) {
    throw new TypeError('conflict: expected label, session_info and usage entries alone with "rebase"');
  }
  if (after !== undefined) throw new TypeError('after: cannot go with conflict "rebase"');
}

const maxListed = 100;
const maxNamed = 3;
const remedy =
  'append again with conflict "branch" or "follow" (a label, session_info or usage: "rebase"), ' +
  "or call branch(details.leafId) first";

/** The error of a conflict: the other writer, its entries, both leaves, and the remedy. */
export function conflictError(
  cause: SessileError<"CONCURRENT_WRITER">,
  { rows: added, restarted }: RemoteChanges,
  state: SessionState,
): SessileError<"CONCURRENT_WRITER"> {
  const rows = treeRows(state.reader.tree);
  const leafId = state.others === undefined ? state.reader.leafId : state.others.leafId;
  const entries = added.slice(-maxListed).map((row) => rowSummary(row, rows));
  const { holder } = cause.details;
  const details = {
    expected: state.leafId ?? "none",
    actual: leafId ?? "none",
    leafId,
    added: added.length,
    entries,
    entryIds: entries.map(({ id }) => id),
    ...(holder === undefined ? {} : { holder }),
  };
  const session = `session ${printId(state.header.id)}`;
  if (restarted) {
    const what = `another program replaced the log of ${session}, which was read again`;
    const remedy = "check the session's context and append again";
    const message = `${what}; its leaf is ${printId(leafId)}. Nothing was written: ${remedy}`;
    return new SessileError("CONCURRENT_WRITER", message, { cause, details });
  }
  const who = holder === undefined ? "another process or handle" : `process ${holder.pid} on ${holder.host}`;
  const named = added.slice(0, maxNamed).map((row) => describeEntry(rowSummary(row, rows)));
  const more = added.length > maxNamed ? ` and ${added.length - maxNamed} more` : "";
  const count = added.length === 1 ? "1 entry" : `${added.length} entries`;
  const leaves = `its leaf is ${printId(leafId)}, this handle's is ${printId(state.leafId)}`;
  const listed = `${named.join(", ")}${more}`;
  const what = `${who} appended ${count} to ${session} first: ${listed}; ${leaves}`;
  const message = `${what}. Nothing was written: ${remedy}`;
  return new SessileError("CONCURRENT_WRITER", message, { cause, details });
}

function rowSummary(row: number, rows: EntryTable) {
  const [type, role] = parseKind(rows.kind(row));
  return { id: rows.id(row), type, ...(role === undefined ? {} : { role }) };
}

function describeEntry({ id, type, role }: ReturnType<typeof rowSummary>): string {
  return `${role === undefined ? printId(type) : `${printId(role)} message`} ${printId(id)}`;
}

/** Prints an id or type from a log, which may be any text, for an error message. */
function printId(text: string | null): string {
  if (text === null) return "none";
  return /^[\w.-]{1,64}$/.test(text) ? text : JSON.stringify(text.slice(0, 64));
}

/**
 * Throws CONCURRENT_WRITER if the leaf is not `after`, or metadata after it; null is before the first entry.
 *
 * @param actual the leaf; undefined if it is an entry that waits and has no id yet
 */
export function assertFollows(
  after: string | null,
  actual: string | null | undefined,
  tree: SessionTree,
): void {
  if (after === actual) return;
  const isKnown = (id: string | null | undefined): id is string | null =>
    id === null || (typeof id === "string" && tree.has(id));
  if (isKnown(after) && isKnown(actual) && isSameConversation(after, actual, tree)) return;
  if (after !== null && typeof after !== "string") {
    throw new TypeError(`after: expected an entry id or null, got ${describe(after)}`);
  }
  const wanted = after === null ? "no entry (after: null)" : printId(after);
  const leaf = actual === undefined ? "an entry that waits to be written" : printId(actual);
  const what = `the append must follow ${wanted}, but the leaf is ${leaf}`;
  const message = `${what}. Nothing was written: make the entries for the leaf, or move it by branch()`;
  const details = { expected: after ?? "none", actual: actual === undefined ? "queued" : (actual ?? "none") };
  throw new SessileError("CONCURRENT_WRITER", message, { details });
}

// `conflict: "follow"`: whether entries that were made for one place can go after another writer's entries.

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
