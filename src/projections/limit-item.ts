import { encodeUtf8 } from "../internal/bytes.js";
import type { LimitItem } from "../limits/index.js";
import type { AttachmentDraft } from "./draft.js";
import { isTaken, isTextual } from "./media-types.js";
import type { TargetMedia } from "./target.js";
import type { AttachmentWork } from "./work.js";

/**
 * What limits have to know of what is sent at a place. What the provider has already takes no bytes of the request, and a
 * document that goes as text none but those of the text.
 */
export function limitItem(
  { draft: { media, origin, place }, asText }: AttachmentWork,
  accepts: TargetMedia | undefined,
): LimitItem {
  if (asText === true) return { kind: "text", mediaType: "text/plain", size: 0, message: origin.item };
  const { kind = "document", mediaType = "application/octet-stream" } = media ?? {};
  const { width, height } = (media?.type === "reference" ? media.resource : media) ?? {};
  const animated = media?.type === "media" ? media.animated : undefined;
  return {
    kind,
    mediaType,
    size: media?.type === "media" ? media.bytes.length : 0,
    message: origin.item,
    ...(place === "toolResult" && isTaken(accepts?.toolResult ?? [], mediaType)
      ? { inToolResult: true }
      : {}),
    ...(width === undefined ? {} : { width }),
    ...(height === undefined ? {} : { height }),
    ...(animated === undefined ? {} : { animated }),
  };
}

/** At least as many bytes as it takes in a body. */
export function sentBytes(media: AttachmentDraft["media"]): number {
  if (media?.type !== "media") return 0;
  const base64 = Math.ceil(media.bytes.length / 3) * 4;
  // A text goes as base64 to some, and to others as a string of JSON, in which a byte can become six.
  return isTextual(media.mediaType) ? Math.max(base64, jsonBytes(media.text)) : base64;
}

/** Bytes of a document that goes as text, as a string of JSON. */
export function shownBytes({ draft: { text }, asText }: AttachmentWork): number {
  return asText === true ? jsonBytes(text) : 0;
}

function jsonBytes(text: string): number {
  return encodeUtf8(JSON.stringify(text)).length;
}
