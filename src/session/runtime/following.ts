import type { SessionEntry } from "../api/entries.js";
import { noRow } from "../tree/entry-table.js";
import { entryTableOf } from "../tree/session-tree.js";
import type { Moved, MoveParent, PlacedEntry, Request } from "./batch.js";
import { followError, followProblem } from "./conflict.js";
import { isOnPath } from "./conversation.js";
import type { SessionState } from "./session-state.js";

/**
 * Places appends with `conflict: "follow"` behind other writers' entries, and checks the appends queued
 * behind them.
 */
export class Following {
  readonly #core: SessionState;
  /** The original place of the current batch; undefined if it stays there. */
  #moved: Moved | undefined;

  /** Entries of rebases on another writer's branch, with this handle's leaf at that time. */
  readonly #strayed = new Map<string, string | null>();

  constructor(core: SessionState) {
    this.#core = core;
  }

  /** Resets after a failed batch. */
  reset(): void {
    this.#moved = undefined;
  }

  /**
   * The parents of a group that moves to another place, or follows a moved entry; undefined if it stays.
   * Reduces such a group to its first append, so that an append that cannot move fails alone.
   * @throws SessileError CONCURRENT_WRITER with a `reason`
   */
  async parents(
    group: Request[],
    staged: readonly PlacedEntry[],
    putBack: (rest: readonly Request[]) => void,
  ): Promise<MoveParent | undefined> {
    const core = this.#core;
    const { tree } = core.reader;
    const { others } = core;
    const [request] = group as [Request];
    const { conflict } = request;
    if (conflict === "branch") return this.#ownBranch();
    const follows = conflict === "follow";
    const isMoved = group.some(({ moved }) => moved !== undefined);
    if (!isMoved && this.#moved === undefined && (others === undefined || !follows)) {
      return conflict === "rebase" ? undefined : this.#ownBranch();
    }
    const rows = entryTableOf(tree);
    const entries = [...staged.map(({ entry }) => entry), ...request.entries];
    const isWritten = (row: number) => row !== noRow && rows.line(row) !== undefined;
    const unwritten = entries.filter(
      (entry): entry is SessionEntry => entry !== undefined && !isWritten(rows.row(entry.id)),
    );
    const parent = unwritten[0]?.parentId;
    if (parent === undefined) return undefined;
    const goes = others !== undefined && follows && !isOnPath(others.leafId, parent, tree);
    if (!goes && !isMoved && this.#moved === undefined) return undefined;
    if (group.length > 1) putBack(group.splice(1));
    const made = this.#moved ?? request.moved ?? (goes ? { from: parent, between: [] } : undefined);
    if (made === undefined) return undefined;
    const to = goes ? others.leafId : parent;
    const between = made.between.map((id) => rows.row(id)).filter((row) => row !== noRow);
    const steps = followProblem(rows, { from: made.from, between, to }, unwritten);
    const problem = await core.run(steps);
    if (problem !== undefined) {
      // The state may be stale: the awaited result may be there by now.
      const news = goes ? await core.readRemoteChanges() : undefined;
      if (news === undefined || news.restarted || news.rows.length === 0)
        throw followError(problem, made.from, to);
      return this.parents(group, staged, putBack);
    }
    this.#moved = made;
    return (parentId) => (parentId === parent ? to : parentId);
  }

  /**
   * Maps the parents of requests behind a rebase that went to another writer's branch back to this handle's
   * branch.
   */
  #ownBranch(): MoveParent | undefined {
    if (this.#strayed.size === 0) return undefined;
    return (parentId) => (parentId === null ? null : (this.#strayed.get(parentId) ?? parentId));
  }

  /**
   * Records the entries of a rebase that went to another writer's branch. Requests queued behind it, other than
   * rebases, follow this handle's leaf instead.
   */
  stray(entries: readonly SessionEntry[]): void {
    for (const { id } of entries) this.#strayed.set(id, this.#core.leafId);
  }

  /** Marks requests queued behind a moved group: they were made for another place too. */
  tell(group: readonly Request[], waiting: readonly Request[]): void {
    if (waiting.length === 0) this.#strayed.clear();
    if (this.#moved === undefined) return;
    const { from, between } = this.#moved;
    this.#moved = undefined;
    const own = group.flatMap(({ entries }) => entries.map((entry) => (entry as SessionEntry).id));
    const ids = new Set(own);
    const moved: Moved = { from, between: [...between, ...own] };
    for (const request of waiting) {
      const follows = request.entries.some(
        (entry) => entry !== undefined && entry.parentId !== null && ids.has(entry.parentId),
      );
      if (follows) request.moved = moved;
    }
  }
}
