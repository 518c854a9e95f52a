import type { FileStat, FileSystem, OpenFile } from "../../internal/node/file-system.js";
import type { LogPosition } from "../api/backend.js";
import { isSameFile, offsetOf, parsePosition } from "./log-position.js";

/**
 * The file that the places of a log's lines are places in: the one that was first read, or read again after it was
 * replaced. It stays open while it may, so that they mean the same after another file has taken its name; closed to
 * save a descriptor, it is opened again by name, and known by its last position.
 */
export class PlacesFile {
  readonly #disk: FileSystem;
  readonly #path: string;
  #file: OpenFile | undefined;
  /** Where it was last read or written. */
  #reached: LogPosition | undefined;
  /** Files before that one. A read may still be under way in them. */
  readonly #retired: OpenFile[] = [];
  /** The file that was read to its end after another had taken its name away. */
  #left: OpenFile | undefined;

  constructor(disk: FileSystem, path: string) {
    this.#disk = disk;
    this.#path = path;
  }

  /** Opens it if it is closed; undefined if another file has its name by now. */
  open(): OpenFile | undefined {
    const file = this.#file ?? this.#disk.open(this.#path, "read");
    if (file === undefined || file === this.#file) return file;
    let isThis = false;
    try {
      isThis = this.is(file, file.stat());
    } finally {
      if (!isThis) file.close();
    }
    if (isThis) this.#file = file;
    return this.#file;
  }

  /** Whether a file is this one. An inode's number alone may be another's by now. */
  is(file: OpenFile, stat: FileStat): boolean {
    return this.#reached === undefined || offsetOf(file, stat, this.#reached) !== undefined;
  }

  /** The log was read or written up to here. */
  reached(position: LogPosition): LogPosition {
    this.#reached = position;
    return position;
  }

  /** Takes an open file for this one where this one is closed. */
  adopt(file: OpenFile): void {
    this.#file ??= file;
  }

  /** From now on places are places in another file: this one, or the one that is opened next. Whether it changed. */
  become(file: OpenFile | undefined): boolean {
    const before = this.#file;
    this.#file = file;
    if (before !== undefined && before !== file) this.#retired.push(before);
    return this.#reached !== undefined && (before !== file || file === undefined);
  }

  /** Whether a file is closed by this, and not by who opened it. */
  keeps(file: OpenFile): boolean {
    return this.#file === file || this.#retired.includes(file);
  }

  /**
   * The file that a position is in, which has lost its name since: for one last read of what was acknowledged before it
   * was moved away or deleted. undefined if it was closed.
   */
  leaving(from: LogPosition | undefined): OpenFile | undefined {
    const position = from === undefined ? undefined : parsePosition(from);
    const file = this.#file;
    if (position === undefined || file === undefined || file === this.#left) return undefined;
    if (!isSameFile(position, file.stat())) return undefined;
    this.#left = file;
    return file;
  }

  close(): void {
    this.#file?.close();
    this.#file = undefined;
    for (const file of this.#retired.splice(0)) file.close();
  }
}
