/**
 * The Claude Agent SDK: its `sessionStore` on sessions, a session as its messages, and files as its content blocks.
 *
 * @module claude-agent
 */
export * from "../index.js";
export type {
  AttachmentContentBlock,
  AttachmentDocumentBlock,
  AttachmentImageBlock,
  AttachmentTextBlock,
} from "./content.js";
export type { AttachmentError, AttachmentErrorCode } from "./failure.js";
export {
  type AgentPrompt,
  type AgentUserMessage,
  type PromptModeOptions,
  selectPromptMode,
} from "./prompt-mode.js";
export {
  type ResolveAttachmentsOptions,
  type ResolvedAttachments,
  resolveAttachmentsToContentBlocks,
} from "./resolve.js";
