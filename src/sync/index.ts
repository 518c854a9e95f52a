export { mergeSessions } from "./merge.js";
export type { ErasureOptions, SyncOptions, SyncReport } from "./options.js";
export { copySessions, syncSessions } from "./sessions.js";
