/**
 * Sessions: a tree of entries in a log that is only ever appended to, and the context that a model is to see.
 */

export type { StoreOperation } from "../core/operations.js";
export {
  type CustomEntryType,
  customEntry,
  type Diagnostic,
  type DiagnosticCode,
  type Diagnostics,
  type EncodeOptions,
  type EntryDraft,
  type EntryMap,
  type EntryType,
  type Erasure,
  encodeEntry,
  type PermissionRule,
  type SessionEntry,
  type SessionHeader,
  type SessionInfoFields,
  type SessionInfoPatch,
  type UnknownEntry,
} from "../log/internal.js";
export type {
  KeptBytes,
  LinePlace,
  LineReplacement,
  LogAppend,
  LogBatch,
  LogErasure,
  LogPosition,
  LongLine,
  SearchCandidates,
  SearchIndexQuery,
  SessionBackend,
  SessionLog,
  StoredSession,
  StoredSessionQuery,
} from "./api/backend.js";
export type { EphemeralDraft, EphemeralEvent, SessionEventName } from "./api/events.js";
export type { AppendOptions, RecentOptions, RecentPage, Session } from "./api/session.js";
export type {
  AdoptableSession,
  AdoptOptions,
  AgentStorage,
  AttachOptions,
  ForkOptions,
  SearchHit,
  SearchQuery,
  SessionQuery,
  SessionRef,
  SessionStore,
  SessionSummary,
} from "./api/store.js";
export type { Reply, ReplyDelta, ReplyOptions, ReplyPart, TurnClaim } from "./api/turn.js";
export { buildSessionContext, type ContextSource } from "./context/build-context.js";
export { type ParsedSession, parseSession } from "./context/parse-session.js";
export type { SessionStoreOptions } from "./runtime/loaded-log.js";
export type { RecordingOptions } from "./runtime/recording.js";
export { replyResponse } from "./runtime/reply-response.js";
export { evaluatePermission, type SessionInfo } from "./runtime/session-info.js";
export {
  type ToolCallState,
  type TurnContext,
  type TurnSettings,
  toolStarted,
  turnSettings,
} from "./runtime/turn-settings.js";
export { sessionBlobRoots } from "./store/blob-roots.js";
export { deletePartition, type EraseOptions, eraseEntries } from "./store/erase.js";
export { memorySessionStore } from "./store/memory-backend.js";
export { sessionStore } from "./store/store.js";
export { type EntryNode, SessionTree } from "./tree/session-tree.js";
