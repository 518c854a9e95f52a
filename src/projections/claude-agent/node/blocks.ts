import type { ImageMediaType } from "../../../media/index.js";

/** Text of the user, or the warning that stands before it. */
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
 * What a turn with attachments is made of, as the Messages API and with it the Claude Agent SDK take it.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/citations for the sources of documents (a stored copy, read
 *   2026-11-21)
 */
export type AttachmentContentBlock = AttachmentTextBlock | AttachmentImageBlock | AttachmentDocumentBlock;
