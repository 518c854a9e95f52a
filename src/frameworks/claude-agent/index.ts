/**
 * Transcripts of the Claude Agent SDK in sessions: its `sessionStore`, with images as blobs.
 *
 * @module adapters/claude-agent
 */
export { type ClaudeAgentStoreOptions, claudeAgentStore } from "./store.js";
export type {
  ClaudeAgentStore,
  ClaudeEntry,
  ClaudeSessionKey,
  ClaudeSummary,
  FoldSessionSummary,
} from "./types.js";
