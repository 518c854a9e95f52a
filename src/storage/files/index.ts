/** Sessions, blobs and attachments in files. */

export type { Durability } from "../../session/internal.js";
export * from "./attachments/index.js";
export * from "./blobs/index.js";
export {
  type AttachFileOptions,
  type FolderStorage,
  type OpenFolderOptions,
  openFolder,
} from "./open-folder.js";
export {
  type EntriesBackwardsOptions,
  type EntriesPage,
  readEntriesBackwards,
} from "./pages/read-entries-backwards.js";
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
export { type FileSessionStoreOptions, fileSessionStore, openSessionFile } from "./session-store.js";
