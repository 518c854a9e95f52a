/** The files of a found session, for an import, and the incremental import of lines appended later. */

import { join } from "node:path";
import { SessileError } from "../../core/errors/index.js";
import type { Session, SessionStore } from "../../session/index.js";
import { folderByPath } from "../shared/describe.js";
import { agentRow } from "../table.js";
import type { ForeignFile, ImportedSession } from "../types.js";
import type { FoundSession } from "./find-sessions.js";
import { type Candidate, homeCandidate, placeFiles, readFileBytes } from "./walk.js";

/**
 * The files of a session for `importSession`, those of its subagents included. Their bytes are read when the
 * import asks for them. A file that is gone is left out. A file in the session's own folder that its agent's row
 * does not name is `unclaimed`: an import has a finding for it.
 *
 * @throws SessileError SESSION_NOT_FOUND if the session's own file is gone
 * @example
 * ```ts
 * for await (const found of findSessions({ agents: ["codex"] })) {
 *   const imported = await importSession(await sessionFiles(found), { from: codex, blobs });
 *   await sessions.adopt(imported, { existing: "append" });
 * }
 * ```
 */
export async function sessionFiles(found: FoundSession): Promise<readonly ForeignFile[]> {
  const { home, paths, id } = found;
  // A path from elsewhere could name a file out of the home.
  const own = paths.filter((path) => !path.split("/").includes("..") && !path.startsWith("/"));
  const named = await Promise.all(own.map((path) => homeCandidate(home, join(home, ...path.split("/")))));
  const [main] = named;
  if (main === undefined)
    throw new SessileError("SESSION_NOT_FOUND", `${paths[0]}: the file is gone`, { details: { id } });
  const { claimed, others } = await moreFiles(found, main);
  // The session's own file comes first.
  const all = [...named.filter((file) => file !== undefined), ...claimed];
  const files = new Map(all.map((file): [string, ForeignFile] => [file.path, foreign(file)]));
  for (const file of others)
    if (!files.has(file.path)) files.set(file.path, { ...foreign(file), unclaimed: true });
  return [...files.values()];
}

function foreign(file: Candidate): ForeignFile {
  return { path: file.path, bytes: readFileBytes(file), modified: file.modified };
}

/** Of the folder of a session's own. */
const maxDepth = 8;

/** The files beside that of the session: those that its row names, and the others in the session's own folder. */
async function moreFiles(
  { format, home, id, paths }: FoundSession,
  main: Candidate,
): Promise<{ readonly claimed: readonly Candidate[]; readonly others: readonly Candidate[] }> {
  const row = agentRow(format);
  const folder = row?.folder?.(main.path) ?? `${folderByPath(main.path)}/${id}`;
  const places = row?.parts?.({ id, paths, folder }) ?? [];
  const claimed = (await Promise.all(places.map((place) => placeFiles(home, place)))).flat();
  const others = await placeFiles(home, { folder, depth: maxDepth, name: /^/ });
  return { claimed: claimed.filter(({ bytes, path }) => bytes > 0 || !path.endsWith("-wal")), others };
}

/** Options of {@link followSession}. */
export interface FollowOptions {
  /** The store with the session. */
  readonly sessions: SessionStore;
  /**
   * Calls `importSession` with the formats and options of the caller. `session` is the option of this name:
   * the session to read, if the files hold several.
   */
  readonly importFiles: (
    files: readonly ForeignFile[],
    session: string | undefined,
  ) => Promise<ImportedSession>;
}

/**
 * Imports a session again, and appends the entries that the stored one lacks: a first call stores it, each
 * further one adds what the agent wrote meanwhile. Equal records have equal ids, so that a repeat adds
 * nothing. The caller closes the session.
 *
 * @throws SessileError SESSION_NOT_FOUND if the file is gone; errors of `importSession` and `adopt`
 * @example
 * ```ts
 * for await (const found of findSessions({ agents: ["codex"] })) {
 *   await followSession(found, {
 *     sessions,
 *     importFiles: (files) => importSession(files, { from: codex, blobs }),
 *   });
 * }
 * ```
 */
export async function followSession(
  found: FoundSession,
  { sessions, importFiles }: FollowOptions,
): Promise<Session> {
  const files = await sessionFiles(found);
  const isDatabase = found.paths[0]?.endsWith(".db") === true;
  const imported = await importFiles(
    files,
    agentRow(found.format)?.isScattered && !isDatabase ? found.id : undefined,
  );
  for (const child of imported.children) {
    const opened = await sessions.adopt(child, { existing: "append" });
    await opened.close();
  }
  return await sessions.adopt(imported, { existing: "append" });
}
