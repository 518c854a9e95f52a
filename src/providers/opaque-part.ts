/** Blocks of the target's own model with media in them: the parts that send them back as they came. */

import { withMedia } from "../content/internal.js";
import type { MediaPart, OpaquePart, Origin, PendingOpaque } from "./request.js";

const outline: unique symbol = Symbol("outline");

/**
 * Makes the part of a block whose media are all loaded; undefined if one is not. Its data has the base64 of
 * the media parts, and is the same object as long as these have the same base64.
 */
export function opaqueWithMedia({ data, attachments, origin }: PendingOpaque): OpaquePart | undefined {
  const media = new Map<string, MediaPart>();
  for (const { media: part, resourceId } of attachments) {
    if (part?.type !== "media" || resourceId === undefined) return undefined;
    media.set(resourceId, part);
  }
  return readPart(data, media, origin);
}

function readPart(data: unknown, media: ReadonlyMap<string, MediaPart>, origin: Origin): OpaquePart {
  const parts = [...media.values()];
  let known: readonly string[] | undefined;
  let filled: unknown;
  const part: OpaquePart = {
    type: "opaque",
    media: parts,
    origin,
    get data() {
      const texts = parts.map(({ base64 }) => base64);
      if (known === undefined || texts.some((text, at) => text !== known?.[at])) {
        known = texts;
        filled = withMedia(data, (id) => media.get(id)?.base64);
      }
      return filled;
    },
  };
  return Object.defineProperty(part, outline, { value: data });
}

/** The data of a part with references in place of its media, to count its text. */
export function outlineOfOpaque(part: OpaquePart): unknown {
  const { [outline]: data } = part as { readonly [outline]?: unknown };
  return part.media === undefined ? part.data : data;
}
