import type { Context } from "../../content/index.js";
import type { SessionEntry, UnknownEntry } from "../entries.js";
import { noRow } from "../tree/rows.js";
import { rowOf, type SessionTree, treeRows } from "../tree/tree.js";
import { contextSteps, runSteps } from "./steps.js";

/** What {@link buildSessionContext} needs of a session: its tree, its leaf, and its entries in memory. */
export interface ContextSource {
  readonly tree: SessionTree;
  readonly leafId: string | null;
  /** The entry with this id, or undefined. */
  entry(id: string): SessionEntry | UnknownEntry | undefined;
}

/**
 * What a model is to see next, from the root to a leaf: the latest compaction's system message and summary, what it
 * retained, the messages from its first kept entry on, branch summaries and custom messages among them, each as the
 * latest context edit on the path leaves it. Model and thinking level are those in force at the leaf. An entry whose
 * body cannot be read is left out.
 *
 * @param leafId where to end; the session's leaf if absent, and an empty context for null
 * @throws SessileError ENTRY_NOT_FOUND
 * @example
 * ```ts
 * const { items, model } = buildSessionContext(parseSession(bytes));
 * ```
 */
export function buildSessionContext(session: ContextSource, leafId: string | null = session.leafId): Context {
  const rows = treeRows(session.tree);
  const leaf = leafId === null ? noRow : rowOf(rows, leafId);
  return runSteps(contextSteps(rows, leaf), (row) => session.entry(rows.id(row)));
}
