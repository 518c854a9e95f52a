/**
 * The Claude Agent SDK: its `sessionStore` on sessions, a session as its messages, and files as its content blocks.
 *
 * @module claude-agent
 */
export * from "../index.js";
export {
  type AgentPrompt,
  type AgentUserMessage,
  type AttachmentContentBlock,
  type AttachmentError,
  type AttachmentErrorCode,
  type ResolveAttachmentsOptions,
  resolveAttachmentsToContentBlocks,
  selectPromptMode,
} from "./attachments.js";
