/**
 * Token estimates for text, images, attachments and messages, without a tokenizer. Pure functions.
 *
 * @module estimate
 */
export { estimateImageTokens, type ImageFamily, type ImageSize, type ImageTokenRule } from "./image.js";
export {
  estimateMessageTokens,
  estimateResourceTokens,
  type MessageTokenOptions,
  type PdfFamily,
} from "./message.js";
export { estimateTextTokens, type TextEstimator } from "./text.js";
