/**
 * Sessions as requests of the Gemini API, and its replies as messages.
 *
 * @module gemini
 */

export {
  type GeminiReply,
  type GeminiReplyPart,
  type ReadGeminiReplyOptions,
  readGeminiReply,
} from "./reply.js";
export type { GeminiRequest } from "./shapes.js";
export { type GeminiStreamChunk, geminiStream } from "./stream.js";
export { type GeminiContentsOptions, geminiContents } from "./target.js";
