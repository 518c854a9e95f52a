/**
 * Media types from bytes and from file names: images with their size, PDF, text.
 *
 * @module media
 */

export { sniff } from "./sniff.js";
export {
  agreesWith,
  type ImageMedia,
  type ImageMediaType,
  type Media,
  mediaTypeExtension,
  mediaTypeOfName,
} from "./types.js";
