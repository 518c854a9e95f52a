/**
 * Sessions in files.
 *
 * @module session/node
 */
export type { Durability } from "../api/backend.js";
export { type FileSessionStoreOptions, fileSessionStore, openSessionFile } from "./file-store.js";
export {
  type EntriesBackwardsOptions,
  type EntriesPage,
  readEntriesBackwards,
} from "./pages/read-entries-backwards.js";
// ARCHITECTURE promises these names here; their home is sessile/session/repair.
export {
  type BlobState,
  type DiagnoseOptions,
  diagnoseSession,
  type FindingSeverity,
  type OrphanPlacing,
  type SalvagedPlace,
  type SalvageOptions,
  type SalvageReport,
  type SessionDiagnosis,
  type SessionFinding,
  type SessionFindingCode,
  salvageSession,
} from "./repair/index.js";
