/**
 * Diagnosis and repair of session files: every fault of a file without changing it, and a new file of all
 * lines that can be read.
 */
export type { BlobState } from "./check-blob-refs.js";
export { type DiagnoseOptions, diagnoseSession, type SessionDiagnosis } from "./diagnose.js";
export type { FindingSeverity, SessionFinding, SessionFindingCode } from "./findings.js";
export { type SalvageOptions, type SalvageReport, salvageSession } from "./salvage.js";
export type { OrphanPlacing, SalvagedPlace } from "./salvage-lines.js";
