/**
 * The AI SDK, versions 6 and 7: a session as its model messages and the way back, and chats of `useChat` as sessions.
 *
 * @module ai-sdk
 */

export type { AdapterOptions } from "../shared/handles.js";
export { type AppendUIMessagesOptions, appendUIMessages, uiVersions } from "./append-ui-messages.js";
export type { ChatFile } from "./chat-files.js";
export { type AiSdkChats, type AiSdkChatsOptions, aiSdkChats, type LoadChatOptions } from "./chats.js";
export { type FromUIMessagesOptions, fromUIMessages } from "./from-ui-messages.js";
export {
  type AiSdkMessages,
  type AiSdkMessagesOptions,
  type AiSdkProviderOptions,
  type AiSdkWithOptions,
  aiSdkMessages,
} from "./model-messages.js";
export {
  type AiSdkReply,
  type AiSdkStep,
  type AiSdkStreamOptions,
  type AiSdkStreamPart,
  aiSdkStream,
  type ReadAiSdkReplyOptions,
  readAiSdkReply,
} from "./reply.js";
export { type ToUIMessagesOptions, toUIMessages } from "./to-ui-messages.js";
export type { PostedMessageOptions, UiChunk, UiMessage } from "./ui-message.js";
export { type UIReplies, uiReplies } from "./ui-replies.js";
