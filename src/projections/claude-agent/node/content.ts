import { decodeUtf8 } from "../../../internal/bytes.js";
import { encodeBase64 } from "../../../internal/encode-base64.js";
import { agreesWith, type ImageMedia, sniff } from "../../../media/index.js";
import { isBlank } from "../../clean.js";
import type { AttachmentDocumentBlock, AttachmentImageBlock } from "./blocks.js";
import type { Refusal } from "./failure.js";
import type { ReadAttachment } from "./read-attachment.js";

/** A block of a file's bytes, and what of them the target may have limits for. */
export interface FileContent {
  readonly block: AttachmentImageBlock | AttachmentDocumentBlock;
  readonly image?: ImageMedia;
  /** Bytes of the file. */
  readonly size: number;
}

/** What the bytes are by themselves, held against what the name claims. The name alone decides nothing. */
export function contentOf({ bytes, claimed }: ReadAttachment, title: string): FileContent | Refusal {
  const size = bytes.length;
  if (size === 0) return empty;
  const media = sniff(bytes);
  if (media === undefined) {
    return claimed.startsWith("text/") ? notText : mismatch(claimed, "something else");
  }
  if (!agreesWith(media, claimed)) return mismatch(claimed, media.mediaType);
  switch (media.kind) {
    case "image": {
      const source = { type: "base64", media_type: media.mediaType, data: encodeBase64(bytes) } as const;
      return { block: { type: "image", source }, image: media, size };
    }
    case "pdf": {
      const source = { type: "base64", media_type: media.mediaType, data: encodeBase64(bytes) } as const;
      return { block: { type: "document", source, title }, size };
    }
    case "text": {
      const data = decodeUtf8(bytes);
      if (data === undefined) return notText;
      // The API refuses blank text blocks, and a document of nothing tells no one anything.
      if (isBlank(data)) return empty;
      const source = { type: "text", media_type: media.mediaType, data } as const;
      return { block: { type: "document", source, title }, size };
    }
    case "invalid":
      return { code: "IMAGE_INVALID", reason: `it is no sound ${media.mediaType} (${media.reason})` };
  }
}

const empty: Refusal = { code: "EMPTY", reason: "it is empty" };
const notText: Refusal = { code: "NOT_TEXT", reason: "it is not text in UTF-8" };

function mismatch(claimed: string, actual: string): Refusal {
  return { code: "CONTENT_MISMATCH", reason: `its name says ${claimed}, and it is ${actual}` };
}
