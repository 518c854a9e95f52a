export { mergeSessions } from "./merge.js";
export type { ErasureOptions, SyncReport } from "./options.js";
export { copySessions, syncSessions } from "./sessions.js";
