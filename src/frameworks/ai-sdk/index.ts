/**
 * Chats of the AI SDK, versions 6 and 7, in sessions: a store for the messages of `useChat`.
 *
 * @module adapters/ai-sdk
 */

export type { AdapterOptions } from "../shared/options.js";
export {
  type AppendUIMessagesOptions,
  appendUIMessages,
  type UIVersion,
  uiVersions,
} from "./append-ui-messages.js";
export type { ChatFile } from "./chat-files.js";
export { type AiSdkChats, type AiSdkChatsOptions, aiSdkChats, type LoadChatOptions } from "./chats.js";
export { type FromUIMessagesOptions, fromUIMessages } from "./from-ui-messages.js";
export type { PostedMessageOptions } from "./posted.js";
export { type ToUIMessagesOptions, toUIMessages } from "./to-ui-messages.js";
export type { UiChunk, UiMessage } from "./ui-message.js";
export { type UIReplies, uiReplies } from "./ui-replies.js";
