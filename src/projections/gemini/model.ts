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
