/**
 * Anthropic's Messages API: sessions to requests, and replies back.
 *
 * @module anthropic
 */
export type {
  ClaudeCacheControl,
  ClaudeDocumentBlock,
  ClaudeImageBlock,
  ClaudeReference,
  ClaudeShownBlock,
  ClaudeTextBlock,
} from "../claude-blocks.js";
export { type AnthropicReply, type ReadAnthropicReplyOptions, readAnthropicReply } from "./reply.js";
export { type AnthropicStreamEvent, anthropicStream } from "./stream.js";
export { type AnthropicMessagesOptions, anthropicMessages } from "./target.js";
export type {
  AnthropicAssistantBlock,
  AnthropicCallBlock,
  AnthropicOpaqueBlock,
  AnthropicOpaqueType,
  AnthropicReasoningBlock,
  AnthropicRequest,
  AnthropicResultBlock,
  AnthropicTurn,
  AnthropicUserBlock,
} from "./types.js";
