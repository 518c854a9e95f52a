import type { FileSystem } from "../../internal/node/file-system.js";

/** Holds descriptors that it can close, and open again when they are needed. */
export interface FileHolder {
  /** Closes them unless they are in use. Whether it did. */
  rest(): boolean;
}

/** So many sessions of a process keep their files open, two descriptors each at most, besides those in use. */
const maxHolders = 128;

/** Bounds the descriptors of open sessions: beyond a number, those not used for longest close theirs. */
export class OpenFiles {
  readonly #max: number;
  /** Those used last come last. */
  readonly #holders = new Set<FileHolder>();
  #latest: FileHolder | undefined;

  constructor(max: number) {
    this.#max = max;
  }

  /** To be called when descriptors are opened or used. */
  used(holder: FileHolder): void {
    if (holder === this.#latest) return;
    this.#holders.delete(holder);
    this.#holders.add(holder);
    this.#latest = holder;
    this.trim();
  }

  /** To be called when a holder's descriptors are no longer in use. */
  trim(): void {
    if (this.#holders.size <= this.#max) return;
    for (const holder of this.#holders) if (holder.rest() && this.remove(holder) <= this.#max) return;
  }

  /** A holder has no descriptors any more. How many still have. */
  remove(holder: FileHolder): number {
    this.#holders.delete(holder);
    if (holder === this.#latest) this.#latest = undefined;
    return this.#holders.size;
  }
}

const byDisk = new WeakMap<FileSystem, OpenFiles>();

/**
 * The files of a disk, whichever store opened them: a program may make a store for each request.
 *
 * @param max of a disk that is new here
 */
export function openFilesOf(disk: FileSystem, max = maxHolders): OpenFiles {
  let files = byDisk.get(disk);
  if (files === undefined) {
    files = new OpenFiles(max);
    byDisk.set(disk, files);
  }
  return files;
}
