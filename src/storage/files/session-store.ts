/** The store of sessions in files, and a folder with sessions, blobs and attachments: `openFolder`. */

import { join, resolve } from "node:path";
import type { IngestSource } from "../../attachments/index.js";
import type { Resource } from "../../content/index.js";
import { assertOptions, integerOption, stringArgument } from "../../core/arguments.js";
import { SessileError } from "../../core/errors/index.js";
import { type FileSystem, storageError } from "../../core/node/file-system.js";
import { nodeFileSystem } from "../../core/node/node-file-system.js";
import { defaultLimits } from "../../log/internal.js";
import {
  type AgentStorage,
  type AttachOptions,
  type Session,
  type SessionStore,
  type SessionStoreOptions,
  sessionStore,
} from "../../session/index.js";
import { type Durability, openLog } from "../../session/internal.js";
import { type ReadLocalFileOptions, readLocalFile } from "./attachments/index.js";
import { fileBlobStore } from "./blobs/index.js";
import { remoteLeaseMs } from "./file-lock.js";
import { FileBackend } from "./session-backend.js";
import { idOfPath, storeDirectory } from "./session-files.js";

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
 * A store that adopts many sessions: it lists its directories once, and not again for each id. A session that
 * another program makes meanwhile is found if its file has the name that this store gives it.
 */
export function bulkSessionStore(options: FileSessionStoreOptions, fs = nodeFileSystem): SessionStore {
  return sessionStore(fileBackend(options, fs, true), options);
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
    return await openLog(backend, backend.logAt(absolute, id), options, false);
  } catch (error) {
    throw storageError("open", absolute, error);
  }
}

function fileBackend(options: FileSessionStoreOptions, fs: FileSystem, listsOnce = false): FileBackend {
  assertOptions(options, "{ dir }");
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
    listsOnce,
  });
}

// The door for files: sessions, blobs and attachments in one folder.

/** Options of {@link openFolder}: those of {@link fileSessionStore}, without its places. */
export type OpenFolderOptions = Omit<FileSessionStoreOptions, "dir" | "blobs">;

/** Options of a folder's `attach`: `roots` and `links` bound a path that a model chose. */
export type AttachFileOptions = AttachOptions & Pick<ReadLocalFileOptions, "roots" | "links">;

/** A folder with sessions and blobs, whose `attach` reads files too. */
interface FolderStorage extends AgentStorage<string | URL | IngestSource> {
  /**
   * Stores an attachment. A string or URL names a file, which {@link readLocalFile} reads. A `file:` link of a
   * block is read only with `roots`.
   */
  attach(source: string | URL | IngestSource, options?: AttachFileOptions): Promise<Resource>;
}

/**
 * Opens a folder: sessions in `sessions`, blobs in `blobs`. Nothing is created before the first write. Several
 * processes may open the same folder.
 *
 * @throws TypeError, RangeError for invalid options
 * @example
 * ```ts
 * const { sessions, blobs, attach } = openFolder(".agent");
 * const session = await sessions.create({ cwd: process.cwd() });
 * await session.appendMessage(userMessage("Why?", await attach("package.json")));
 * const request = await project(await session.context(), anthropicMessages({ model }), { blobs });
 * ```
 */
export function openFolder(path: string, options: OpenFolderOptions = {}): FolderStorage {
  const dir = resolve(stringArgument("path", path));
  const { durability } = options;
  const blobs = fileBlobStore({
    dir: join(dir, "blobs"),
    ...(durability === undefined ? {} : { durability }),
  });
  const sessions = fileSessionStore({ ...options, dir: join(dir, "sessions"), blobs });
  const attach: FolderStorage["attach"] = async (source, given = {}) => {
    const { roots, links, ...ingestOptions } = given;
    const { maxBytes, signal } = ingestOptions;
    const { ingest } = await import("../../attachments/index.js");
    const bounds = { roots, links, maxBytes, signal };
    const read = (file: string | URL) => readLocalFile(file, bounds);
    if (typeof source === "string")
      return ingest(await read(resolve(stringArgument("source", source))), { ...ingestOptions, blobs });
    if (source instanceof URL) return ingest(await read(source), { ...ingestOptions, blobs });
    // A link in a block comes from a tool or a model, so that it opens no file without roots.
    const files = roots === undefined ? {} : { readFile: read };
    const [resource] = await ingest([source], { ...files, ...ingestOptions, blobs });
    return resource as Resource;
  };
  return { sessions, blobs, attach };
}
