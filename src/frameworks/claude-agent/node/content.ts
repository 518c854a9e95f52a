/** Content blocks of files for the Claude Agent SDK. */

import {
  agreesWith,
  type ImageMedia,
  type ImageMediaType,
  type PdfMedia,
  sniff,
} from "../../../content/media/index.js";
import { encodeBase64 } from "../../../core/base64.js";
import { decodeUtf8, decodeUtf16 } from "../../../core/bytes.js";
import { isBlank } from "../../../providers/internal.js";
import type { Refusal } from "./failure.js";
import type { ReadAttachment } from "./read-attachment.js";

/** A content block of a file, and the properties that the target's limits check. */
export interface FileContent {
  readonly block: AttachmentImageBlock | AttachmentDocumentBlock;
  readonly image?: ImageMedia;
  readonly pdf?: PdfMedia;
  /** Bytes of the file. */
  readonly size: number;
}

/** The type that the bytes have, compared with the name's extension. The name alone decides nothing. */
export function readAttachmentContent(
  { bytes, claimed }: ReadAttachment,
  title: string,
): FileContent | Refusal {
  const size = bytes.length;
  if (size === 0) return empty;
  const media = sniff(bytes);
  if (media === undefined) {
    return claimed.startsWith("text/") ? notText : mismatch(claimed, "something else");
  }
  if (!agreesWith(media, claimed)) return mismatch(claimed, media.mediaType);
  switch (media.kind) {
    case "image": {
      // The type agrees with an extension that is accepted, so it is one of these.
      const media_type = media.mediaType as ImageMediaType;
      const source = { type: "base64", media_type, data: encodeBase64(bytes) } as const;
      return { block: { type: "image", source }, image: media, size };
    }
    case "pdf": {
      const source = { type: "base64", media_type: media.mediaType, data: encodeBase64(bytes) } as const;
      return { block: { type: "document", source, title }, pdf: media, size };
    }
    case "text": {
      const data = decodeUtf16(bytes) ?? decodeUtf8(bytes);
      if (data === undefined) return notText;
      // The API refuses blank text blocks, and an empty document carries no information.
      if (isBlank(data)) return empty;
      const source = { type: "text", media_type: media.mediaType, data } as const;
      return { block: { type: "document", source, title }, size };
    }
    case "invalid":
      return { code: "IMAGE_INVALID", reason: `it is no sound ${media.mediaType} (${media.reason})` };
  }
}

const empty: Refusal = { code: "EMPTY", reason: "it is empty" };
const notText: Refusal = { code: "NOT_TEXT", reason: "it is not text in UTF-8 or UTF-16" };

function mismatch(claimed: string, actual: string): Refusal {
  return { code: "CONTENT_MISMATCH", reason: `its name says ${claimed}, and it is ${actual}` };
}

/** A text block: the user's text, or the warning before it. */
export interface AttachmentTextBlock {
  type: "text";
  text: string;
}

/** An image by its bytes. */
export interface AttachmentImageBlock {
  type: "image";
  source: { type: "base64"; media_type: ImageMediaType; data: string };
}

/** A PDF by its bytes, or a file of text as it is; the title is the name of the file, made plain. */
export interface AttachmentDocumentBlock {
  type: "document";
  source:
    | { type: "base64"; media_type: "application/pdf"; data: string }
    | { type: "text"; media_type: "text/plain"; data: string };
  title: string;
}

/**
 * The content blocks of a turn with attachments, as the Messages API and the Claude Agent SDK accept them.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/citations for the sources of documents (a stored
 *   copy, read 2026-11-21)
 */
export type AttachmentContentBlock = AttachmentTextBlock | AttachmentImageBlock | AttachmentDocumentBlock;

/** The number of bytes of a block in a JSON body, computed without a second copy of a large one. */
export function blockBodyBytes(block: AttachmentContentBlock): number {
  if (block.type === "text") return size({ ...block, text: "" }) + jsonBytes(block.text);
  const { source } = block;
  const frame = size({ ...block, source: { ...source, data: "" } });
  return frame + (source.type === "base64" ? source.data.length : jsonBytes(source.data));
}

function size(value: object): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** UTF-16 units that are looked at in one go. */
const window = 1 << 16;

/** The bytes of text in JSON: one of nothing but control characters takes six times its own. */
function jsonBytes(text: string): number {
  let total = 0;
  let from = 0;
  while (from < text.length) {
    let to = Math.min(from + window, text.length);
    // Half of a pair would be escaped.
    if (to < text.length && (text.charCodeAt(to - 1) & 0xfc00) === 0xd800) to++;
    total += Buffer.byteLength(JSON.stringify(text.slice(from, to))) - 2;
    from = to;
  }
  return total;
}
