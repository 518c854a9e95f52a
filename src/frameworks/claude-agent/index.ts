/** The parts of this folder that use no files: the store of transcripts, and a session as messages. */
export type {
  ClaudeCacheControl,
  ClaudeDocumentBlock,
  ClaudeImageBlock,
  ClaudeReference,
  ClaudeShownBlock,
  ClaudeTextBlock,
} from "../../providers/internal.js";
export {
  type ClaudeAgentMessage,
  type ClaudeAgentMessagesOptions,
  claudeAgentMessages,
} from "./messages.js";
export { type ClaudeAgentStoreOptions, claudeAgentStore } from "./store.js";
export type {
  ClaudeAgentStore,
  ClaudeEntry,
  ClaudeSessionKey,
  ClaudeSummary,
  FoldSessionSummary,
} from "./types.js";
