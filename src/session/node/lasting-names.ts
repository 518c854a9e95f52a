import { dirname } from "node:path";
import { errnoOf } from "../../internal/storage-error.js";
import type { Disk } from "./disk.js";

/**
 * The directories on the way to a store's files, whose names have to last with what is in the files. Also names that were
 * there already: whoever made them may have been killed before it came to make them last, and what is acknowledged
 * behind such a name would go with it.
 */
export class LastingNames {
  readonly #disk: Disk;
  readonly #dir: string;
  /** Directories above the store in which the name on the way to it is known to last. */
  readonly #lasting = new Set<string>();

  /** @param dir the store's directory, absolute */
  constructor(disk: Disk, dir: string) {
    this.#disk = disk;
    this.#dir = dir;
  }

  /** Makes a directory and those above it. */
  make(directory: string): void {
    const made = this.#disk.makeDirectory(directory);
    if (made === undefined) return;
    for (const at of this.#lasting) if (at.length >= dirname(made).length) this.#lasting.delete(at);
  }

  /** Makes the names last in a directory, and those on the way to it: above the store once, within it each time. */
  async sync(directory: string): Promise<void> {
    for (let at = directory, last = ""; at !== last; last = at, at = dirname(at)) {
      if (at.length >= this.#dir.length) await this.#disk.syncDirectory(at);
      else if (!this.#lasting.has(at)) await this.#syncAbove(at);
    }
  }

  async #syncAbove(directory: string): Promise<void> {
    try {
      await this.#disk.syncDirectory(directory);
    } catch (error) {
      // What the store lies in need not be open to whoever uses the store: then another made it.
      if (!["EACCES", "EROFS"].includes(errnoOf(error) ?? "")) throw error;
    }
    this.#lasting.add(directory);
  }
}
