import type { FileLedger, FileRecord } from "./records.js";

/** A file that is no longer as the conversation last saw it. */
export interface StaleFile {
  readonly record: FileRecord;
  /**
   * `changed`: its content is another one. `missing`: it is not there, and was not deleted or moved away. `back`: it is
   * there, though it was deleted or moved away. `unknown`: the probe threw.
   */
  readonly reason: "changed" | "missing" | "back" | "unknown";
  /** What the probe threw, with `unknown`. */
  readonly cause?: unknown;
}

/** How files are asked for. */
export interface StaleFilesOptions {
  /** Its reason is thrown once it aborts. */
  readonly signal?: AbortSignal;
  /** How many probes run at a time; at least 1, by default 8. */
  readonly concurrency?: number;
}

export declare function staleFiles(
  ledger: FileLedger,
  probe: (path: string) => Promise<string | undefined> | string | undefined,
  options?: StaleFilesOptions,
): Promise<readonly StaleFile[]>;
