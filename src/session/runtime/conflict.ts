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
import type { News, SessionCore } from "./session-state.js";
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

const maxIds = 100;
const maxNamed = 3;

/** The error of a conflict: the other writer's entries, and both leaves. */
export function conflictError(
  cause: SessileError<"CONCURRENT_WRITER">,
  news: News,
  core: SessionCore,
): SessileError<"CONCURRENT_WRITER"> {
  const { id } = core.header;
  const rows = entryTableOf(core.reader.tree);
  const leafId = core.others === undefined ? core.reader.leafId : core.others.leafId;
  const count = news.rows.length;
  const named = news.rows.slice(0, maxNamed).map((row) => describeRow(row, rows));
  const what = news.restarted
    ? "another program replaced the log"
    : `another writer added ${count} ${count === 1 ? "entry" : "entries"} first (${[...named, ...(count > maxNamed ? ["…"] : [])].join(", ")})`;
  return new SessileError(
    "CONCURRENT_WRITER",
    `session ${shown(id)}: ${what}; the other's leaf is ${shown(leafId)}, this handle's is ${shown(core.leafId)}; nothing was written`,
    {
      cause,
      details: { ...cause.details, leafId, entryIds: news.rows.slice(-maxIds).map((row) => rows.id(row)) },
    },
  );
}

/** The reason why drafts cannot follow another writer's entries. */
export type FollowProblem = "pendingCall" | "lostCall" | "lostReference";

const problems: Readonly<Record<FollowProblem, string>> = {
  pendingCall: "a tool call of the other still waits for its result",
  lostCall: "a tool result would lose its call",
  lostReference: "an entry or resource that they name is not on the other's path",
};

/** The error for drafts that cannot follow another writer's entries. */
export function followError(
  problem: FollowProblem,
  from: string | null,
  to: string | null,
): SessileError<"CONCURRENT_WRITER"> {
  return new SessileError(
    "CONCURRENT_WRITER",
    `the entries cannot be moved from ${shown(from)} to behind another writer's ${shown(to)}: ${problems[problem]}; nothing was written`,
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

function describeRow(row: number, rows: EntryTable): string {
  const [type, role] = parseKind(rows.kind(row));
  return `${role === undefined ? shown(type) : `${shown(role)} message`} ${shown(rows.id(row))}`;
}

/** An id or a type of a log, which another program wrote, for an error message. */
function shown(text: string | null): string {
  if (text === null) return "none";
  return /^[\w.-]{1,64}$/.test(text) ? text : JSON.stringify(text.slice(0, 64));
}

/** Throws CONCURRENT_WRITER where an append that is to follow `after` would follow another entry; null is before the first. */
export function assertFollows(after: string | null, actual: string | null): void {
  if (after === actual) return;
  if (after !== null && typeof after !== "string") {
    throw new TypeError(`after: expected an entry id or null, got ${describe(after)}`);
  }
  const details = { expected: after ?? "none", actual: actual ?? "none" };
  const message = `the append is to follow ${details.expected}, and the leaf is ${details.actual}`;
  throw new SessileError("CONCURRENT_WRITER", message, { details });
}
