export type { FileAction, FileLedger, FileRecord } from "./details.js";
export {
  type FileLedgerDetails,
  type LedgerTextOptions,
  ledgerDetails,
  ledgerText,
  stripLedgerText,
} from "./details.js";
export { type FileLedgerOptions, fileLedger } from "./ledger-builder.js";
export { type StaleFile, type StaleFilesOptions, staleFiles } from "./stale.js";
export type { FileOperation, FileToolReader, FileToolRow, FileToolTable } from "./tool-table.js";
export { fileTools } from "./tool-table.js";
