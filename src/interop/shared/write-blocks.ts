/** The content of a message as a writer needs it: texts, and media with their bytes. */

import { describeResource, type ImageBlock, resourceOf, type TextBlock } from "../../content/index.js";
import { encodeBase64 } from "../../internal/base64.js";
import type { WriteSource } from "../types.js";

/** A block with its bytes. */
export type WriteBlock =
  | { readonly type: "text"; readonly text: string }
  | {
      readonly type: "media";
      readonly mediaType: string;
      readonly base64: string;
      /** The name of a file. */
      readonly name?: string;
    };

/**
 * Reads the media of blocks. Links, and media that are gone (`missing`) or that the format cannot hold
 * (`described`), become their descriptors.
 *
 * @param accepts whether the format holds a media type
 */
export async function writeBlocks(
  source: WriteSource,
  entryId: string,
  content: readonly (TextBlock | ImageBlock)[],
  accepts: (mediaType: string) => boolean = (mediaType) => mediaType.startsWith("image/"),
): Promise<readonly WriteBlock[]> {
  const blocks: WriteBlock[] = [];
  for (const block of content) {
    const resource = block.type === "text" ? resourceOf(block) : undefined;
    if (block.type === "text" && (resource === undefined || resource.kind === "link")) {
      blocks.push({ type: "text", text: block.text });
      continue;
    }
    const descriptor = resource === undefined ? "[an image]" : describeResource(resource);
    const declared = resource === undefined || resource.kind === "link" ? undefined : resource.mediaType;
    if (declared !== undefined && !accepts(declared)) {
      source.find({ code: "described", entryId, text: descriptor });
      blocks.push({ type: "text", text: descriptor });
      continue;
    }
    const media = await source.media(block, entryId);
    if (media === undefined) blocks.push({ type: "text", text: descriptor });
    else if (accepts(media.mediaType)) {
      const name = resource?.name;
      const base64 = encodeBase64(media.bytes);
      const { mediaType } = media;
      blocks.push({ type: "media", mediaType, base64, ...(name === undefined ? {} : { name }) });
    } else {
      source.find({ code: "described", entryId, text: descriptor });
      blocks.push({ type: "text", text: descriptor });
    }
  }
  return blocks;
}
