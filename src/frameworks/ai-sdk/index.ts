/**
 * The AI SDK, versions 6 and 7: a session as its model messages and the way back, and chats of `useChat` as sessions.
 *
 * @module ai-sdk
 */

export { appendUIMessages, uiVersions } from "./append-ui-messages.js";
export type { ChatFile } from "./chat-messages.js";
export { type AiSdkChats, aiSdkChats } from "./chats.js";
export { fromUIMessages } from "./from-ui-messages.js";
export { type AiSdkMessages, aiSdkMessages } from "./model-messages.js";
export {
  type AiSdkReply,
  type AiSdkStep,
  type AiSdkStreamPart,
  aiSdkStream,
  readAiSdkReply,
} from "./reply.js";
export { toUIMessages } from "./to-ui-messages.js";
export type { UiChunk, UiMessage } from "./ui-message.js";
export { type UIReplies, uiReplies } from "./ui-replies.js";
