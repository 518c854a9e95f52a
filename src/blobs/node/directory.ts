import { dirname, join, resolve } from "node:path";
import { SessileError } from "../../errors/index.js";
import { decodeUtf8, encodeUtf8 } from "../../internal/bytes.js";
import { randomHex8 } from "../../internal/ids.js";
import { assertTaken, progress } from "../../internal/lost-bytes.js";
import { isRecord } from "../../internal/shape.js";
import { errnoOf } from "../../internal/storage-error.js";
import type { BlobDisk } from "./disk.js";
import { formatVersion, type Layout } from "./layout.js";

/** What outlives what: `disk` the loss of power, `os` the death of the process. */
export type Durability = "disk" | "os";

const maxFormatBytes = 64 * 1024;

/** The directory of a store: its format, its folders, and names for files that are being written. */
export class StoreDirectory {
  readonly path: string;
  readonly disk: BlobDisk;
  readonly layout: Layout;
  readonly durable: boolean;
  /** The topmost folder that may have a new name: the store's, or the one in which that was made. */
  #topmost: string;
  /** Folders that are known to be there. */
  readonly #made = new Set<string>();
  /** Folders whose names are known to last. */
  readonly #lasting = new Set<string>();
  #checked = false;

  constructor(path: string, disk: BlobDisk, layout: Layout, durability: Durability) {
    this.path = resolve(path);
    this.#topmost = this.path;
    this.disk = disk;
    this.layout = layout;
    this.durable = durability === "disk";
  }

  /** A path below this directory. */
  at(...parts: readonly string[]): string {
    return join(this.path, ...parts);
  }

  /** Fails where the store was laid out in another way. A store that is not there yet is as good as any. */
  check(): void {
    if (this.#checked) return;
    const found = this.#readFormat();
    if (found === undefined) return;
    this.#compare(found);
    this.#checked = true;
  }

  /** Makes the store where there is none. */
  async prepare(): Promise<void> {
    this.check();
    this.makeFolder("tmp");
    if (!this.#checked) await this.#writeFormat();
  }

  /** A name for a file that is being written; the number says whose it is. */
  temporaryPath(): string {
    return this.at("tmp", `${process.pid}-${randomHex8()}${randomHex8()}`);
  }

  /** Makes a folder, with those above it, where it is not there. Its name lasts when `sync` has been called. */
  makeFolder(folder: string): void {
    const path = this.at(folder);
    if (this.#made.has(path)) return;
    const topmost = this.disk.makeDirectory(path);
    if (topmost !== undefined && topmost.length < this.#topmost.length) this.#topmost = topmost;
    this.#made.add(path);
  }

  /**
   * Makes the names in a folder last, and those of the folder and what is above it. Also of folders that were there:
   * another process may have made them a moment ago, and not have come further. The innermost first, which on a file
   * system with a journal leaves little to do for the others.
   */
  async sync(folder: string): Promise<void> {
    if (!this.durable) return;
    const path = this.at(folder);
    await this.disk.syncDirectory(path);
    for (let at = path; at.length >= this.#topmost.length && !this.#lasting.has(at); at = dirname(at)) {
      await this.#syncParent(at);
      this.#lasting.add(at);
    }
  }

  async #syncParent(path: string): Promise<void> {
    try {
      await this.disk.syncDirectory(dirname(path));
    } catch (error) {
      // What the store lies in need not be readable for whoever uses the store.
      if (path !== this.path || errnoOf(error) !== "EACCES") throw error;
    }
  }

  /** Forgets which folders there are: somebody removed one. */
  forget(): void {
    this.#made.clear();
    this.#lasting.clear();
    this.#checked = false;
  }

  #compare(found: unknown): void {
    const expected = this.layout.description;
    const isOurs =
      isRecord(found) &&
      ["format", "layout", "digest"].every((key) => (found[key] ?? undefined) === expected[key]);
    if (isOurs) return;
    const path = this.at("store.json");
    const isNewer = isRecord(found) && typeof found.format === "number" && found.format > formatVersion;
    const why = isNewer ? "a newer version laid it out" : "it was laid out in another way";
    const shown = JSON.stringify(found) ?? "no JSON";
    throw new SessileError("BLOB_STORE_FORMAT", `${path} is ${shown}: ${why}`, {
      details: { path, expected: JSON.stringify(expected), found: shown },
    });
  }

  /** What store.json says; undefined where there is none. */
  #readFormat(): unknown {
    const path = this.at("store.json");
    let fd: number;
    try {
      fd = this.disk.open(path);
    } catch (error) {
      if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return undefined;
      throw error;
    }
    try {
      const into = new Uint8Array(Math.min(this.disk.stat(fd).size, maxFormatBytes));
      const text = decodeUtf8(into.subarray(0, this.disk.readNow(fd, into)));
      return JSON.parse(text ?? "");
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      return null;
    } finally {
      this.disk.close(fd);
    }
  }

  /** Writes store.json whole or not at all; whoever is first counts. */
  async #writeFormat(): Promise<void> {
    const { disk } = this;
    const temporary = this.temporaryPath();
    const fd = disk.create(temporary);
    try {
      try {
        const bytes = encodeUtf8(`${JSON.stringify(this.layout.description)}\n`);
        for (let at = 0; at < bytes.length; ) at += progress(disk.writeNow(fd, bytes.subarray(at)));
        if (this.durable) await disk.sync(fd);
        assertTaken(disk.stat(fd).size, bytes.length);
      } finally {
        disk.close(fd);
      }
      placeNew(disk, temporary, this.at("store.json"));
    } catch (error) {
      disk.unlink(temporary);
      throw error;
    }
    await this.sync(".");
    this.check();
  }
}

/**
 * Moves a file to a name that no other has; where one has it, that one stays and ours goes. Where the file system has no
 * second names it is replaced.
 */
export function placeNew(disk: BlobDisk, from: string, to: string): void {
  if (giveName(disk, from, to)) disk.unlink(from);
}

/** The first half of {@link placeNew}: whether the old name is there still. */
export function giveName(disk: BlobDisk, from: string, to: string): boolean {
  try {
    disk.link(from, to);
  } catch (error) {
    const errno = errnoOf(error) ?? "";
    if (["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"].includes(errno)) {
      disk.rename(from, to);
      return false;
    }
    if (errno !== "EEXIST") throw error;
  }
  return true;
}
