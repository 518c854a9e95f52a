/** Media types by file name, and extensions by media type. */

import { mediaTypeEssence, mediaTypeInfo, mediaTypeInfoOfExtension } from "../../core/media-types.js";
import type { Media } from "./types.js";

/**
 * The extension for files of a media type, without a dot, or undefined for an unknown type. Ignores case,
 * surrounding white space and parameters. The result is from a fixed list and safe in a path.
 *
 * @example
 * ```ts
 * mediaTypeExtension("image/jpeg"); // "jpg"
 * mediaTypeExtension("application/x-made-up"); // undefined
 * ```
 */
export function mediaTypeExtension(mediaType: string): string | undefined {
  return mediaTypeInfo(mediaType)?.extensions[0];
}

/**
 * The media type that a file name claims by its extension, in any case, or undefined for an unknown
 * extension. Compare the claim with the bytes by {@link agreesWith}.
 *
 * @param name a base name or a path, POSIX or Windows
 * @example
 * ```ts
 * mediaTypeOfName("C:\\shots\\Screen.PNG"); // "image/png"
 * mediaTypeOfName(".gif"); // undefined
 * ```
 */
export function mediaTypeOfName(name: string): string | undefined {
  const base = name.slice(Math.max(name.lastIndexOf("/"), name.lastIndexOf("\\")) + 1);
  const dot = base.lastIndexOf(".");
  return dot < 1 ? undefined : mediaTypeInfoOfExtension(base.slice(dot + 1))?.mediaType;
}

/**
 * Whether sniffed bytes can have the media type that a name or a sender claims: the same type, or any text
 * type if the bytes are text. `image/jpg` is an alias of `image/jpeg`.
 *
 * @example
 * ```ts
 * agreesWith({ kind: "text", mediaType: "text/plain" }, "text/markdown"); // true
 * agreesWith({ kind: "text", mediaType: "text/plain" }, "image/png"); // false
 * ```
 */
export function agreesWith(media: Media, mediaType: string): boolean {
  const claimed = mediaTypeEssence(mediaType);
  if (media.kind !== "text") return claimed === media.mediaType;
  return claimed.startsWith("text/") || mediaTypeInfo(claimed)?.text === true;
}
