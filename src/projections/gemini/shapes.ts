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
