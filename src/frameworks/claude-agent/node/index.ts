/**
 * Files of this machine as a turn of the Claude Agent SDK: checks the files, makes content blocks, and
 * reports refusals.
 *
 * @module projections/claude-agent/node
 */
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
