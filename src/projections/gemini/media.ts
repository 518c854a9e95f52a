import type { RenderTools } from "../target.js";
import type { MediaPart, ReferencePart } from "../turns.js";
import type { GeminiBlob } from "./shapes.js";

/** Bytes as a part; none for a file of no bytes, which is refused. What it is stands before it in words. */
export function inlineData(part: MediaPart, tools: RenderTools): readonly { inlineData: GeminiBlob }[] {
  if (part.bytes.length > 0) {
    return [tools.mark({ inlineData: { mimeType: sentType(part), data: part.base64 } }, part)];
  }
  tools.lose(part, { code: "unsupported", by: "target", reason: "the target takes no file of no bytes" });
  return [];
}

/**
 * The type under which something is sent. All text is one type to Gemini: it reads documents other than PDF as text, and knows
 * but some of their types.
 *
 * @see https://ai.google.dev/gemini-api/docs/document-processing (stored copy, 2026-11-21)
 */
export function sentType({ mediaType }: MediaPart | ReferencePart): string {
  return mediaType.startsWith("text/") ? "text/plain" : mediaType;
}
