/**
 * Sessions of other agents: detect, import and export them. The formats are subpaths of their own, passed in.
 *
 * @module interop
 */

export { detectSession } from "./detect.js";
export { exportSession } from "./export.js";
export { importSession } from "./import.js";
export { type RedactSessionOptions, redactSession } from "./redact-session.js";
export { type SecretRedaction, secretRedaction } from "./redaction.js";
export { commonSecrets } from "./secret-rules.js";
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
