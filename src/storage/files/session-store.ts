/** Opens a session store in a directory, or a single session file. */

import { resolve } from "node:path";
import { integerOption, stringArgument } from "../../core/arguments.js";
import { SessileError } from "../../core/errors/index.js";
import { type FileSystem, storageError } from "../../core/node/file-system.js";
import { nodeFileSystem } from "../../core/node/node-file-system.js";
import { defaultLimits } from "../../log/internal.js";
import {
  type Session,
  type SessionStore,
  type SessionStoreOptions,
  sessionStore,
} from "../../session/index.js";
import { type Durability, openLog } from "../../session/internal.js";
import { remoteLeaseMs } from "./file-lock.js";
import { FileBackend } from "./session-backend.js";
import { idOfPath, storeDirectory } from "./session-layout.js";

/** Options of {@link fileSessionStore}. */
export interface FileSessionStoreOptions extends SessionStoreOptions {
  /** The directory of all sessions, created when the first one is written. */
  readonly dir: string;
  /**
   * The durability of a resolved append. `disk`, the default: fsynced, so that it survives a power loss.
   * `os`: it survives a crash of the process; about fifty times as fast for one append at a time.
   */
  readonly durability?: Durability;
  /** The wait for another process that writes the same session. Minimum 0, default 2000. */
  readonly lockWaitMs?: number;
}

/**
 * A store of sessions in files: one file per session, one directory per project. Format and layout are those
 * of pi, so that each opens the other's files. Several processes may use the same directory.
 *
 * @throws TypeError, RangeError for invalid options
 * @example
 * ```ts
 * const sessions = fileSessionStore({ dir: ".agent/sessions" });
 * const recent = await sessions.latest({ cwd: process.cwd() });
 * ```
 */
export function fileSessionStore(options: FileSessionStoreOptions): SessionStore {
  return sessionStore(fileBackend(options, nodeFileSystem), options);
}

/** {@link fileSessionStore} on any file system. */
export function fileSessionStoreOn(fs: FileSystem, options: FileSessionStoreOptions): SessionStore {
  return sessionStore(fileBackend(options, fs), options);
}

/**
 * Opens one session file by its path, for reading by default. Reading never writes: an older version is
 * migrated in memory, and a torn tail stays. `extract` writes into the store of the file, or, for a file
 * without a store, into a directory beside it.
 *
 * @throws SessileError SESSION_NOT_FOUND, EMPTY, NO_HEADER, NOT_A_FILE, STORAGE_FAILED
 * @example
 * ```ts
 * await using session = await openSessionFile("session.jsonl");
 * console.log(await session.context(), session.diagnostics);
 * ```
 */
export async function openSessionFile(
  path: string,
  options: Omit<FileSessionStoreOptions, "dir"> & { readonly mode?: "read" | "write" } = {},
): Promise<Session> {
  const absolute = resolve(stringArgument("path", path));
  const backend = fileBackend({ ...options, dir: storeDirectory(absolute) }, nodeFileSystem);
  const id = idOfPath(absolute) ?? absolute;
  try {
    if (nodeFileSystem.stat(absolute) === undefined) {
      throw new SessileError("SESSION_NOT_FOUND", `there is no file ${absolute}`, {
        details: { id: absolute },
      });
    }
    return await openLog(backend, backend.logAt(absolute, id), options);
  } catch (error) {
    throw storageError("open", absolute, error);
  }
}

function fileBackend(options: FileSessionStoreOptions, fs: FileSystem): FileBackend {
  const { durability = "disk" } = options;
  if (durability !== "disk" && durability !== "os") {
    throw new TypeError(`durability: expected "disk" or "os", got ${String(durability)}`);
  }
  return new FileBackend({
    dir: stringArgument("dir", options.dir),
    fs,
    durability,
    times: {
      waitMs: integerOption("lockWaitMs", options.lockWaitMs, 2000, 0),
      idleMs: 20,
      remoteLeaseMs,
    },
    maxLineBytes: integerOption("maxLineBytes", options.maxLineBytes, defaultLimits.maxLineBytes, 1024),
    now: options.now ?? Date.now,
  });
}
