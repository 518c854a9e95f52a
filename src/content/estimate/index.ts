/**
 * Token estimates for text, images, attachments and messages, without a tokenizer. Pure functions.
 *
 * @module estimate
 */
export {
  estimateImageTokens,
  type ImageFamily,
  type ImageSize,
  type ImageTokenRule,
  imageTokenRules,
} from "./image.js";
export {
  type AttachmentSize,
  estimateMessageTokens,
  estimateResourceTokens,
  type MessageTokenOptions,
  type PdfFamily,
} from "./message.js";
export { estimateTextTokens, type TextEstimator } from "./text.js";
export { estimateToolTokens } from "./tools.js";
