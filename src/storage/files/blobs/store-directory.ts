/** `fileBlobStore`: a blob store in a folder, and how the folder is made. */

import { join, resolve } from "node:path";
import { type BlobStat, type BlobStore, type BlobStoreOptions, blobStore } from "../../../blobs/index.js";
import { digestArgument } from "../../../blobs/internal.js";
import type { BlobRef } from "../../../content/index.js";
import { assertOptions, type Durability, oneOfOption, stringArgument } from "../../../core/arguments.js";
import { decodeUtf8, encodeUtf8 } from "../../../core/bytes.js";
import { SessileError } from "../../../core/errors/index.js";
import { randomHex8 } from "../../../core/ids.js";
import {
  DurableDirectories,
  errnoCode,
  type FileSystem,
  publishExclusive,
  readFullySync,
  writeNewFile,
} from "../../../core/node/file-system.js";
import { createNodeFileSystem } from "../../../core/node/node-file-system.js";
import { isRecord } from "../../../core/shape.js";
import { FileBlobBackend } from "./file-backend.js";
import { flat, formatVersion, type Layout, nodeSha256, sharded } from "./layout.js";

const maxFormatBytes = 64 * 1024;

/** The directory of a store: its format, its folders, and names for temp files. */
export class StoreDirectory {
  readonly path: string;
  readonly fileSystem: FileSystem;
  readonly layout: Layout;
  readonly durable: boolean;
  readonly #directories: DurableDirectories;
  #isFormatChecked = false;

  constructor(path: string, fileSystem: FileSystem, layout: Layout, durability: Durability) {
    this.path = resolve(path);
    this.fileSystem = fileSystem;
    this.layout = layout;
    this.durable = durability === "disk";
    this.#directories = new DurableDirectories(fileSystem, this.path);
  }

  /** A path below this directory. */
  at(...parts: readonly string[]): string {
    return join(this.path, ...parts);
  }

  /** Throws BLOB_STORE_FORMAT if the store has another layout. A store that does not exist yet passes. */
  check(): void {
    if (this.#isFormatChecked) return;
    const found = this.#readFormat();
    if (found === undefined) return;
    this.#compare(found);
    this.#isFormatChecked = true;
  }

  /** Creates the store if it does not exist. */
  async prepare(): Promise<void> {
    this.check();
    this.createFolder("tmp");
    if (!this.#isFormatChecked) await this.#writeFormat();
  }

  /** A path for a temp file. The process id tells whether its writer still runs. */
  temporaryPath(): string {
    return this.at("tmp", `${process.pid}-${randomHex8()}${randomHex8()}`);
  }

  /** Creates a folder and its missing parents. Their names are durable after `sync`. */
  createFolder(folder: string): void {
    this.#directories.create(this.at(folder));
  }

  /** Fsyncs a folder, and its parents as far as their names are not known to be durable. */
  async sync(folder: string): Promise<void> {
    if (this.durable) await this.#directories.sync(this.at(folder));
  }

  /** Forgets which folders exist: another program removed one. */
  forget(): void {
    this.#directories.forget();
    this.#isFormatChecked = false;
  }

  #compare(found: unknown): void {
    const expected = this.layout.description;
    const isSame =
      isRecord(found) &&
      ["format", "layout", "digest"].every((key) => (found[key] ?? undefined) === expected[key]);
    if (isSame) return;
    const path = this.at("store.json");
    const isNewer = isRecord(found) && typeof found.format === "number" && found.format > formatVersion;
    const why = isNewer
      ? "a newer version wrote it: update this library"
      : "open the store with its own layout";
    const shown = JSON.stringify(found) ?? "no JSON";
    throw new SessileError(
      "BLOB_STORE_FORMAT",
      `${path}: expected ${JSON.stringify(expected)}, got ${shown}: ${why}`,
      {
        details: { path, expected: JSON.stringify(expected), found: shown },
      },
    );
  }

  /** The content of store.json; undefined if there is none, null if it is not JSON. */
  #readFormat(): unknown {
    const file = this.#openFormat();
    if (file === undefined) return undefined;
    try {
      const into = new Uint8Array(Math.min(file.stat().size, maxFormatBytes));
      const text = decodeUtf8(into.subarray(0, readFullySync(file, into, 0)));
      return JSON.parse(text ?? "");
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      return null;
    } finally {
      file.close();
    }
  }

  #openFormat(): ReturnType<FileSystem["open"]> {
    try {
      return this.fileSystem.open(this.at("store.json"), "readNoFollow");
    } catch (error) {
      if (errnoCode(error) === "ENOTDIR") return undefined;
      throw error;
    }
  }

  /** Publishes store.json atomically. If another process does so first, its file counts. */
  async #writeFormat(): Promise<void> {
    const { fileSystem, durable } = this;
    const temporary = this.temporaryPath();
    const bytes = encodeUtf8(`${JSON.stringify(this.layout.description)}\n`);
    await writeNewFile(fileSystem, temporary, [bytes], { sync: durable, mode: "createReadOnly" });
    try {
      publishExclusive(fileSystem, temporary, this.at("store.json"));
    } finally {
      fileSystem.unlink(temporary);
    }
    await this.sync(".");
    this.check();
  }
}

/** The paths, relative to the store, at which a blob exists. */
export async function existingPaths(directory: StoreDirectory, ref: BlobRef): Promise<readonly string[]> {
  const folder = directory.layout.folderByRef(ref);
  return (await existingNames(directory, ref)).map((name) => join(folder, name));
}

/**
 * Names of the layout or, if it has several and none exists, of other programs. A single name is not checked.
 */
async function existingNames(directory: StoreDirectory, ref: BlobRef): Promise<readonly string[]> {
  const { layout, fileSystem } = directory;
  const names = layout.namesByRef(ref);
  if (names.length < 2) return names;
  const folder = layout.folderByRef(ref);
  const known = names.filter((name) => fileSystem.lstat(directory.at(folder, name)) !== undefined);
  if (known.length > 0) return known;
  const all = await fileSystem.list(directory.at(folder));
  return all.map(({ name }) => name).filter((name) => layout.refAt(folder, name) === ref);
}

/** Files that are listed before the event loop runs other work. */
const filesPerTick = 256;

/** Every blob of a store, once. */
export async function* listBlobs(
  directory: StoreDirectory,
  signal: AbortSignal | undefined,
): AsyncGenerator<BlobStat, void, undefined> {
  const { layout, fileSystem } = directory;
  const namesIn = async (folder: string) =>
    (await fileSystem.list(directory.at(folder))).map(({ name }) => name);
  for await (const folder of layout.folders(namesIn)) {
    const listed = new Set<BlobRef>();
    let seen = 0;
    for (const name of await namesIn(folder)) {
      signal?.throwIfAborted();
      if (++seen % filesPerTick === 0) await new Promise((resolve) => setImmediate(resolve));
      const ref = layout.refAt(folder, name);
      if (ref === undefined || listed.has(ref)) continue;
      const stat = fileSystem.lstat(directory.at(folder, name));
      if (stat?.kind !== "file") continue;
      listed.add(ref);
      yield { ref, size: stat.size, touchedAt: stat.mtimeMs };
    }
  }
}

// Opens a blob store in a directory.

/** Options of {@link fileBlobStore}. */
export interface FileBlobStoreOptions extends BlobStoreOptions {
  /** The directory of the store; created by the first put. */
  readonly dir: string;
  /**
   * `sharded`, the default: `blobs/<algorithm>/<two digits>/<digits>`. `flat`: `blobs/<digits>.<extension>`,
   * the extension by the media type of the put, all blobs of the one algorithm `digest`.
   */
  readonly layout?: "sharded" | "flat";
  /**
   * `disk`, the default: a put that resolved survives a power loss. `os`: it survives a crash of the process.
   */
  readonly durability?: Durability;
}

/**
 * Blobs in read-only files, one a blob. Several processes may use the same directory. Bytes are written to a
 * temp file, fsynced and published by an atomic rename; then the folder is fsynced. A file that does not
 * match its name is moved to `quarantine/`, a collected one to `trash/`. A partition is a directory
 * `@<name>`.
 *
 * @throws TypeError, RangeError for invalid options
 * @example
 * ```ts
 * const blobs = fileBlobStore({ dir: ".agent/blobs" });
 * const { ref } = await blobs.put(bytes);
 * ```
 * @example
 * ```ts
 * // As other programs lay them out: sessions/blobs/<sha256>.<ext>, and context/blobs/<blake3>.<ext>.
 * const images = fileBlobStore({ dir: "sessions", layout: "flat" });
 * const pasted = fileBlobStore({ dir: "context", layout: "flat", digest: "blake3" });
 * await images.put(bytes, { mediaType: "image/png" });
 * ```
 */
export function fileBlobStore(options: FileBlobStoreOptions): BlobStore {
  return fileBlobStoreOn(createNodeFileSystem({ paceSyncs: true }), options);
}

/** {@link fileBlobStore} on any file system. */
export function fileBlobStoreOn(fileSystem: FileSystem, options: FileBlobStoreOptions): BlobStore {
  assertOptions(options, "{ dir }");
  const { digest = "sha256", hashes = [] } = options;
  const layout = oneOfOption("layout", options.layout, ["sharded", "flat"]);
  const durability = oneOfOption("durability", options.durability, ["disk", "os"]);
  const backend = new FileBlobBackend({
    dir: stringArgument("dir", options.dir),
    fileSystem,
    layout: layout === "flat" ? flat(digestArgument("digest", digest)) : sharded,
    durability,
  });
  return blobStore(backend, { ...options, hashes: [nodeSha256, ...hashes] });
}
