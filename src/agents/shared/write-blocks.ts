/** The content of a message as a writer needs it: texts, and media with their bytes. */

import {
  type AssistantMessage,
  blockResource,
  describeResource,
  type ImageBlock,
  type TextBlock,
} from "../../content/index.js";
import { describeImage, shownBlocks, withMedia } from "../../content/internal.js";
import { encodeBase64 } from "../../core/base64.js";
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
    const resource = block.type === "text" ? blockResource(block) : undefined;
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

type ReplyBlock = AssistantMessage["content"][number];

/** The reply with descriptors in place of images, and of blocks with media, for which a format has no form. */
export function describedReply(message: AssistantMessage): AssistantMessage {
  return { ...message, content: message.content.flatMap(described) };
}

/** The reply with the bytes of the media in its provider's blocks, or descriptors if they are gone. */
export async function filledReply(
  source: WriteSource,
  entryId: string,
  message: AssistantMessage,
): Promise<AssistantMessage> {
  const content: ReplyBlock[] = [];
  for (const block of message.content) {
    if (block.type !== "opaque" || block.resources === undefined) {
      for (const each of block.type === "image" ? described(block) : [block]) content.push(each);
      continue;
    }
    const base64 = new Map<string, string>();
    for (const resource of block.resources) {
      const media = await source.media(resource, entryId);
      if (media !== undefined) base64.set(resource.resourceId, encodeBase64(media.bytes));
    }
    const data = withMedia(block.data, (id) => base64.get(id));
    if (data !== undefined) content.push({ type: "opaque", data });
    else for (const each of described(block)) content.push(each);
  }
  return { ...message, content };
}

function described(block: ReplyBlock): readonly ReplyBlock[] {
  if (block.type !== "opaque" && block.type !== "image") return [block];
  const attached = block.type === "image" ? [block] : shownBlocks(block);
  const texts = attached.map((each): TextBlock => {
    if (each.type === "text") return { type: "text", text: each.text };
    const size = Math.floor((each.data.length * 3) / 4);
    return { type: "text", text: describeImage({ mediaType: each.mimeType, size }) };
  });
  return texts.length === 0 ? [block] : texts;
}
