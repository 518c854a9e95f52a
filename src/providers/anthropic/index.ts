export type { AnthropicRequest } from "./render.js";
export { type AnthropicReply, type ReadAnthropicReplyOptions, readAnthropicReply } from "./reply.js";
export { anthropicStream } from "./stream.js";
export { type AnthropicMessagesOptions, anthropicMessages } from "./target.js";
