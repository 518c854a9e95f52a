export {
  type ClaudeAgentMessage,
  type ClaudeAgentMessagesOptions,
  claudeAgentMessages,
} from "./messages.js";
export { type ClaudeAgentStoreOptions, claudeAgentStore } from "./store.js";
export type { ClaudeAgentStore, ClaudeEntry } from "./types.js";
