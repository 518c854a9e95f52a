import { signatureOf } from "./signatures.js";

type Json = Readonly<Record<string, unknown>>;

const usage = {
  promptTokenCount: 1000,
  cachedContentTokenCount: 400,
  candidatesTokenCount: 60,
  thoughtsTokenCount: 40,
  totalTokenCount: 1100,
};

/** A response of `generateContent` with these parts. */
export function geminiReply(model: string, parts: readonly Json[], more: Json = {}): Json {
  return {
    candidates: [{ content: { role: "model", parts }, finishReason: "STOP", index: 0 }],
    usageMetadata: usage,
    modelVersion: model,
    responseId: "s4vTaPG2LIKmvdIPy6Gd4QM",
    ...more,
  };
}

/** Text, reasoning and two calls at once. Ids came with version 3. */
export function callingReply(model: string, { ids }: { readonly ids: boolean }): Json {
  const id = (name: string) => (ids ? { id: name } : {});
  return geminiReply(model, [
    { text: "I should read both.", thought: true, thoughtSignature: signatureOf(model, "thought") },
    { text: "Let me look.", thoughtSignature: signatureOf(model, "text") },
    {
      functionCall: { ...id("1a2b3c4d"), name: "read", args: { path: "a.png" } },
      thoughtSignature: signatureOf(model, "calls"),
    },
    { functionCall: { ...id("5e6f7a8b"), name: "read", args: { path: "b.png" } } },
  ]);
}
