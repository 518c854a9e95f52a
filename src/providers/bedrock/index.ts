/**
 * Sessions as requests of Amazon Bedrock's Converse, and its replies as messages.
 *
 * @module bedrock
 */
export type { Json } from "../../core/json.js";
export type { BedrockBlock, BedrockRequest } from "./render.js";
export {
  type BedrockReply,
  type BedrockReplyBlock,
  type ReadBedrockReplyOptions,
  readBedrockReply,
} from "./reply.js";
export { type BedrockStreamReply, bedrockStream } from "./stream.js";
export { type BedrockConverseOptions, bedrockConverse } from "./target.js";
