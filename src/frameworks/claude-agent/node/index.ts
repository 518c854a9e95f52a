/**
 * The Claude Agent SDK: its `sessionStore` on sessions, a session as its messages, and files as its content blocks.
 *
 * @module claude-agent
 */
export * from "../index.js";
export type { AttachmentContentBlock } from "./content.js";
export type { AttachmentError, AttachmentErrorCode } from "./failure.js";
export {
  type AgentPrompt,
  type AgentUserMessage,
  type PromptModeOptions,
  selectPromptMode,
} from "./prompt-mode.js";
export { type ResolveAttachmentsOptions, resolveAttachmentsToContentBlocks } from "./resolve.js";
