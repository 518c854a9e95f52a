/** The entries of checkpoints and writes. All values are ids of value entries. */

import { SessileError } from "../../core/errors/index.js";
import { isRecord } from "../../core/shape.js";
import { ownEntry } from "../../log/internal.js";
import type { Session } from "../../session/index.js";
import type { IndexedWrite } from "./thread.js";

/** The data of a checkpoint's entry. All values are ids of value entries. */
export interface StoredCheckpoint {
  /** The checkpoint without its channel values. */
  readonly head: string;
  readonly metadata: string;
  readonly values: readonly (readonly [channel: string, value: string])[];
  /** The id of the parent checkpoint. */
  readonly parent?: string;
}

/** The data of a write's entry. */
export interface StoredWrite {
  readonly channel: string;
  readonly value: string;
  /** The path of the task. */
  readonly path?: string;
}

export const checkpointEntry = ownEntry("sessile.langgraph.checkpoint", (data): StoredCheckpoint => {
  const valid =
    isRecord(data) &&
    typeof data.head === "string" &&
    typeof data.metadata === "string" &&
    isPairs(data.values);
  if (valid) return data as unknown as StoredCheckpoint;
  throw new TypeError("data: expected a checkpoint");
});

export const writeEntry = ownEntry("sessile.langgraph.write", (data): StoredWrite => {
  if (isRecord(data) && typeof data.channel === "string" && typeof data.value === "string")
    return data as unknown as StoredWrite;
  throw new TypeError("data: expected a write");
});

/**
 * The stored checkpoint of an entry.
 * @throws SessileError ENTRY_NOT_FOUND if it is damaged
 */
export async function readCheckpoint(session: Session, id: string): Promise<StoredCheckpoint> {
  const entry = await session.entry(id);
  return (entry && checkpointEntry.read(entry)) ?? damaged(id);
}

/**
 * The stored write of an entry.
 * @throws SessileError ENTRY_NOT_FOUND if it is damaged
 */
export async function readWrite(session: Session, { entryId }: IndexedWrite): Promise<StoredWrite> {
  const entry = await session.entry(entryId);
  return (entry && writeEntry.read(entry)) ?? damaged(entryId);
}

function damaged(entryId: string): never {
  const message = `the entry ${JSON.stringify(entryId)} is damaged`;
  throw new SessileError("ENTRY_NOT_FOUND", message, { details: { entryId } });
}

/** Orders texts by code point. UTF-16 order would put characters beyond the basic plane before U+E000. */
export function compareByCodePoint(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  // The first difference can be the second half of a pair, whose first half is equal.
  if (at > 0 && isHighSurrogate(a.charCodeAt(at - 1))) at--;
  return (a.codePointAt(at) ?? -1) - (b.codePointAt(at) ?? -1);
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00;
}
function isPairs(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.every(
      (pair) => Array.isArray(pair) && pair.length === 2 && pair.every((text) => typeof text === "string"),
    )
  );
}
