import { copyJsonObject } from "../../internal/copy-json.js";
import { isRecord } from "../../internal/shape.js";
import type { MediaPart, ReferencePart, ResultPart, TextPart } from "../request.js";
import type { RenderTools } from "../target.js";

/**
 * What `generateContent` takes, as far as a projection writes it: each type fits the one of the same name in `@google/genai`,
 * without importing it. Values are mutable, as that package's parameters are.
 *
 * @see https://ai.google.dev/api/caching#Content (stored copy, 2026-11-21), and the types of `@google/genai` 2.32
 */

/** The conversation, and the instructions beside it. */
export interface GeminiRequest {
  contents: GeminiContent[];
  /** Goes into `config` of the client's call; where a request is written by hand, beside `contents`. */
  systemInstruction?: { parts: GeminiPart[] };
}

/** One turn, or the function responses of one. */
export interface GeminiContent {
  role: "user" | "model";
  parts: GeminiPart[];
}

/** One thing that was said or shown: one of `text`, `inlineData`, `fileData`, `functionCall` and `functionResponse` is there. */
export interface GeminiPart {
  text?: string;
  /** The text is the model's reasoning. */
  thought?: boolean;
  /** Base64. */
  thoughtSignature?: string;
  inlineData?: GeminiBlob;
  fileData?: { fileUri: string; mimeType: string };
  functionCall?: { id?: string; name: string; args: Record<string, unknown> };
  functionResponse?: GeminiFunctionResponse;
}

/** Bytes. */
export interface GeminiBlob {
  mimeType: string;
  /** Base64. */
  data: string;
}

/** What a function gave back: `output` where it went well, `error` where not. */
export interface GeminiFunctionResponse {
  id?: string;
  name: string;
  response: { output: string } | { error: string };
  /** Media, from Gemini 3 on. */
  parts?: { inlineData: GeminiBlob }[];
}

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

/** The first version that signs its calls, wants the signatures back, and takes media in a function's response. */
export const signingVersion = 3;

/**
 * A Gemini's version by its name, such as 2.5. A name without one, such as `gemini-flash-latest` or a tuned model's, counts as
 * the newest, since old models are shut down and aliases move on.
 */
export function geminiVersion(model: string): number {
  const found = /gemini-(\d+(?:\.\d+)?)/.exec(model)?.[1];
  return found === undefined ? Number.POSITIVE_INFINITY : Number(found);
}

/** What messages of this protocol are marked with: the names under which pi keeps what the two ways to it give. */
export function geminiApi(provider: string): string {
  return provider === "google-vertex" ? provider : "google-generative-ai";
}

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
