/**
 * Sessions in files.
 *
 * @module session/node
 */
export type { Durability } from "../../session/internal.js";
export { type FileSessionStoreOptions, fileSessionStore, openSessionFile } from "./session-store.js";
export {
  type EntriesBackwardsOptions,
  type EntriesPage,
  readEntriesBackwards,
} from "./pages/read-entries-backwards.js";
// ARCHITECTURE promises these names here; their home is sessile/node.
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
