/**
 * Types of a `generateContent` request, as far as a projection writes it. Each is assignable to the type of
 * the same name in `@google/genai` without importing it. Values are mutable, as in that package.
 *
 * @see https://ai.google.dev/api/caching#Content (stored copy, 2026-11-21), and the types of `@google/genai`
 *   2.32
 */

import { blockTexts } from "../../content/internal.js";
import { copyJsonObject } from "../../core/json.js";
import { isRecord } from "../../core/shape.js";
import { modelFacts } from "../models/internal.js";
import { isSignature } from "../reply-shape.js";
import type { CallPart, MediaPart, ReasoningPart, ReferencePart, ResultPart, TextPart } from "../request.js";
import type { RenderTools } from "../target.js";

/** The conversation, and the instructions beside it. */
export interface GeminiRequest {
  contents: GeminiContent[];
  /** Belongs in `config` of the client's call, or beside `contents` in a request written by hand. */
  systemInstruction?: { parts: GeminiPart[] };
}

/** One turn, or the function responses of one. */
export interface GeminiContent {
  role: "user" | "model";
  parts: GeminiPart[];
}

/**
 * A part of a content. One of `text`, `inlineData`, `fileData`, `functionCall` and `functionResponse` is
 * present.
 */
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

/** The response of a function: `output` after a success, `error` after a failure. */
export interface GeminiFunctionResponse {
  id?: string;
  name: string;
  response: { output: string } | { error: string };
  /** Media, from Gemini 3 on. */
  parts?: { inlineData: GeminiBlob }[];
}

/**
 * Renders bytes as a part, after a text that describes it. Empty for a file of zero bytes, which Gemini
 * refuses.
 */
export function inlineData(part: MediaPart, tools: RenderTools): readonly { inlineData: GeminiBlob }[] {
  if (part.bytes.length > 0) {
    return [tools.trace({ inlineData: { mimeType: sentType(part), data: part.base64 } }, part)];
  }
  tools.reportLoss(part, {
    code: "unsupported",
    by: "target",
    reason: "the target refuses empty files",
  });
  return [];
}

/**
 * The MIME type to send. All text is sent as one type: Gemini reads documents other than PDF as text, and
 * knows only some of their types.
 *
 * @see https://ai.google.dev/gemini-api/docs/document-processing (stored copy, 2026-11-21)
 */
export function sentType({ mediaType }: MediaPart | ReferencePart): string {
  return mediaType.startsWith("text/") ? "text/plain" : mediaType;
}

/**
 * Whether a model signs its calls, requires the signatures, and accepts media in a function response. A name
 * that is no version of Gemini, such as that of a tuned model, counts as the newest.
 */
export function isSigning(model: string): boolean {
  const { inputs, signsCalls } = modelFacts(model);
  return signsCalls === true || inputs === undefined;
}

/** Replaces an absent signature. Vertex AI accepts `skip_thought_signature_validator` too. */
export const dummySignature = "skip_thought_signature_validator";

/** A part that the model may have signed. */
export type SignedPart = TextPart | ReasoningPart | CallPart;

/** The signature of a part. Gemini refuses a whole request for one that is no base64, which is reported as a loss. */
export function soundSignature(part: SignedPart, tools: RenderTools): string | undefined {
  const { signature } = part;
  if (signature === undefined) return undefined;
  const digits = signature.replace(/={1,2}$/, "");
  if (digits !== "" && !/[^A-Za-z0-9+/_-]/.test(digits) && digits.length % 4 !== 1) return signature;
  tools.reportLoss(part, { code: "reasoning", by: "history", reason: "a signature that is no base64" });
  return undefined;
}

/** The `api` of messages of this protocol: pi's names for the Gemini API and Vertex AI. */
export function geminiApi(provider: string): string {
  return provider === "google-vertex" ? provider : "google-generative-ai";
}

/**
 * Members that are the data of a part, of which it has one at most.
 *
 * @see https://ai.google.dev/api/caching#Part (stored copy, 2026-11-21)
 */
const kinds = [
  ...["text", "inlineData", "fileData", "executableCode", "codeExecutionResult", "toolCall", "toolResponse"],
  "functionResponse",
];

/**
 * A copy of an opaque part that `readGeminiReply` kept, also of a kind that is not known here; undefined for
 * data that Gemini would refuse, such as another protocol's block, which has a type.
 */
export function ownPart(data: unknown): GeminiPart | undefined {
  if (!isRecord(data) || "type" in data || "functionCall" in data) return undefined;
  const { thoughtSignature, ...unsigned } = data;
  const named = Object.keys(unsigned).filter((name) => kinds.includes(name));
  if (Object.keys(unsigned).length === 0 || named.length > 1) return undefined;
  const copy: object = copyJsonObject(isSignature(thoughtSignature) ? data : unsigned);
  return isPart(copy) ? copy : undefined;
}

/** The words of a part that transcribes speech. */
export function transcribed(part: object): string | undefined {
  const { audioTranscription } = part as Readonly<Record<string, unknown>>;
  const text = isRecord(audioTranscription) ? audioTranscription.text : undefined;
  return typeof text === "string" && text !== "" ? text : undefined;
}

/** Keeps an empty text only if it has a signature. */
function isPart(copy: object): copy is GeminiPart {
  return !("text" in copy) || copy.text !== "" || "thoughtSignature" in copy;
}

/**
 * Renders a function response: its text under `output` or `error`, as Google documents, and its media beside
 * the text. The text does not refer to the media by name: the Gemini API refuses that.
 *
 * @see https://ai.google.dev/api/caching#FunctionResponse and
 *   https://github.com/googleapis/python-genai/issues/2792 (stored copies, 2026-11-21)
 */
export function functionResponse(
  result: ResultPart,
  ids: ReadonlySet<string>,
  tools: RenderTools,
): GeminiPart {
  const { callId, name, isError, parts } = result;
  const text = blockTexts(parts).join("\n");
  const media = parts
    .filter((part): part is MediaPart => part.type === "media")
    .flatMap((part) => inlineData(part, tools));
  return tools.trace(
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
