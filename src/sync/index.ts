/**
 * Moving sessions between stores, and merging copies of one session that have diverged.
 *
 * @module sync
 */
export type { StateConflict } from "./closing.js";
export { type MergedSession, mergeSessions, type SessionBytes } from "./merge.js";
export type { BlobStores, SyncOptions } from "./options.js";
export type { CopyReport, DifferingEntry, SkippedSession, SyncConflict, SyncReport } from "./report.js";
export { copySessions, syncSessions } from "./sessions.js";
