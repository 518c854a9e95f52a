/** The directory of a file blob store: its format file, its folders and its blobs. */

import { join, resolve } from "node:path";
import type { BlobStat } from "../../../blobs/index.js";
import type { BlobRef } from "../../../content/index.js";
import type { Durability } from "../../../core/arguments.js";
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
import { isRecord } from "../../../core/shape.js";
import { formatVersion, type Layout } from "./layout.js";

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
