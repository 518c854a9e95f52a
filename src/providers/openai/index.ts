/**
 * OpenAI's Chat Completions and Responses, and the way back from their replies.
 *
 * @module openai
 */

export { type OpenaiChatOptions, openaiChat } from "./chat.js";
export type { OpenaiChatMessage } from "./chat-assistant.js";
export {
  type OpenaiChatDialect,
  type OpenaiChatDialectName,
  type OpenaiChatDialectOption,
  openaiChatDialects,
} from "./chat-dialects.js";
export { type OpenaiChatReply, type OpenaiChatReplyOptions, readOpenaiChatReply } from "./chat-reply.js";
export { type OpenaiChatChunk, openaiChatStream } from "./chat-stream.js";
export type { OpenaiOptions, OpenaiReplyOptions } from "./options.js";
export { type OpenaiResponsesOptions, openaiResponses } from "./responses.js";
export { type OpenaiResponsesReply, readOpenaiResponsesReply } from "./responses-reply.js";
export { type OpenaiResponsesEvent, openaiResponsesStream } from "./responses-stream.js";
export type { OpenaiClientAnswer, OpenaiClientCall, OpenaiResponsesItem } from "./responses-types.js";
