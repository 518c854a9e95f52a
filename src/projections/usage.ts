import {
  estimateImageTokens,
  estimatePdfTokens,
  estimateTextTokens,
  type ImageFamily,
} from "../estimate/index.js";
import type { Target } from "./target.js";
import type { MediaPart, NeutralRequest, Part, ReferencePart } from "./turns.js";

/** What a request costs, estimated. Tokens but for the last two. */
export interface ProjectionUsage {
  /** Of text, arguments and documents that go as text. */
  readonly text: number;
  readonly images: number;
  /** Of documents that go as such. */
  readonly documents: number;
  readonly total: number;
  /** Bytes of what is attached, as stored. */
  readonly bytes: number;
  readonly imageCount: number;
}

/** A guess, where the pages of a PDF are not known. */
const bytesPerPage = 50_000;
/** An image whose size is not known, by its family's most. */
const unknownSide = 4096;

/** Counts a request. */
export function usageOf({ system, turns }: NeutralRequest, target: Target<unknown>): ProjectionUsage {
  let text = 0;
  let images = 0;
  let documents = 0;
  let bytes = 0;
  let imageCount = 0;
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
        text += estimateTextTokens(JSON.stringify(part.data) ?? "");
        return;
      case "result":
        part.parts.forEach(add);
        return;
      case "media":
      case "reference":
        bytes += part.type === "media" ? part.bytes.length : 0;
        if (part.kind === "image") {
          imageCount++;
          images += imageTokens(part, target.estimate?.image ?? "anthropic");
        } else documents += documentTokens(part, target);
    }
  };
  system.forEach(add);
  for (const turn of turns) {
    if (turn.role === "user") turn.results.forEach(add);
    turn.parts.forEach(add);
  }
  return { text, images, documents, total: text + images + documents, bytes, imageCount };
}

type Rule = ImageFamily | Exclude<NonNullable<NonNullable<Target<unknown>["estimate"]>["image"]>, string>;

function imageTokens(part: MediaPart | ReferencePart, rule: Rule): number {
  const { width, height } = part.type === "media" ? part : part.resource;
  const known = isSide(width) && isSide(height);
  return estimateImageTokens(known ? { width, height } : { width: unknownSide, height: unknownSide }, rule);
}

function isSide(side: number | undefined): side is number {
  return Number.isSafeInteger(side) && (side as number) >= 1;
}

function documentTokens(part: MediaPart | ReferencePart, { estimate }: Target<unknown>): number {
  const size = part.type === "media" ? part.bytes.length : part.resource.size;
  if (part.mediaType !== "application/pdf") {
    return part.type === "media" ? estimateTextTokens(part.text) : Math.ceil(size / 3);
  }
  return estimatePdfTokens(Math.max(1, Math.ceil(size / bytesPerPage)), estimate?.pdf ?? "anthropic");
}
