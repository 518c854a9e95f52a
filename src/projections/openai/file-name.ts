import { extensionOf, mediaTypeOfName } from "../../media/index.js";

/** A file's name as the API wants one: in one line, and with an extension of its type, by which the API knows it. */
export function fileName(name: string | undefined, mediaType: string): string {
  const own = (name ?? "")
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ")
    .trim();
  const base = own === "" ? "document" : own;
  return mediaTypeOfName(base) === mediaType ? base : `${base}.${extensionOf(mediaType) ?? "txt"}`;
}
