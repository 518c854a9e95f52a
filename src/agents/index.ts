/**
 * Sessions of other agents: detect, import and export them. The formats are subpaths of their own, passed in.
 *
 * @module interop
 */

export { type AtifContent, type AtifTrajectory, toAtif } from "./atif.js";
export { openaiFinetune, otlp, shareGpt } from "./data-sets.js";
export { exportSession } from "./export.js";
export { importSession } from "./import.js";
export { pi } from "./pi.js";
export { redactSession, type SecretRedaction, secretRedaction } from "./redaction.js";
export { commonSecrets } from "./secret-rules.js";
export { detectSession } from "./table.js";
export type {
  EntryBuilder,
  ExportableSession,
  ExportOptions,
  ExportSource,
  ForeignFile,
  ForeignFormat,
  ImportedSession,
  ImportOptions,
  InteropFinding,
  InteropReport,
  Redaction,
  SqliteReader,
  WriteSource,
} from "./types.js";
