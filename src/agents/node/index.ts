/** Discovery: the sessions of other agents on this machine. Loaded when it is called. */

import type { Session } from "../../session/index.js";
import type { ForeignFile } from "../types.js";
import type { FindOptions, FollowOptions, FoundSession } from "./find-sessions.js";

export type { FindOptions, FoundSession };

/**
 * Lists the sessions of agents, newest first, one a session. Reads 64 KiB of the start and of the end of each
 * file. Writes nothing, opens no database (`opencode.db` is listed as one session), and follows no symbolic
 * link below a home. Folders and files that cannot be read are left out.
 *
 * @throws TypeError, RangeError for invalid options
 * @example
 * ```ts
 * for await (const { format, title, id } of findSessions({ cwd: process.cwd() })) console.log(format, title, id);
 * ```
 */
export async function* findSessions(
  options: FindOptions = {},
): AsyncGenerator<FoundSession, void, undefined> {
  yield* (await import("./find-sessions.js")).findSessions(options);
}

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
  return (await import("./find-sessions.js")).sessionFiles(found);
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
export async function followSession(found: FoundSession, options: FollowOptions): Promise<Session> {
  return (await import("./find-sessions.js")).followSession(found, options);
}
