/** Estimates the cost of a request in tokens and bytes. */

import { estimateResourceTokens, estimateTextTokens, estimateToolTokens } from "../content/estimate/index.js";
import { outlineOfOpaque } from "./media-part.js";
import { modelFacts } from "./models/internal.js";
import type { MediaPart, NeutralRequest, Part, ReferencePart } from "./request.js";
import type { Target } from "./target.js";
import { isTurnOnly } from "./turn-only.js";

/** The estimated cost of a request: tokens, except for the last two. */
export interface ProjectionUsage {
  /** Of text, arguments and documents that go as text. */
  readonly text: number;
  readonly images: number;
  /** Of documents that go as such. */
  readonly documents: number;
  /** Of the declared tools, if `tools` of the projection has them. */
  readonly tools: number;
  /** Of the request, its messages and calls, besides their content. */
  readonly framing: number;
  /** The sum. */
  readonly total: number;
  /** Stored bytes of the attachments. */
  readonly bytes: number;
  readonly imageCount: number;
}

/** Counts a request as the target's model does. */
export function requestUsage(
  { system, turns }: NeutralRequest,
  target: Target<unknown>,
  declared?: unknown,
): ProjectionUsage {
  const { model } = target.model;
  const facts = modelFacts(model).tokens;
  const readTextTokens = (value: string) => estimateTextTokens(value, { model });
  let text = 0;
  let framing = facts.request + facts.message * (turns.length + (system.length > 0 ? 1 : 0));
  let images = 0;
  let documents = 0;
  let bytes = 0;
  let imageCount = 0;
  const partTokens = (part: MediaPart | ReferencePart) => {
    const { width, height, pages } = part.type === "media" ? part : part.resource;
    return estimateResourceTokens(
      { mediaType: part.mediaType, size: partSize(part), width, height, pages },
      target.estimate,
    );
  };
  const textTokens = (part: MediaPart | ReferencePart) =>
    part.type === "media" ? readTextTokens(part.text) : Math.ceil(partSize(part) / bytesPerToken);
  const add = (part: Part): void => {
    switch (part.type) {
      case "text":
      case "reasoning":
        text += readTextTokens(part.text);
        return;
      case "call":
        text += readTextTokens(part.name) + readTextTokens(JSON.stringify(part.arguments) ?? "");
        framing += facts.call;
        return;
      case "opaque":
        text += readTextTokens(JSON.stringify(outlineOfOpaque(part)) ?? "");
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
          images += partTokens(part);
        } else documents += part.mediaType === "application/pdf" ? partTokens(part) : textTokens(part);
    }
  };
  system.forEach(add);
  const last = turns.findLastIndex(({ role }) => role === "user");
  for (const [at, turn] of turns.entries()) {
    if (turn.role === "user") {
      turn.results.forEach(add);
      // A provider does not count what it cleared.
      turn.parts.filter((part) => at === last || !isTurnOnly(part)).forEach(add);
    } else turn.parts.forEach(add);
  }
  const tools = declared === undefined ? 0 : estimateToolTokens(declared, model);
  const total = text + images + documents + tools + framing;
  return { text, images, documents, tools, framing, total, bytes, imageCount };
}

/** Between prose and compact JSON. */
const bytesPerToken = 3;

function partSize(part: MediaPart | ReferencePart): number {
  return part.type === "media" ? part.bytes.length : part.resource.size;
}
