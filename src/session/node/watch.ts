import type { FileSystem } from "../../internal/node/file-system.js";

/** Tells those who wait for it that a file may have changed, whether they waited at that moment or came right after. */
export class LogWatch {
  readonly #disk: FileSystem;
  readonly #path: string;
  #unwatch: (() => void) | undefined;
  readonly #waiting = new Set<() => void>();
  /** It changed while nobody waited. */
  #missed = false;

  constructor(disk: FileSystem, path: string) {
    this.#disk = disk;
    this.#path = path;
  }

  /** Resolves when the file may have changed since the last time, the signal aborts, or the watch is closed. */
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

  /** Another file has the name: a watch is of the file that had it when it began. */
  renew(): void {
    if (this.#unwatch === undefined) return;
    this.#unwatch();
    this.#watch();
  }

  close(): void {
    this.#unwatch?.();
    this.#unwatch = undefined;
    this.#tell();
    this.#missed = false;
  }

  #watch(): void {
    this.#unwatch = this.#disk.watch(this.#path, () => this.#tell());
    // Whoever asks has read the file before this.
    this.#missed = true;
  }

  #tell(): void {
    this.#missed = this.#waiting.size === 0;
    for (const done of [...this.#waiting]) done();
  }
}
