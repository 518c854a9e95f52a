import { copyJsonObject } from "../../internal/copy-json.js";
import { isRecord } from "../../internal/shape.js";
import type { GeminiPart } from "./shapes.js";

/**
 * What a part can be besides text that is read and calls that are answered: one of these is in it.
 *
 * @see https://ai.google.dev/api/caching#Part (stored copy, 2026-11-21)
 */
const kinds = [
  "text",
  "inlineData",
  "fileData",
  "executableCode",
  "codeExecutionResult",
  "toolCall",
  "toolResponse",
];
const others = ["thought", "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata"];

/** A copy of a part that `readGeminiReply` kept for Gemini alone; undefined for data that Gemini would refuse. */
export function ownPart(data: unknown): GeminiPart | undefined {
  if (!isRecord(data)) return undefined;
  const names = Object.keys(data);
  const known = names.every((name) => kinds.includes(name) || others.includes(name));
  const copy: object = copyJsonObject(data);
  return known && names.filter((name) => kinds.includes(name)).length === 1 && isPart(copy)
    ? copy
    : undefined;
}

/** An empty text is taken for the sake of its signature only. */
function isPart(copy: object): copy is GeminiPart {
  return !("text" in copy) || copy.text !== "" || "thoughtSignature" in copy;
}
