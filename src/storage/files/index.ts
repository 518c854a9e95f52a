/** Sessions, blobs and attachments in files. */

export type { Durability } from "../../session/internal.js";
export * from "./attachments/index.js";
export * from "./blobs/index.js";
export {
  type EntriesBackwardsOptions,
  type EntriesPage,
  readEntriesBackwards,
} from "./read-ends.js";
export {
  type BlobState,
  type DiagnoseOptions,
  diagnoseSession,
  type SessionFinding,
} from "./repair/diagnose.js";
export { type SalvageOptions, type SalvageReport, salvageSession } from "./repair/salvage.js";
export {
  type AttachFileOptions,
  type FileSessionStoreOptions,
  fileSessionStore,
  type OpenFolderOptions,
  openFolder,
  openSessionFile,
} from "./session-store.js";
