export { type FileLedgerDetails, ledgerDetails } from "./details.js";
export { type FileLedgerOptions, fileLedger } from "./ledger.js";
export type { FileOperation, FileToolReader, FileToolRow, FileToolTable } from "./operations.js";
export type { FileDeed, FileLedger, FileRecord } from "./records.js";
export { type StaleFile, type StaleFilesOptions, staleFiles } from "./stale.js";
export { type LedgerTextOptions, ledgerText, stripLedgerText } from "./text.js";
export { fileTools } from "./tools.js";
