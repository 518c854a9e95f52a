import { essenceOf, typeOf, typeOfExtension } from "../internal/media-types.js";
import type { Media } from "./media.js";

/**
 * The extension that a file of this media type gets, without a dot, or undefined for a type that is not known here. Case,
 * white space around it and parameters do not matter. What comes back is from a fixed list: safe in a path.
 *
 * @example
 * ```ts
 * extensionOf("image/jpeg"); // "jpg"
 * extensionOf("application/x-made-up"); // undefined
 * ```
 */
export function extensionOf(mediaType: string): string | undefined {
  return typeOf(mediaType)?.extensions[0];
}

/**
 * The media type that a file's name claims by its extension, in any case, or undefined where it claims none that is known
 * here. A claim is not a fact: hold it against the bytes with {@link agreesWith}.
 *
 * @param name a base name or a path, of POSIX or Windows
 * @example
 * ```ts
 * mediaTypeOfName("C:\\shots\\Screen.PNG"); // "image/png"
 * mediaTypeOfName(".gif"); // undefined
 * ```
 */
export function mediaTypeOfName(name: string): string | undefined {
  const base = name.slice(Math.max(name.lastIndexOf("/"), name.lastIndexOf("\\")) + 1);
  const dot = base.lastIndexOf(".");
  return dot < 1 ? undefined : typeOfExtension(base.slice(dot + 1))?.mediaType;
}

/**
 * Whether bytes can be of the media type that a name or a sender claims: the type that was sniffed, or any type of text
 * where the bytes are text. `image/jpg`, which many write, is `image/jpeg`.
 *
 * @example
 * ```ts
 * agreesWith({ kind: "text", mediaType: "text/plain" }, "text/markdown"); // true
 * agreesWith({ kind: "text", mediaType: "text/plain" }, "image/png"); // false
 * ```
 */
export function agreesWith(media: Media, mediaType: string): boolean {
  const claimed = essenceOf(mediaType);
  if (media.kind !== "text") return claimed === media.mediaType;
  return claimed.startsWith("text/") || typeOf(claimed)?.text === true;
}
