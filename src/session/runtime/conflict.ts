/** Conflicts between writers: the checked options of an append, and the errors. */

import { describe } from "../../core/arguments.js";
import { SessileError } from "../../core/errors/index.js";
import type { EntryDraft } from "../../log/internal.js";
import type { AppendOptions } from "../api/session.js";
import { type EntryTable, parseKind, type SessionTree, treeRows } from "../tree/session-tree.js";
import { isSameConversation, metadata, type RemoteChanges } from "./conversation.js";
import type { SessionState } from "./session-state.js";

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
export function printId(text: string | null): string {
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
