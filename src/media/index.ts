/**
 * What bytes are, by the bytes: images with their size, PDF, text. And what names claim.
 *
 * @module media
 */
export type {
  ImageMedia,
  ImageMediaType,
  InvalidMedia,
  InvalidReason,
  Media,
  Orientation,
  PdfMedia,
  TextMedia,
} from "./media.js";
export { agreesWith, extensionOf, mediaTypeOfName } from "./names.js";
export { sniff } from "./sniff.js";
