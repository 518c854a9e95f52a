/**
 * Discovery: the sessions of other agents on this machine.
 */
export {
  type FindOptions,
  type FoundSession,
  findSessions,
  followSession,
  sessionFiles,
} from "./find-sessions.js";
