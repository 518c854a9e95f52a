/**
 * Discovery: the sessions of other agents on this machine.
 */
export { type FindOptions, type FoundSession, findSessions } from "./find-sessions.js";
export { type FollowOptions, followSession, sessionFiles } from "./session-files.js";
