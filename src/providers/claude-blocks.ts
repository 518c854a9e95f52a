/** Text, image and document blocks of Claude, shared by two targets. */

import { oneLine } from "../core/text.js";
import { isBlank } from "./block-reader.js";
import type { MediaPart, ReferencePart, UserPart } from "./request.js";

/** A cache breakpoint after its block. */
export interface ClaudeCacheControl {
  type: "ephemeral";
  /** @default five minutes */
  ttl?: "5m" | "1h";
}

/** A text block of Anthropic's API. */
export interface ClaudeTextBlock {
  type: "text";
  text: string;
  cache_control?: ClaudeCacheControl;
}

/** A file that the API already has, or fetches. */
export type ClaudeReference = { type: "url"; url: string } | { type: "file"; file_id: string };

/** An image block of Anthropic's API. */
export interface ClaudeImageBlock {
  type: "image";
  source: { type: "base64"; media_type: ClaudeImageType; data: string } | ClaudeReference;
  cache_control?: ClaudeCacheControl;
}

/** A document block of Anthropic's API. */
export interface ClaudeDocumentBlock {
  type: "document";
  source:
    | { type: "base64"; media_type: "application/pdf"; data: string }
    | { type: "text"; media_type: "text/plain"; data: string }
    | ClaudeReference;
  title?: string;
  cache_control?: ClaudeCacheControl;
}

/** A block of a user message or a tool result for Claude. */
export type ClaudeShownBlock = ClaudeTextBlock | ClaudeImageBlock | ClaudeDocumentBlock;

const imageTypes = ["image/jpeg", "image/png", "image/gif", "image/webp"] as const;
type ClaudeImageType = (typeof imageTypes)[number];

/**
 * The media types that Anthropic's API accepts in user messages and tool results.
 * @see https://platform.claude.com/docs/en/build-with-claude/vision and
 *   https://platform.claude.com/docs/en/build-with-claude/pdf-support (stored copies read 2026-11-21)
 */
export const claudeMedia = [...imageTypes, "application/pdf", "text/*"] as const;

/** Converts a part to a block. An unsupported type, which the core never passes, becomes text. */
export function claudeShownBlock(part: UserPart): ClaudeShownBlock {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text };
    case "media":
      return part.kind === "image" ? imageBlock(part) : documentBlock(part);
    case "reference":
      return part.kind === "image"
        ? { type: "image", source: referenceSource(part) }
        : { type: "document", source: referenceSource(part), ...documentTitle(part) };
  }
}

function imageBlock({ mediaType, base64 }: MediaPart): ClaudeShownBlock {
  const known = imageTypes.find((type) => type === mediaType);
  if (known === undefined) return { type: "text", text: `[${mediaType}]` };
  return { type: "image", source: { type: "base64", media_type: known, data: base64 } };
}

function documentBlock(part: MediaPart): ClaudeShownBlock {
  if (part.mediaType === "application/pdf") {
    const source = { type: "base64", media_type: part.mediaType, data: part.base64 } as const;
    return { type: "document", source, ...documentTitle(part) };
  }
  // The API refuses a blank text block; for a blank document the behaviour is undocumented.
  if (isBlank(part.text)) return { type: "text", text: "[an empty document]" };
  const source = { type: "text", media_type: "text/plain", data: part.text } as const;
  return { type: "document", source, ...documentTitle(part) };
}

function referenceSource({ reference }: ReferencePart): ClaudeReference {
  return reference.kind === "url"
    ? { type: "url", url: reference.url }
    : { type: "file", file_id: reference.id };
}

/**
 * The API limits titles without stating the limit:
 * https://platform.claude.com/docs/en/build-with-claude/citations (stored copy read 2026-11-21).
 */
const maxTitleLength = 200;

function documentTitle({ name }: { readonly name?: string }): { title?: string } {
  const line = oneLine(name ?? "").slice(0, 2 * maxTitleLength);
  const title = Array.from(line).slice(0, maxTitleLength).join("");
  return title === "" ? {} : { title };
}
