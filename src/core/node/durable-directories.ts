/** Durable names: fsync of the parent directories of a store's files, each once. */

import { dirname } from "node:path";
import type { FileSystem } from "./file-system.js";
import { errnoCode } from "./file-system.js";

/**
 * Fsyncs the parent directories of a store's files, up to the root of the file system. Existing directories
 * are synced too: their creator may have crashed before it synced the parent, and a power loss would take the
 * directory entry with every acknowledged write below it.
 */
export class DurableDirectories {
  readonly #fileSystem: FileSystem;
  readonly #store: string;
  readonly #everyTime: boolean;
  /** Directories that are known to exist. */
  readonly #existing = new Set<string>();
  /** Directories whose own name is known to be durable in their parent. */
  readonly #durable = new Set<string>();

  /**
   * @param store the store's directory, absolute
   * @param options.everyTime syncs directories within the store each time, for a store in which other
   *   processes remove and recreate them unnoticed. Default false: each once, until `forget`.
   */
  constructor(fileSystem: FileSystem, store: string, { everyTime = false } = {}) {
    this.#fileSystem = fileSystem;
    this.#store = store;
    this.#everyTime = everyTime;
  }

  /** Creates a directory and its missing parents. Their names are durable after `sync`. */
  create(directory: string): void {
    if (!this.#everyTime && this.#existing.has(directory)) return;
    const created = this.#fileSystem.mkdir(directory);
    this.#existing.add(directory);
    if (created === undefined) return;
    for (const at of this.#durable) if (at.length >= created.length) this.#durable.delete(at);
  }

  /**
   * Fsyncs a directory, and the parents whose entries on the way to it are not known to be durable. Innermost
   * first, which on a journaling file system leaves little to do for the others.
   */
  async sync(directory: string): Promise<void> {
    await this.#fileSystem.syncDirectory(directory);
    for (let at = directory; dirname(at) !== at; at = dirname(at)) {
      const isInStore = dirname(at).length >= this.#store.length;
      if (this.#durable.has(at) && !(this.#everyTime && isInStore)) return;
      await this.#syncParent(at, isInStore);
      this.#durable.add(at);
    }
  }

  /** Forgets which directories exist: another program removed one. */
  forget(): void {
    this.#existing.clear();
    this.#durable.clear();
  }

  async #syncParent(directory: string, isInStore: boolean): Promise<void> {
    try {
      await this.#fileSystem.syncDirectory(dirname(directory));
    } catch (error) {
      // The parents of a store need not be accessible to its user: then another user created them.
      if (isInStore || !["EACCES", "EROFS"].includes(errnoCode(error) ?? "")) throw error;
    }
  }
}
