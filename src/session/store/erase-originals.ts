/** The original files of an import: they have the texts of subagents, whose sessions name their parents. */

import { SessileError } from "../../errors/index.js";
import { isName } from "../../internal/ids.js";
import { isRecord } from "../../internal/shape.js";
import type { SessionBackend } from "../api/backend.js";
import { erasureOf, type SessionHeader } from "../api/entries.js";
import type { LiveSession } from "../runtime/session.js";
import { openLog } from "./store.js";

/** The entries of a session that name original files. */
export interface Originals {
  readonly id: string;
  readonly entryIds: readonly string[];
}

/**
 * Finds the entries that name the original files of a subagent's session, in a session above it.
 *
 * @param missing called if a session above is not there or cannot be read
 */
export async function originalsOf(
  backend: SessionBackend,
  partition: string,
  child: Pick<SessionHeader, "id" | "parentSession">,
  missing: (id: string) => void,
): Promise<Originals | undefined> {
  const seen = new Set([child.id]);
  // A fork may name its parent by a path. An import never does.
  for (let id = child.parentSession; isName(id) && !seen.has(id); ) {
    seen.add(id);
    const parent = await readParent(backend, partition, id, child.id);
    if (parent === undefined) return void missing(id);
    if (parent.entryIds.length > 0) return { id, entryIds: parent.entryIds };
    if (parent.isErased) return undefined;
    id = parent.parentSession;
  }
  return undefined;
}

interface Parent {
  readonly parentSession: string | undefined;
  /** Of entries that name original files with the texts of the child. */
  readonly entryIds: readonly string[];
  /** Whether an entry that named original files was erased. */
  readonly isErased: boolean;
}

/** Reads a session, without a lock; undefined if that is impossible. */
async function readParent(
  backend: SessionBackend,
  partition: string,
  id: string,
  childId: string,
): Promise<Parent | undefined> {
  try {
    const log = await backend.open(id, { partition, mode: "read" });
    if (log === undefined) return undefined;
    const session = await openLog(backend, log, { mode: "read" });
    try {
      return { parentSession: session.header.parentSession, ...(await foreignIn(session, childId)) };
    } finally {
      await session.close();
    }
  } catch (error) {
    if (!(error instanceof SessileError)) throw error;
    return undefined;
  }
}

async function foreignIn(
  session: LiveSession,
  childId: string,
): Promise<Pick<Parent, "entryIds" | "isErased">> {
  const entryIds: string[] = [];
  let isErased = false;
  for (const { id, type } of (await session.tree()).children(null)) {
    const entry = type === "custom" ? await session.entry(id) : undefined;
    if (entry?.type !== "custom" || entry.customType !== "sessile.foreign") continue;
    if (erasureOf(entry) !== undefined) isErased = true;
    const children = isRecord(entry.data) ? entry.data.children : undefined;
    if (Array.isArray(children) && children.includes(childId)) entryIds.push(id);
  }
  return { entryIds, isErased };
}
