import { isBlank } from "./block-reader.js";
import type { MediaPart, ReferencePart, UserPart } from "./request.js";

/** Says that everything up to its block is to be kept. */
export interface ClaudeCacheControl {
  type: "ephemeral";
  /** Five minutes by default. */
  ttl?: "5m" | "1h";
}

/** Text, as Anthropic's API has it. */
export interface ClaudeTextBlock {
  type: "text";
  text: string;
  cache_control?: ClaudeCacheControl;
}

/** What the API has already, or fetches. */
export type ClaudeReference = { type: "url"; url: string } | { type: "file"; file_id: string };

/** An image, as Anthropic's API has it. */
export interface ClaudeImageBlock {
  type: "image";
  source: { type: "base64"; media_type: ClaudeImageType; data: string } | ClaudeReference;
  cache_control?: ClaudeCacheControl;
}

/** A document, as Anthropic's API has it. */
export interface ClaudeDocumentBlock {
  type: "document";
  source:
    | { type: "base64"; media_type: "application/pdf"; data: string }
    | { type: "text"; media_type: "text/plain"; data: string }
    | ClaudeReference;
  title?: string;
  cache_control?: ClaudeCacheControl;
}

/** What is shown to a Claude model, by a user or in a tool's result. */
export type ClaudeShownBlock = ClaudeTextBlock | ClaudeImageBlock | ClaudeDocumentBlock;

const imageTypes = ["image/jpeg", "image/png", "image/gif", "image/webp"] as const;
type ClaudeImageType = (typeof imageTypes)[number];

/**
 * What Anthropic's API takes, in what a user says and in what a tool gives back.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/vision and
 *   https://platform.claude.com/docs/en/build-with-claude/pdf-support (stored copies read 2026-11-21)
 */
export const claudeMedia = [...imageTypes, "application/pdf", "text/*"] as const;

/**
 * A part as a block of its own; an image or document of a type that is not taken, which the core does not let
 * through, as text.
 */
export function claudeShownBlock(part: UserPart): ClaudeShownBlock {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text };
    case "media":
      return part.kind === "image" ? imageBlock(part) : documentBlock(part);
    case "reference":
      return part.kind === "image"
        ? { type: "image", source: referenceSource(part) }
        : { type: "document", source: referenceSource(part), ...titleOf(part) };
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
    return { type: "document", source, ...titleOf(part) };
  }
  // Text that is blank is refused as a block; nobody says what becomes of it as a document.
  if (isBlank(part.text)) return { type: "text", text: "[an empty document]" };
  const source = { type: "text", media_type: "text/plain", data: part.text } as const;
  return { type: "document", source, ...titleOf(part) };
}

function referenceSource({ reference }: ReferencePart): ClaudeReference {
  return reference.kind === "url"
    ? { type: "url", url: reference.url }
    : { type: "file", file_id: reference.id };
}

/**
 * The API says that titles are limited, not where:
 * https://platform.claude.com/docs/en/build-with-claude/citations (stored copy read 2026-11-21).
 */
const maxTitleLength = 200;

function titleOf({ name }: { readonly name?: string }): { title?: string } {
  const title = Array.from(
    (name ?? "")
      .toWellFormed()
      .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ")
      .trim(),
  )
    .slice(0, maxTitleLength)
    .join("");
  return title === "" ? {} : { title };
}
