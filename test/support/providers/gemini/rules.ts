import type { ProviderRule } from "../rule.js";
import { mediaRules } from "./media.js";
import { partRules } from "./parts.js";
import { signatureRules } from "./signatures.js";
import { turnRules } from "./turns.js";
import type { GeminiRequest } from "./wire.js";

/**
 * What the Gemini API asks of `generateContent`. Each rule's problem is the message that Google answers with, as it was
 * seen, or `Request contains an invalid argument.` where none was.
 */
export const geminiRules: readonly ProviderRule<GeminiRequest>[] = [
  ...partRules,
  ...turnRules,
  ...mediaRules,
  ...signatureRules,
];
