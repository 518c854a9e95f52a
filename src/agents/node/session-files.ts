/** The files of a found session, for an import, and the incremental import of lines appended later. */

import { join } from "node:path";
import { SessileError } from "../../core/errors/index.js";
import type { Session, SessionStore } from "../../session/index.js";
import type { ForeignFile, ImportedSession } from "../types.js";
import type { FoundSession } from "./find-sessions.js";
import { type Candidate, candidateOf, readFileBytes, walk } from "./walk.js";

/**
 * The files of a session for `importSession`, those of its subagents included. Their bytes are read when the
 * import asks for them. A file that is gone is left out.
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
  const named = await Promise.all(own.map((path) => candidateOf(home, join(home, ...path.split("/")))));
  const [main] = named;
  if (main === undefined)
    throw new SessileError("SESSION_NOT_FOUND", `${paths[0]}: the file is gone`, { details: { id } });
  const files = [...named.filter((file) => file !== undefined), ...(await moreFiles(found, main))];
  const unique = new Map(files.map((file) => [file.path, file]));
  return [...unique.values()].map((file) => ({
    path: file.path,
    bytes: readFileBytes(file),
    modified: file.modified,
  }));
}

/** Of folders with files of subagents. */
const maxDepth = 8;

/** The files beside that of the session: subagents, messages, changes of a database. */
async function moreFiles(found: FoundSession, main: Candidate): Promise<readonly Candidate[]> {
  const { format, home, id } = found;
  const beside = (...names: readonly string[]) => join(main.file, "..", ...names);
  switch (format) {
    case "claude-code":
      // Those that a workflow started are in a folder for each run.
      return await walk(home, beside(id, "subagents"), { depth: maxDepth, name: /^agent-.{0,255}\.jsonl?$/ });
    case "gemini":
      return await walk(home, beside(id), { depth: 0, name: /\.jsonl?$/ });
    case "opencode": {
      if (main.path.endsWith(".db")) {
        const log = await candidateOf(home, `${main.file}-wal`);
        return log === undefined || log.bytes === 0 ? [] : [log];
      }
      const sessions = found.paths.map((path) => path.slice(path.lastIndexOf("/") + 1, -".json".length));
      return (await Promise.all(sessions.map((each) => storedFiles(home, each)))).flat();
    }
    default:
      return [];
  }
}

/** Messages and parts of a session of opencode 1.1. */
async function storedFiles(home: string, id: string): Promise<readonly Candidate[]> {
  const storage = join(home, "storage");
  const name = /\.json$/;
  const messages = await walk(home, join(storage, "message", id), { depth: 0, name });
  const parts = await Promise.all(
    messages.map(({ path }) => {
      const folder = path.slice(path.lastIndexOf("/") + 1, -".json".length);
      return walk(home, join(storage, "part", folder), { depth: 0, name });
    }),
  );
  return [...messages, ...parts.flat()];
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
  const holdsSeveral = found.format === "codex" || found.format === "opencode";
  const isDatabase = found.paths[0]?.endsWith(".db") === true;
  const imported = await importFiles(files, holdsSeveral && !isDatabase ? found.id : undefined);
  for (const child of imported.children) {
    const opened = await sessions.adopt(child, { existing: "append" });
    await opened.close();
  }
  return await sessions.adopt(imported, { existing: "append" });
}
