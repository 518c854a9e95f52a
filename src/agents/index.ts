/**
 * Sessions of other agents: detect, import and export them. The formats are subpaths of their own, passed in.
 *
 * @module interop
 */

export { detectSession } from "./detect.js";
export { exportSession } from "./export.js";
export { importSession } from "./import.js";
export { type RedactedSession, type RedactSessionOptions, redactSession } from "./redact-session.js";
export { type SecretRedaction, secretRedaction } from "./redaction.js";
export { commonSecrets, type SecretRule } from "./secret-rules.js";
export type {
  AppendSource,
  DetectedSession,
  DraftEntry,
  EntryBuilder,
  ExportableSession,
  ExportedSession,
  ExportFindingCode,
  ExportOptions,
  ExportSource,
  ForeignFile,
  ForeignFormat,
  ForeignFormatName,
  ForeignRecord,
  ForeignSource,
  ImportedSession,
  ImportFindingCode,
  ImportOptions,
  InteropFinding,
  InteropReport,
  RecordCounts,
  Redaction,
  SqliteReader,
  WriteSource,
  WrittenSession,
} from "./types.js";
