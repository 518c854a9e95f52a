/**
 * Media types from bytes and from file names: images with their size, PDF, text.
 *
 * @module media
 */

export { agreesWith, mediaTypeExtension, mediaTypeOfName } from "./media-type-of-name.js";
export { sniff } from "./sniff.js";
export type { ImageMedia, ImageMediaType, InvalidReason, Media, PdfMedia } from "./types.js";
