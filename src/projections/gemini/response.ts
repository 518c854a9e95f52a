import type { RenderTools } from "../target.js";
import type { MediaPart, ResultPart, TextPart } from "../turns.js";
import { inlineData } from "./media.js";
import type { GeminiPart } from "./shapes.js";

/**
 * A function's response: its text under `output` or `error`, as Google wants it said how a call went, and its media beside
 * it. The text does not refer to the media by name, since the Gemini API refuses that.
 *
 * @see https://ai.google.dev/api/caching#FunctionResponse and https://github.com/googleapis/python-genai/issues/2792 (stored
 *   copies, 2026-11-21)
 */
export function functionResponse(
  result: ResultPart,
  ids: ReadonlySet<string>,
  tools: RenderTools,
): GeminiPart {
  const { callId, name, isError, parts } = result;
  const text = parts
    .filter((part): part is TextPart => part.type === "text")
    .map((part) => part.text)
    .join("\n");
  const media = parts
    .filter((part): part is MediaPart => part.type === "media")
    .flatMap((part) => inlineData(part, tools));
  return tools.mark(
    {
      functionResponse: {
        ...(ids.has(callId) ? { id: callId } : {}),
        name,
        response: isError ? { error: text } : { output: text },
        ...(media.length > 0 ? { parts: media } : {}),
      },
    },
    result,
  );
}
