export { mergeSessions } from "./merge.js";
export type { ErasureOptions, SyncOptions } from "./options.js";
export type { SyncReport } from "./report.js";
export { copySessions, syncSessions } from "./sessions.js";
