/** Watches a log file for changes. */

import type { FileSystem } from "../../core/node/file-system.js";

/**
 * Wakes readers when a file may have changed. A change between two waits is not lost: the next wait resolves
 * at once.
 */
export class LogWatch {
  readonly #fs: FileSystem;
  readonly #path: string;
  #unwatch: (() => void) | undefined;
  readonly #waiting = new Set<() => void>();
  /** Whether the file changed while no reader waited. */
  #missed = false;

  constructor(fs: FileSystem, path: string) {
    this.#fs = fs;
    this.#path = path;
  }

  /**
   * Resolves when the file may have changed since the last call, the signal aborts, or the watch is closed.
   */
  changed(signal: AbortSignal): Promise<void> {
    if (this.#unwatch === undefined) this.#watch();
    if (this.#missed) {
      this.#missed = false;
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const done = () => {
        this.#waiting.delete(done);
        signal.removeEventListener("abort", done);
        resolve();
      };
      this.#waiting.add(done);
      signal.addEventListener("abort", done, { once: true });
    });
  }

  /** Watches the name anew: a watch stays with the file that had the name when it began. */
  renew(): void {
    if (this.#unwatch === undefined) return;
    this.#unwatch();
    this.#watch();
  }

  close(): void {
    this.#unwatch?.();
    this.#unwatch = undefined;
    this.#wake();
    this.#missed = false;
  }

  #watch(): void {
    this.#unwatch = this.#fs.watch(this.#path, () => this.#wake());
    // A change between the caller's read and this watch is not reported.
    this.#missed = true;
  }

  #wake(): void {
    this.#missed = this.#waiting.size === 0;
    for (const done of [...this.#waiting]) done();
  }
}
