/**
 * Sessions in files.
 *
 * @module session/node
 */
export type { Durability } from "../backend.js";
export { type DiagnoseOptions, diagnoseSession, type SessionDiagnosis } from "./diagnose.js";
export {
  type EntriesBackwardsOptions,
  type EntriesPage,
  readEntriesBackwards,
} from "./entries-backwards.js";
export { type FileSessionStoreOptions, fileSessionStore, openSessionFile } from "./file-store.js";
export type { FindingSeverity, SessionFinding, SessionFindingCode } from "./findings.js";
export type { OrphanPlacing } from "./lost-parents.js";
export type { BlobState } from "./named-blobs.js";
export { type SalvageOptions, type SalvageReport, salvageSession } from "./salvage.js";
export type { SalvagedPlace } from "./salvaged-lines.js";
