/** `conflict: "follow"`: appends after another writer's entries, and the check that they may move there. */

import { type ContextItem, toolCalls, toolPairs } from "../../content/index.js";
import { resourcesOf } from "../../content/internal.js";
import { SessileError } from "../../errors/index.js";
import type { SessionEntry, UnknownEntry } from "../api/entries.js";
import { contextAt, type EntryRequests } from "../context/build-context.js";
import { itemOf } from "../context/context-items.js";
import { references } from "../format/entry-types.js";
import { type EntryTable, noRow } from "../tree/entry-table.js";
import { entryTableOf } from "../tree/session-tree.js";
import type { AppendRequest, Moved, MoveParent } from "./append-requests.js";
import { printId } from "./conflict.js";
import { isOnPath } from "./conversation.js";
import type { MaterializedEntry } from "./materialize-drafts.js";
import type { SessionState } from "./session-state.js";
import { toolStarted } from "./turn-settings.js";

/**
 * Places appends with `conflict: "follow"` after other writers' entries, and checks the appends queued
 * after them.
 */
export class FollowMode {
  readonly #state: SessionState;
  /** The original place of the current batch; undefined if it stays there. */
  #moved: Moved | undefined;

  /** Entries of rebases on another writer's branch, with this handle's leaf at that time. */
  readonly #strayed = new Map<string, string | null>();

  constructor(state: SessionState) {
    this.#state = state;
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
    group: AppendRequest[],
    staged: readonly MaterializedEntry[],
    putBack: (rest: readonly AppendRequest[]) => void,
  ): Promise<MoveParent | undefined> {
    const state = this.#state;
    const { others } = state;
    const { tree } = state.reader;
    const [request] = group as [AppendRequest];
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
    const moves = others !== undefined && follows && !isOnPath(others.leafId, parent, tree);
    if (!moves && !isMoved && this.#moved === undefined) return undefined;
    if (group.length > 1) putBack(group.splice(1));
    const made = this.#moved ?? request.moved ?? (moves ? { from: parent, between: [] } : undefined);
    if (made === undefined) return undefined;
    const to = moves ? others.leafId : parent;
    const between = made.between.map((id) => rows.row(id)).filter((row) => row !== noRow);
    const steps = followProblem(rows, { from: made.from, between, to }, unwritten);
    const problem = await state.cache.run(steps);
    if (problem !== undefined) {
      // The state may be stale: the awaited result may be there by now.
      const changes = moves ? await state.readRemoteChanges() : undefined;
      if (changes === undefined || changes.restarted || changes.rows.length === 0)
        throw followError(problem, made.from, to);
      return this.parents(group, staged, putBack);
    }
    this.#moved = made;
    return (parentId) => (parentId === parent ? to : parentId);
  }

  /** Maps the parents of requests after a rebase on another writer's branch back to this handle's branch. */
  #ownBranch(): MoveParent | undefined {
    if (this.#strayed.size === 0) return undefined;
    return (parentId) => (parentId === null ? null : (this.#strayed.get(parentId) ?? parentId));
  }

  /**
   * Records the entries of a rebase on another writer's branch. Requests queued after it, other than
   * rebases, follow this handle's leaf instead.
   */
  recordStrayed(entries: readonly SessionEntry[]): void {
    for (const { id } of entries) this.#strayed.set(id, this.#state.leafId);
  }

  /** Marks requests queued after a moved group: they were made for another place too. */
  passOn(group: readonly AppendRequest[], waiting: readonly AppendRequest[]): void {
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
function followError(
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
function* followProblem(
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
      message.content.some((block) =>
        resourcesOf(block).some((resource) => resource.resourceId === resourceId),
      ),
  );
}
