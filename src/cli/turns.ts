/** The turns of sessions in a list: messages of the user, counted in sessions that are quick to read. */

import { isOwnAgent } from "../agents/internal.js";
import { memoryBlobStore } from "../blobs/index.js";
import { openSessionFile } from "../storage/files/index.js";
import type { CommandContext } from "./command.js";
import type { FoundSession } from "./named-session.js";

const maxCounted = 200;
/** Bytes: opening a file of this library reads little of each line; an import parses all of it. */
const maxOwnBytes = 64_000_000;
const maxForeignBytes = 8_000_000;

/**
 * Counts the turns of the first sessions, up to some number and some bytes, so that a long list is as fast.
 * The others, and those that cannot be read, have no count.
 */
export async function countTurns(
  sessions: readonly FoundSession[],
  { signal, out }: CommandContext,
): Promise<ReadonlyMap<FoundSession, number>> {
  const turns = new Map<FoundSession, number>();
  const left = { own: maxOwnBytes, foreign: maxForeignBytes };
  for (const session of sessions.slice(0, maxCounted)) {
    signal.throwIfAborted();
    out.progress(() => `turns of ${turns.size} sessions`);
    const kind = isOwn(session) ? "own" : "foreign";
    if (session.size > left[kind]) continue;
    left[kind] -= session.size;
    const count = await (isOwn(session) ? turnsOfFile(session) : turnsOfImport(session)).catch(
      () => undefined,
    );
    if (count !== undefined) turns.set(session, count);
  }
  return turns;
}

/** pi's files are read as this library's own. */
const isOwn = ({ agent, read }: FoundSession) => read === undefined || isOwnAgent(agent);

async function turnsOfFile({ path }: FoundSession): Promise<number> {
  const session = await openSessionFile(path);
  try {
    let count = 0;
    for (const { node } of (await session.tree()).walk())
      if (node.type === "message" && node.role === "user") count++;
    return count;
  } finally {
    await session.close();
  }
}

async function turnsOfImport({ read }: FoundSession): Promise<number | undefined> {
  const imported = await read?.({ blobs: memoryBlobStore(), keep: "none", isQuiet: true });
  return imported?.entries.filter((entry) => entry.type === "message" && entry.message.role === "user")
    .length;
}
