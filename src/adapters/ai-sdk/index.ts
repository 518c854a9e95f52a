/**
 * Chats of the AI SDK, versions 6 and 7, in sessions: a store for the messages of `useChat`.
 *
 * @module adapters/ai-sdk
 */

export type { ChatFile } from "./chat-files.js";
export { type AiSdkChats, type AiSdkChatsOptions, aiSdkChats, type LoadChatOptions } from "./chats.js";
export type { UiChunk, UiMessage } from "./ui-message.js";
