import type { FileLedger, FileRecord } from "./records.js";

/** What a compaction entry's `details` hold of a ledger: pi's two lists, and the records beside them. */
export interface FileLedgerDetails {
  /** Paths of files that were only read, sorted. */
  readonly readFiles: readonly string[];
  /** Paths of files that were created, modified, deleted or moved, sorted. */
  readonly modifiedFiles: readonly string[];
  /** Every file. */
  readonly files: readonly FileRecord[];
}

export declare function ledgerDetails(ledger: FileLedger): FileLedgerDetails;
export declare function ledgerOfDetails(details: unknown, options?: { readonly cwd?: string }): FileLedger;
