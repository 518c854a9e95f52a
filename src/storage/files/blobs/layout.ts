/** The files of a blob: its name, the temporary file that becomes it, and reads of it. */

import { dirname, join } from "node:path";
import type { BlobLeftovers, DigestAlgorithm, HashFunction } from "../../../blobs/index.js";
import { partsByRef, toRef } from "../../../blobs/internal.js";
import type { BlobRef } from "../../../content/index.js";
import { knownMediaTypes, mediaTypeInfo } from "../../../core/media-types.js";
import {
  appendFully,
  appendFullyAsync,
  assertFullyWritten,
  createFile,
  errnoCode,
  type OpenFile,
  readFullySync,
} from "../../../core/node/file-system.js";
import { isRunning } from "../../../core/node/process-identity.js";
import type { StoreDirectory } from "./store-directory.js";
import { setTimeToNow } from "./touch.js";

/**
 * SHA-256 of Node, about ten times as fast as a portable one. `node:crypto` is loaded by the first digest: it is a
 * tenth of the import of `sessile/node`.
 */
export const nodeSha256: HashFunction = {
  name: "sha256",
  create: () => process.getBuiltinModule("node:crypto").createHash("sha256"),
};

/** Where blobs lie below the directory of a store. */
export interface Layout {
  /** The content of `store.json`. */
  readonly description: Readonly<Record<string, unknown>>;
  /** The folder of a blob, relative to the store. */
  folderByRef(ref: BlobRef): string;
  /** The file name of a new blob. */
  nameFor(ref: BlobRef, mediaType: string | undefined): string;
  /** The file names that a blob may have, likeliest first; empty if this layout cannot have it. */
  namesByRef(ref: BlobRef): readonly string[];
  /** The folders that hold blobs. */
  folders(list: (folder: string) => Promise<readonly string[]>): AsyncIterable<string>;
  /** The ref of a file in such a folder; undefined if the file is no blob. */
  refAt(folder: string, name: string): BlobRef | undefined;
}

/** The format that this version reads and writes. */
export const formatVersion = 1;

/** `blobs/<algorithm>/<first two digits>/<digits>`: any number of blobs, of both algorithms. */
export const sharded: Layout = {
  description: { format: formatVersion },
  folderByRef(ref) {
    const { algorithm, hex } = partsByRef(ref);
    return join("blobs", algorithm, hex.slice(0, 2));
  },
  nameFor: (ref) => partsByRef(ref).hex,
  namesByRef: (ref) => [partsByRef(ref).hex],
  async *folders(list) {
    for (const algorithm of ["sha256", "blake3"]) {
      for (const shard of await list(join("blobs", algorithm))) {
        if (/^[0-9a-f]{2}$/.test(shard)) yield join("blobs", algorithm, shard);
      }
    }
  },
  refAt(folder, name) {
    const [, algorithm = "", shard = ""] = folder.split(/[/\\]/);
    return name.startsWith(shard) ? toRef(algorithm, name) : undefined;
  },
};

/**
 * `blobs/<digits>.<extension>`, one algorithm a store: a folder for people and other programs. The extension
 * comes from the media type of the put.
 */
export function flat(algorithm: DigestAlgorithm): Layout {
  return {
    description: { format: formatVersion, layout: "flat", digest: algorithm },
    folderByRef: () => "blobs",
    nameFor: (ref, mediaType) => `${partsByRef(ref).hex}.${mediaTypeExtension(mediaType)}`,
    namesByRef(ref) {
      const { hex, algorithm: other } = partsByRef(ref);
      return other === algorithm ? knownExtensions.map((extension) => `${hex}.${extension}`) : [];
    },
    async *folders() {
      yield "blobs";
    },
    refAt: (_, name) => toRef(algorithm, /^([0-9a-f]{64})\.[A-Za-z0-9]{1,8}$/.exec(name)?.[1] ?? ""),
  };
}

const unknownExtension = "bin";

/** Every extension that {@link mediaTypeExtension} gives, the likeliest first. */
export const knownExtensions: readonly string[] = /* @__PURE__ */ [
  ...knownMediaTypes.map(({ extensions }) => extensions[0]),
  unknownExtension,
];

/**
 * The extension of a media type's files, for layouts that show it, without the dot; `bin` for one that is
 * unknown or not given. Parameters and case do not matter.
 */
export function mediaTypeExtension(mediaType: string | undefined): string {
  return mediaTypeInfo(mediaType ?? "")?.extensions[0] ?? unknownExtension;
}

// Temp files of blobs: written, fsynced, published by an atomic rename, removed after a crash.

/**
 * A blob that is being written: to a temp file, fsynced, then published by an atomic rename. Whatever fails,
 * no partial file ever has the name of a blob.
 */
export class TempFile {
  readonly #directory: StoreDirectory;
  readonly #path: string;
  readonly #file: OpenFile;
  /** Bytes that the writes reported as written. */
  #size = 0;
  #isSyncing = false;
  /** The last fsync that began before all was written. Never rejects. */
  #earlySync: Promise<void> | undefined;
  /** Why an early fsync failed. */
  #failure: Error | undefined;

  private constructor(directory: StoreDirectory, path: string, file: OpenFile) {
    this.#directory = directory;
    this.#path = path;
    this.#file = file;
  }

  /** Creates a temp file, and the store if it does not exist. */
  static async create(directory: StoreDirectory): Promise<TempFile> {
    await directory.prepare();
    const path = directory.temporaryPath();
    const create = () =>
      new TempFile(directory, path, createFile(directory.fileSystem, path, "createReadOnly"));
    try {
      return create();
    } catch (error) {
      if (errnoCode(error) !== "ENOENT") throw error;
      // Another program removed the folder since it was created.
      directory.forget();
      await directory.prepare();
      return create();
    }
  }

  /** Writes on the calling thread. */
  writeSync(bytes: Uint8Array): void {
    appendFully(this.#file, bytes);
    this.#size += bytes.length;
  }

  /**
   * Writes on the pool and starts an fsync of the bytes so far: the device works while the next bytes
   * are hashed and copied, so that little is left to wait for at the end.
   */
  async write(bytes: Uint8Array): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    await appendFullyAsync(this.#file, bytes);
    this.#size += bytes.length;
    if (this.#directory.durable && !this.#isSyncing) this.#earlySync = this.#syncEarly();
  }

  /**
   * Publishes the file at a path of the store, and returns its time of modification. An atomic rename needs
   * no hard links and heals a damaged blob: an intact one is replaced by identical bytes. The time is later
   * than that of the replaced file, because a collection compares it with the one it saw.
   *
   * A failed fsync is not retried: the kernel may call the lost pages clean. If the folder's fsync fails the
   * file keeps its name, because its bytes are durable and another process may have acknowledged it by now.
   */
  async publish(path: string): Promise<number> {
    const { fileSystem, durable } = this.#directory;
    await this.#earlySync;
    if (this.#failure !== undefined) throw this.#failure;
    if (durable) await this.#file.sync();
    const folder = dirname(path);
    this.#directory.createFolder(folder);
    const target = this.#directory.at(path);
    const replaced = fileSystem.lstat(target);
    const written = this.#file.stat();
    assertFullyWritten(written.size, this.#size);
    if (replaced !== undefined) {
      setTimeToNow(this.#file, { ...written, mtimeMs: Math.max(replaced.mtimeMs, written.mtimeMs) });
    }
    const { mtimeMs } = replaced === undefined ? written : this.#file.stat();
    this.#file.close();
    try {
      fileSystem.rename(this.#path, target);
    } catch (error) {
      if (errnoCode(error) !== "ENOENT" || fileSystem.lstat(this.#path) === undefined) throw error;
      this.#directory.forget();
      this.#directory.createFolder(folder);
      fileSystem.rename(this.#path, target);
    }
    await this.#directory.sync(folder);
    return mtimeMs;
  }

  /** Time of the last write by the file system's clock, in milliseconds since 1970. */
  mtimeMs(): number {
    return this.#file.stat().mtimeMs;
  }

  /** Removes the file, unless it was published. Never throws. */
  discard(): void {
    // If one of these fails, a collection removes the file later; the caller needs the error that came first.
    attempt(() => this.#file.close());
    attempt(() => this.#directory.fileSystem.unlink(this.#path));
  }

  async #syncEarly(): Promise<void> {
    this.#isSyncing = true;
    try {
      await this.#file.syncInBackground();
    } catch (error) {
      this.#failure ??= error as Error;
    } finally {
      this.#isSyncing = false;
    }
  }
}

const dayMs = 86_400_000;

/**
 * Removes temp files last written before a time. One whose process id is in use gets a day more. Other files
 * in the folder belong to other programs.
 */
export async function removeTempFiles(
  directory: StoreDirectory,
  before: number,
  { dryRun }: { readonly dryRun: boolean },
): Promise<BlobLeftovers> {
  const { fileSystem } = directory;
  const removed = { count: 0, bytes: 0 };
  for (const { name } of await fileSystem.list(directory.at("tmp"))) {
    const [, pid] = /^([1-9]\d{0,15})-[0-9a-f]{16}$/.exec(name) ?? [];
    if (pid === undefined) continue;
    const path = directory.at("tmp", name);
    const stat = fileSystem.lstat(path);
    if (stat?.kind !== "file") continue;
    if (stat.mtimeMs >= (isRunning(Number(pid)) ? before - dayMs : before)) continue;
    if (!dryRun && !fileSystem.unlink(path)) continue;
    removed.count++;
    removed.bytes += stat.size;
  }
  return removed;
}

function attempt(act: () => void): void {
  try {
    act();
  } catch {
    // See `discard`.
  }
}

// Reads blob files: small ones whole, large ones in pieces on the thread pool.

/** Files up to this size are read on the calling thread; larger ones in pieces on the pool. */
const wholeBytes = 256 * 1024;
const pieceBytes = 1024 * 1024;

/** The bytes of an open file of this size; undefined if they are too many to be read at once. */
export function readWhole(file: OpenFile, size: number): Uint8Array | undefined {
  if (size > wholeBytes) return undefined;
  // One byte more than expected, so that a file that grew fails verification.
  const into = new Uint8Array(size + 1);
  return into.subarray(0, readFullySync(file, into, 0));
}

/** Whether an open file has exactly these bytes: at once if they are few, else read on the pool. */
export function hasBytes(file: OpenFile, bytes: Uint8Array): boolean | Promise<boolean> {
  const whole = readWhole(file, bytes.length);
  if (whole !== undefined) return Buffer.compare(whole, bytes) === 0;
  return (async () => {
    const into = new Uint8Array(pieceBytes);
    for (let at = 0; ; ) {
      const count = await file.read(into, at);
      if (count === 0) return at === bytes.length;
      if (Buffer.compare(into.subarray(0, count), bytes.subarray(at, at + count)) !== 0) return false;
      at += count;
    }
  })();
}

/** The bytes of a file in pieces, with one piece read ahead. Closes the file, however it ends. */
export async function* readPieces(file: OpenFile): AsyncGenerator<Uint8Array, void, undefined> {
  const readAt = async (at: number): Promise<Uint8Array> => {
    const into = new Uint8Array(pieceBytes);
    return into.subarray(0, await file.read(into, at));
  };
  try {
    let next = readAt(0);
    for (let at = 0; ; ) {
      const piece = await next;
      if (piece.length === 0) return;
      at += piece.length;
      next = readAt(at);
      // A failure that is never awaited must not be an unhandled rejection.
      next.catch(() => undefined);
      yield piece;
    }
  } finally {
    file.close();
  }
}
