/**
 * Sessions of other agents: detect, import and export them. The formats are subpaths of their own, passed in.
 *
 * @module interop
 */

export {
  type AtifContent,
  type AtifExport,
  type AtifOptions,
  type AtifTrajectory,
  toAtif,
} from "./atif.js";
export { exportSession } from "./export.js";
export { importSession } from "./import.js";
export {
  type RedactSessionOptions,
  redactSession,
  type SecretRedaction,
  secretRedaction,
} from "./redaction.js";
export { commonSecrets } from "./secret-rules.js";
export { detectSession } from "./table.js";
export type {
  EntryBuilder,
  ExportableSession,
  ExportFindingCode,
  ExportOptions,
  ExportSource,
  ForeignFile,
  ForeignFormat,
  ForeignFormatName,
  ImportedSession,
  ImportFindingCode,
  ImportOptions,
  InteropFinding,
  InteropReport,
  Redaction,
  SqliteReader,
  WriteSource,
} from "./types.js";
