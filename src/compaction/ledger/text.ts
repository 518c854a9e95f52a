import type { FileLedger } from "./records.js";

/** How much of a ledger is told. */
export interface LedgerTextOptions {
  /** Lines of files in each block; at least 0, by default 100. */
  readonly maxFiles?: number;
}

export declare function ledgerText(ledger: FileLedger, options?: LedgerTextOptions): string;
export declare function stripLedgerText(summary: string): string;
