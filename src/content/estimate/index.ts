/**
 * Token estimates for text, images, attachments and messages, without a tokenizer. Pure functions.
 *
 * @module estimate
 */
export { estimateImageTokens, type ImageFamily, type ImageTokenRule, imageTokenRules } from "./image.js";
export {
  estimateMessageTokens,
  estimateResourceTokens,
  type MessageTokenOptions,
  type PdfFamily,
} from "./message.js";
export { estimateTextTokens } from "./text.js";
export { estimateToolTokens } from "./tools.js";
