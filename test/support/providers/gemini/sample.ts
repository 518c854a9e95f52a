import { bytesOf, jpeg, png, sof, vp8, webp } from "../../media-files.js";
import { signatureOf } from "./signatures.js";
import type { GeminiRequest } from "./wire.js";

export const gemini3 = "gemini-3-pro-preview";
export const gemini25 = "gemini-2.5-pro";

const encoded = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
const size = { width: 4, height: 3 };

/** One small file of each kind, as base64. */
export const samples = {
  png: encoded(png(size)),
  jpeg: encoded(jpeg(sof(size))),
  webp: encoded(webp(vp8(size))),
  pdf: encoded(bytesOf("%PDF-1.7\n")),
  text: encoded(bytesOf("name,age\nAda,36\n")),
  widePng: encoded(png({ width: 8001, height: 1 })),
};

type Json = Record<string, unknown>;

export const text = (words: string, more: Json = {}): Json => ({ text: words, ...more });
export const blob = (mimeType: string, data: string): Json => ({ inlineData: { mimeType, data } });
export const call = (name: string, more: Json = {}, ofCall: Json = {}): Json => ({
  functionCall: { name, args: { path: "a.png" }, ...ofCall },
  ...more,
});
export const response = (name: string, more: Json = {}): Json => ({
  functionResponse: { name, response: { output: "done" }, ...more },
});
export const user = (...parts: readonly Json[]): Json => ({ role: "user", parts });
export const model = (...parts: readonly Json[]): Json => ({ role: "model", parts });

/** A request of these contents. */
export function asking(
  contents: readonly Json[],
  { to = gemini3, ...more }: { readonly to?: string } & Json = {},
): GeminiRequest {
  const body = { contents, ...more };
  return { model: to, bytes: JSON.stringify(body).length, body };
}

/** A conversation with everything in it that a version 3 takes. */
export const validContents: readonly Json[] = [
  user(text("Look at these."), blob("image/png", samples.png), blob("application/pdf", samples.pdf)),
  model(
    text("Two files.", { thought: true, thoughtSignature: signatureOf(gemini3, "thought") }),
    text("I see a picture.", { thoughtSignature: signatureOf(gemini3, "text") }),
    call("read", { thoughtSignature: signatureOf(gemini3, "calls") }, { id: "c1" }),
    call("read", {}, { id: "c2" }),
  ),
  user(
    response("read", { id: "c1", parts: [blob("image/webp", samples.webp)] }),
    response("read", { id: "c2", response: { error: "no such file" } }),
  ),
  user(text("Both, please."), blob("text/plain", samples.text)),
  model(call("shot", { thoughtSignature: "skip_thought_signature_validator" })),
  user(response("shot", { parts: [blob("application/pdf", samples.pdf)] })),
  model(text("", { thoughtSignature: signatureOf(gemini3, "empty") })),
  user(text("And this?"), { fileData: { fileUri: "https://example.com/a.jpg", mimeType: "image/jpeg" } }),
];

export const validRequest: GeminiRequest = asking(validContents, {
  systemInstruction: { parts: [text("Be brief.")] },
});

/** What versions before 3 take: no signatures, and media of a tool behind its response. */
export const validOldRequest: GeminiRequest = asking(
  [
    user(text("Look.")),
    model(call("read"), call("shot")),
    user(response("read"), response("shot")),
    user(text("From shot:"), blob("image/jpeg", samples.jpeg)),
    model(text("A picture.")),
  ],
  { to: gemini25 },
);
