/**
 * What text, images, documents and messages cost in tokens, without a tokenizer. Pure functions.
 *
 * @module estimate
 */
export { estimatePdfTokens, type PdfFamily } from "./document.js";
export { estimateImageTokens, type ImageSize } from "./image.js";
export { type ImageFamily, type ImageTokenRule, imageTokenRules } from "./image-rules.js";
export { estimateMessageTokens, type MessageTokenOptions } from "./message.js";
export { estimateResourceTokens } from "./resource.js";
export { byLength, byRuns, byRunsCautiously, estimateTextTokens, type TextEstimator } from "./text.js";
