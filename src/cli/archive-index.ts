/**
 * The index of an archive: what was copied of which files, so that a run does only what changed, and so that the
 * copy of a session that its agent has is not listed beside it.
 */

import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isRecord } from "../core/shape.js";
import type { CommandContext } from "./command.js";
import type { FoundSession } from "./named-session.js";

/** A file of an agent, by the name in its home. */
export interface FileState {
  readonly path: string;
  readonly bytes: number;
  /** Milliseconds since 1970. */
  readonly modified: number;
}

export interface ArchivedSession {
  readonly agent: string;
  /** The agent's id. */
  readonly id: string;
  /** Its file in the store, relative to the archive. */
  readonly file: string;
  /** Those of its subagents. */
  readonly children?: readonly string[];
  readonly files: readonly FileState[];
  /** False for a session in a database, of which the store alone has the entries. */
  readonly hasOriginals: boolean;
  /** ISO 8601. */
  readonly modified: string;
  readonly title?: string;
}

export interface ArchiveIndex {
  readonly v: 1;
  /** All files of an agent's home at the last run without an error: equal ones need no further look. */
  readonly homes: Readonly<Record<string, string>>;
  /** By agent and id. */
  readonly sessions: Readonly<Record<string, ArchivedSession>>;
}

export const sessionKey = ({ agent, id }: { readonly agent: string; readonly id: string }) =>
  `${agent} ${id}`;
export const indexPath = (dir: string) => join(dir, "archive.json");

/** The index of an archive. One that cannot be read is made anew: a further copy of a session adds nothing. */
export async function readIndex(dir: string, { out }: Pick<CommandContext, "out">): Promise<ArchiveIndex> {
  const text = await readFile(indexPath(dir), "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
  });
  if (text === undefined) return { v: 1, homes: {}, sessions: {} };
  try {
    const index = JSON.parse(text) as ArchiveIndex;
    if (index.v === 1 && isRecord(index.homes) && isRecord(index.sessions)) return index;
  } catch {}
  const message = `${indexPath(dir)} cannot be read: all sessions are copied again`;
  out.warn({ code: "unreadable", message, path: indexPath(dir) });
  return { v: 1, homes: {}, sessions: {} };
}

/** Tests whether a session of a store is the copy of one that is found in the home of its agent. */
export async function copyTest(
  store: string,
  foreign: readonly Pick<FoundSession, "agent" | "id">[],
  context: CommandContext,
): Promise<(session: FoundSession) => boolean> {
  if (foreign.length === 0) return () => false;
  const dir = dirname(store);
  const index = await readIndex(dir, context);
  const copies = new Set<string>();
  for (const { agent, id } of foreign) {
    const { file, children = [] } = index.sessions[sessionKey({ agent, id })] ?? {};
    for (const path of [file, ...children]) if (path !== undefined) copies.add(join(dir, path));
  }
  return ({ path }) => copies.has(path);
}
