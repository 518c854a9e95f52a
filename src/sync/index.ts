/**
 * Moving sessions between stores, and merging copies of one session that have diverged.
 *
 * @module sync
 */
export type { StateConflict } from "./closing.js";
export { type MergedSession, mergeSessions, type SessionBytes } from "./merge.js";
export type { BlobStores, ErasureOptions, SyncOptions } from "./options.js";
export type {
  CopyReport,
  DifferingEntry,
  PendingErasure,
  SkippedSession,
  SyncConflict,
  SyncReport,
} from "./report.js";
export { copySessions, syncSessions } from "./sessions.js";
