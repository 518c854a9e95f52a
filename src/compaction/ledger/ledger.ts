import type { Context } from "../../content/index.js";
import type { FileToolTable } from "./operations.js";
import type { FileLedger } from "./records.js";

/** How calls are read. */
export interface FileLedgerOptions {
  /** The absolute directory that relative paths start from. Without it paths are tidied, but a relative one and an absolute one never meet. */
  readonly cwd?: string;
  /** By default {@link fileTools}. */
  readonly tools?: FileToolTable;
}

export declare function fileLedger(context: Pick<Context, "items">, options?: FileLedgerOptions): FileLedger;
