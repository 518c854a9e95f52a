/** Estimates the cost of a request in tokens and bytes. */

import { estimateResourceTokens, estimateTextTokens } from "../estimate/index.js";
import { outlineOfOpaque } from "./opaque-part.js";
import type { MediaPart, NeutralRequest, Part, ReferencePart } from "./request.js";
import type { Target } from "./target.js";

/** The estimated cost of a request: tokens, except for the last two. */
export interface ProjectionUsage {
  /** Of text, arguments and documents that go as text. */
  readonly text: number;
  readonly images: number;
  /** Of documents that go as such. */
  readonly documents: number;
  readonly total: number;
  /** Stored bytes of the attachments. */
  readonly bytes: number;
  readonly imageCount: number;
}

/** Counts a request. */
export function requestUsage({ system, turns }: NeutralRequest, target: Target<unknown>): ProjectionUsage {
  let text = 0;
  let images = 0;
  let documents = 0;
  let bytes = 0;
  let imageCount = 0;
  const tokensOf = (part: MediaPart | ReferencePart) => {
    const { width, height, pages } = part.type === "media" ? part : part.resource;
    return estimateResourceTokens(
      { mediaType: part.mediaType, size: sizeOf(part), width, height, pages },
      target.estimate,
    );
  };
  const textTokens = (part: MediaPart | ReferencePart) =>
    part.type === "media" ? estimateTextTokens(part.text) : Math.ceil(sizeOf(part) / bytesPerToken);
  const add = (part: Part): void => {
    switch (part.type) {
      case "text":
      case "reasoning":
        text += estimateTextTokens(part.text);
        return;
      case "call":
        text += estimateTextTokens(part.name) + estimateTextTokens(JSON.stringify(part.arguments) ?? "");
        return;
      case "opaque":
        text += estimateTextTokens(JSON.stringify(outlineOfOpaque(part)) ?? "");
        part.media?.forEach(add);
        return;
      case "result":
        part.parts.forEach(add);
        return;
      case "media":
      case "reference":
        bytes += part.type === "media" ? part.bytes.length : 0;
        if (part.kind === "image") {
          imageCount++;
          images += tokensOf(part);
        } else documents += part.mediaType === "application/pdf" ? tokensOf(part) : textTokens(part);
    }
  };
  system.forEach(add);
  for (const turn of turns) {
    if (turn.role === "user") turn.results.forEach(add);
    turn.parts.forEach(add);
  }
  return { text, images, documents, total: text + images + documents, bytes, imageCount };
}

/** Between prose and compact JSON. */
const bytesPerToken = 3;

function sizeOf(part: MediaPart | ReferencePart): number {
  return part.type === "media" ? part.bytes.length : part.resource.size;
}
