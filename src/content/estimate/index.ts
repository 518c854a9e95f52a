/**
 * Token estimates for text, images, attachments and messages, without a tokenizer. Pure functions.
 *
 * @module estimate
 */
export {
  estimateImageTokens,
  estimateMessageTokens,
  estimateResourceTokens,
  estimateToolTokens,
  type ImageFamily,
  type ImageTokenRule,
  imageTokenRules,
  type MessageTokenOptions,
  type PdfFamily,
} from "./message.js";
export { estimateTextTokens } from "./text.js";
