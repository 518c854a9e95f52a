import { extensionOf, mediaTypeOfName } from "../../media/index.js";

/** A file's name as the API requires it: one line, with an extension by which the API knows its type. */
export function fileName(name: string | undefined, mediaType: string): string {
  const own = (name ?? "")
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ")
    .trim();
  const base = own === "" ? "document" : own;
  return mediaTypeOfName(base) === mediaType ? base : `${base}.${extensionOf(mediaType) ?? "txt"}`;
}
