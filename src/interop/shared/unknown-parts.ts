/** Parts of a type without a form of its own, as blocks: nothing that was said or attached is lost. */

import type { ImageBlock, TextBlock } from "../../content/index.js";
import { opaqueMedia, withAddresses, withReferences } from "../../content/internal.js";
import { type ForeignObject, objectOf } from "./values.js";

/** Members that say nothing beside a medium. */
const silent: ReadonlySet<string> = new Set(["type", "mimeType", "mediaType", "media_type", "format"]);

/**
 * The media of a part, and before them its JSON with their types in their places; a part that is nothing but a
 * medium has no text. Media of other types than images count as images until their bytes are stored.
 */
export function unknownBlocks(part: ForeignObject): readonly (TextBlock | ImageBlock)[] {
  const media = opaqueMedia(part);
  const types = media.map(({ declared, imageType }) => imageType ?? (declared || "application/octet-stream"));
  const outline = withReferences(part, String);
  const rest = media.length === 0 ? outline : withAddresses(outline, (at) => `[${types[Number(at)]}]`);
  const blocks = media.map(({ base64 }, at): ImageBlock => {
    return { type: "image", data: base64, mimeType: types[at] as string };
  });
  if (blocks.length === 1 && isSilent(outline)) return blocks;
  return [{ type: "text", text: JSON.stringify(rest).toWellFormed() }, ...blocks];
}

/** Whether an outline has nothing but a reference and its type. */
function isSilent(outline: unknown): boolean {
  const members = objectOf(outline);
  if (members === undefined) return false;
  return Object.entries(members).every(
    ([key, member]) => silent.has(key) || key.startsWith("$") || key === "prefix" || isSilent(member),
  );
}
