import { extensionOf } from "../../media/index.js";

/** A file's name as the API wants one: its own, or one by its type. */
export function fileName(name: string | undefined, mediaType: string): string {
  const own = name?.toWellFormed().trim();
  if (own !== undefined && own !== "") return own;
  return `document.${extensionOf(mediaType) ?? "txt"}`;
}
