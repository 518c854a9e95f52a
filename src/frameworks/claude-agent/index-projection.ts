/**
 * A session as a turn for the Claude Agent SDK.
 *
 * @module projections/claude-agent
 */
export type { ClaudeCacheControl, ClaudeDocumentBlock, ClaudeImageBlock, ClaudeReference, ClaudeShownBlock, ClaudeTextBlock } from "../../providers/internal.js";
export {
  type ClaudeAgentMessage,
  type ClaudeAgentMessagesOptions,
  claudeAgentMessages,
} from "./messages.js";
