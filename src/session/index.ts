/**
 * Sessions: a tree of entries in a log that is only ever appended to, and the context that a model is to see.
 *
 * @module session
 */
export type {
  LinePlace,
  LineRanges,
  LogAppend,
  LogBatch,
  LogPosition,
  LongLine,
  SessionBackend,
  SessionLog,
  StoredSession,
  StoredSessionQuery,
} from "./backend.js";
export { type EncodeOptions, encodeEntry } from "./codec/encode.js";
export type { ReadLimits } from "./codec/limits.js";
export { type ParsedSession, parseSession, type SessionSource } from "./codec/parse.js";
export { buildSessionContext, type ContextSource } from "./context/build.js";
export type { Diagnostic, DiagnosticCode, Diagnostics } from "./diagnostics.js";
export {
  type CustomEntryType,
  customEntry,
  type EntryBase,
  type EntryDraft,
  type EntryMap,
  type EntryType,
  type FileDiff,
  type SessionEntry,
  type SessionHeader,
  type SessionInfoFields,
  type SessionInfoPatch,
  type SessionStats,
  type UnknownEntry,
} from "./entries.js";
export type { EphemeralEvent, SessionEventMap, SessionEventName, ToolState } from "./events.js";
export type { SessionInfo } from "./info.js";
export { sessionMark } from "./mark.js";
export { memorySessionStore } from "./memory.js";
export { evaluatePermission, type PermissionRule } from "./permissions.js";
export type { RecordingOptions } from "./recording.js";
export { type SessionStoreOptions, sessionStore } from "./store.js";
export { type EntryNode, SessionTree, type TreeStep } from "./tree/tree.js";
export {
  type ToolCallState,
  type TurnContext,
  type TurnSettings,
  toolStarted,
  turnSettings,
} from "./turn.js";
export type {
  AppendOptions,
  ForkOptions,
  RewriteEntry,
  Session,
  SessionQuery,
  SessionRef,
  SessionStore,
  SessionStoreEventMap,
  SessionSummary,
} from "./types.js";
