import { type ContextItem, resourceOf, toolCalls, toolPairs } from "../../content/index.js";
import { SessileError } from "../../errors/index.js";
import { describe } from "../../internal/arguments.js";
import type { EntryDraft, SessionEntry, UnknownEntry } from "../api/entries.js";
import type { AppendOptions } from "../api/types.js";
import { contextAt, type EntryRequests } from "../context/build-context.js";
import { itemOf } from "../context/context-items.js";
import { references } from "../format/entry-types.js";
import { type EntryTable, noRow, parseKind } from "../tree/entry-table.js";
import { entryTableOf } from "../tree/session-tree.js";
import { metadata } from "./conversation.js";
import type { RemoteChanges, SessionState } from "./session-state.js";
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
export function checkAppend(drafts: readonly EntryDraft[], options: AppendOptions): void {
  const { conflict = "reject", signal, after } = options;
  if (!conflicts.has(conflict)) {
    const known = Array.from(conflicts, (name) => JSON.stringify(name)).join(", ");
    throw new TypeError(`conflict: expected one of ${known}, got ${String(conflict)}`);
  }
  if (!Array.isArray(drafts)) throw new TypeError("drafts: expected an array of entry drafts");
  signal?.throwIfAborted();
  if (conflict === "follow" && drafts.some((draft) => draft?.type === "leaf"))
    throw new TypeError('conflict: "follow" cannot go with a leaf entry, which has its own place');
  if (conflict !== "rebase") return;
  if (drafts.some((draft) => !metadata.has(draft.type))) {
    throw new TypeError('conflict: "rebase" is for label, session_info and usage entries');
  }
  if (after !== undefined) throw new TypeError('after: cannot go with conflict "rebase"');
}

const maxListed = 100;
const maxNamed = 3;
const byMetadata = '(a label, session_info or usage: "rebase")';

/** The error of a conflict: who appended what, both leaves, and the remedy. */
export function conflictError(
  cause: SessileError<"CONCURRENT_WRITER">,
  { rows: added, restarted }: RemoteChanges,
  core: SessionState,
): SessileError<"CONCURRENT_WRITER"> {
  const rows = entryTableOf(core.reader.tree);
  const leafId = core.others === undefined ? core.reader.leafId : core.others.leafId;
  const entries = added.slice(-maxListed).map((row) => rowSummary(row, rows));
  const { holder } = cause.details;
  const details = {
    expected: core.leafId ?? "none",
    actual: leafId ?? "none",
    leafId,
    added: added.length,
    entries,
    entryIds: entries.map(({ id }) => id),
    ...(holder === undefined ? {} : { holder }),
  };
  const session = `session ${shown(core.header.id)}`;
  if (restarted) {
    const message = `another program replaced the log of ${session}, which was read again; its leaf is ${shown(leafId)}. Nothing was written: check the session's context and append again`;
    return new SessileError("CONCURRENT_WRITER", message, { cause, details });
  }
  const who = holder === undefined ? "another process or handle" : `process ${holder.pid} on ${holder.host}`;
  const named = added.slice(0, maxNamed).map((row) => describeEntry(rowSummary(row, rows)));
  const more = added.length > maxNamed ? ` and ${added.length - maxNamed} more` : "";
  const count = added.length === 1 ? "1 entry" : `${added.length} entries`;
  const leaves = `its leaf is ${shown(leafId)}, this handle's is ${shown(core.leafId)}`;
  const remedy = `append again with conflict "branch" or "follow" ${byMetadata}, or call branch(details.leafId) first`;
  const message = `${who} appended ${count} to ${session} first: ${named.join(", ")}${more}; ${leaves}. Nothing was written: ${remedy}`;
  return new SessileError("CONCURRENT_WRITER", message, { cause, details });
}

/** The reason why drafts cannot follow another writer's entries. */
export type FollowProblem = "pendingCall" | "lostCall" | "lostReference";

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
    `the entries cannot move from behind ${shown(from)} to behind another writer's ${shown(to)}: ${reason}. Nothing was written: ${remedy}`,
    {
      details: { expected: from ?? "none", actual: to ?? "none", leafId: to, entryIds: [], reason: problem },
    },
  );
}

/** The original and the new place of drafts. */
export interface Move {
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
  const rowOf = (id: string | null) => (id === null ? noRow : rows.row(id));
  const own = itemsOf(entries);
  const bodyOf = yield between;
  const here = [...(yield* contextAt(rows, rowOf(from))).items, ...itemsOf(between.map(bodyOf))];
  const there = (yield* contextAt(rows, rowOf(to))).items;
  if (cutsPair(there, own)) return "pendingCall";
  const calledHere = callsOf(here, own);
  const calledThere = callsOf(there, own);
  // A result that finds its call there loses nothing.
  const loses = (before: string | undefined, after: string | undefined) =>
    before !== undefined && before !== after;
  if (own.some(({ entryId }) => loses(calledHere.get(entryId), calledThere.get(entryId)))) return "lostCall";
  const started = entries.flatMap((entry) => toolStarted.read(entry)?.toolCallId ?? []);
  if (started.some((id) => loses(callerOf(id, [...here, ...own]), callerOf(id, [...there, ...own]))))
    return "lostCall";
  const pathHere = new Set([...rows.path(rowOf(from)), ...between]);
  const pathThere = new Set(rows.path(rowOf(to)));
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

function itemsOf(entries: readonly (SessionEntry | UnknownEntry | undefined)[]): readonly ContextItem[] {
  return entries.flatMap((entry) => (entry && itemOf(entry, new Set())) ?? []);
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
function callsOf(
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

function callerOf(toolCallId: string, items: readonly ContextItem[]): string | undefined {
  const has = ({ message }: ContextItem) =>
    message.role === "assistant" && toolCalls(message).some(({ id }) => id === toolCallId);
  return items.findLast(has)?.entryId;
}

function hasResource(resourceId: string, items: readonly ContextItem[]): boolean {
  return items.some(
    ({ message }) =>
      "content" in message &&
      Array.isArray(message.content) &&
      message.content.some((block) => resourceOf(block)?.resourceId === resourceId),
  );
}

function rowSummary(row: number, rows: EntryTable) {
  const [type, role] = parseKind(rows.kind(row));
  return { id: rows.id(row), type, ...(role === undefined ? {} : { role }) };
}

function describeEntry({ id, type, role }: ReturnType<typeof rowSummary>): string {
  return `${role === undefined ? shown(type) : `${shown(role)} message`} ${shown(id)}`;
}

/** An id or a type of a log, which another program wrote, for an error message. */
function shown(text: string | null): string {
  if (text === null) return "none";
  return /^[\w.-]{1,64}$/.test(text) ? text : JSON.stringify(text.slice(0, 64));
}

/** Throws CONCURRENT_WRITER if an append must follow another entry than the leaf; null is before the first. */
export function assertFollows(after: string | null, actual: string | null): void {
  if (after === actual) return;
  if (after !== null && typeof after !== "string") {
    throw new TypeError(`after: expected an entry id or null, got ${describe(after)}`);
  }
  const wanted = after === null ? "no entry (after: null)" : shown(after);
  const message = `the append must follow ${wanted}, but the leaf is ${shown(actual)}. Nothing was written: make the entries for the leaf, or move it by branch()`;
  const details = { expected: after ?? "none", actual: actual ?? "none" };
  throw new SessileError("CONCURRENT_WRITER", message, { details });
}
