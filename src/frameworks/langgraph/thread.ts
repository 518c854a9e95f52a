/**
 * The index of a thread: its checkpoints and writes by the ids of their entries, without one body. The tree
 * of the session is the tree of the thread: the nearest checkpoint above a checkpoint is its parent.
 */

import type { SessionTree } from "../../session/index.js";
import { entryId, entryIdParts } from "../shared/ids.js";

/** Prefixes of entry ids. */
const [checkpointKind, writeKind] = ["c", "w"] as const;

/** An entry, and how often its key was put. */
interface Latest {
  readonly entryId: string;
  readonly count: number;
}

/** A write of a checkpoint. */
export interface IndexedWrite extends Latest {
  readonly taskId: string;
  readonly index: number;
}

/** The checkpoints and writes of a thread in a session. */
export class ThreadIndex {
  /** By namespace and checkpoint id. Of entries with the same key the highest count is in force. */
  readonly #checkpoints = new Map<string, Map<string, Latest>>();
  /** By checkpoint, then by task and index. */
  readonly #writes = new Map<string, Map<string, IndexedWrite>>();
  /** The entry of the checkpoint that the leaf is, or whose writes and values lead to the leaf. */
  #leafCheckpoint: string | undefined;

  constructor(tree?: SessionTree, leafId: string | null = null) {
    if (tree === undefined) return;
    for (const { node } of tree.walk()) this.#index(node.id);
    let at = leafId;
    while (at !== null && !isCheckpoint(at)) at = tree.node(at)?.parentId ?? null;
    this.#leafCheckpoint = at ?? undefined;
  }

  /** Adds entries that were appended after `parent`. */
  add(ids: readonly string[], parent: string | undefined): void {
    if (parent !== undefined) this.#leafCheckpoint = isCheckpoint(parent) ? parent : undefined;
    for (const id of ids) {
      this.#index(id);
      if (isCheckpoint(id)) this.#leafCheckpoint = id;
    }
  }

  /** The namespaces, in the order of their first checkpoints. */
  get namespaces(): readonly string[] {
    return [...this.#checkpoints.keys()];
  }

  /** The checkpoint ids of a namespace, newest first: they sort by time. */
  ids(namespace: string): readonly string[] {
    return [...(this.#checkpoints.get(namespace)?.keys() ?? [])].sort().reverse();
  }

  /** The newest checkpoint id of a namespace. */
  newest(namespace: string): string | undefined {
    let newest: string | undefined;
    for (const id of this.#checkpoints.get(namespace)?.keys() ?? [])
      if (newest === undefined || id > newest) newest = id;
    return newest;
  }

  /** The entry of a checkpoint. */
  checkpoint(namespace: string, id: string): string | undefined {
    return this.#checkpoints.get(namespace)?.get(id)?.entryId;
  }

  /** The writes of a checkpoint, which may come before the checkpoint. */
  writes(namespace: string, id: string): readonly IndexedWrite[] {
    return [...(this.#writes.get(entryId(namespace, id))?.values() ?? [])];
  }

  /** The write in force at an index of a task. */
  write(namespace: string, id: string, taskId: string, index: number): IndexedWrite | undefined {
    return this.#writes.get(entryId(namespace, id))?.get(entryId(taskId, index));
  }

  /** The id for another entry of a checkpoint. */
  nextCheckpoint(namespace: string, id: string): string {
    const last = this.#checkpoints.get(namespace)?.get(id);
    return entryId(checkpointKind, namespace, id, ...nextCount(last));
  }

  /** The id for another entry of a write. */
  nextWrite(namespace: string, id: string, taskId: string, index: number): string {
    return entryId(
      writeKind,
      namespace,
      id,
      taskId,
      index,
      ...nextCount(this.write(namespace, id, taskId, index)),
    );
  }

  /** The entry to append after, so that `checkpoint` is the nearest one above; undefined for the leaf. */
  parentFor(checkpoint: string): string | undefined {
    return checkpoint === this.#leafCheckpoint ? undefined : checkpoint;
  }

  #index(id: string): void {
    const [kind, namespace, checkpointId, ...rest] = entryIdParts(id);
    if (namespace === undefined || checkpointId === undefined) return;
    if (kind === checkpointKind) {
      const latest = { entryId: id, count: Number(rest[0] ?? 1) };
      keepLatest(mapIn(this.#checkpoints, namespace), checkpointId, latest);
    } else if (kind === writeKind) {
      const [taskId = "", index = "", count = 1] = rest;
      const write = { entryId: id, count: Number(count), taskId, index: Number(index) };
      keepLatest(mapIn(this.#writes, entryId(namespace, checkpointId)), entryId(taskId, index), write);
    }
  }
}

function isCheckpoint(id: string): boolean {
  return id.startsWith(`${checkpointKind}/`);
}

function nextCount(last: Latest | undefined): readonly number[] {
  return last === undefined ? [] : [last.count + 1];
}

function keepLatest<L extends Latest>(map: Map<string, L>, key: string, latest: L): void {
  if (latest.count > (map.get(key)?.count ?? 0)) map.set(key, latest);
}

function mapIn<V>(map: Map<string, Map<string, V>>, key: string): Map<string, V> {
  const found = map.get(key) ?? new Map<string, V>();
  map.set(key, found);
  return found;
}
