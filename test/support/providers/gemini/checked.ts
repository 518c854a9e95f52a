import { geminiContents } from "sessile/gemini";
import type { HazardMaker } from "../../../arbitraries/hazards.js";
import { type CheckedTarget, foreign } from "../../checked-target.js";
import { written } from "../../projection-oracle.js";
import { breaches } from "../rule.js";
import { geminiRules } from "./rules.js";
import { gemini3, gemini25 } from "./sample.js";
import { signatureOf } from "./signatures.js";

const maker = (model: string): HazardMaker => ({
  provider: "google",
  model,
  api: "google-generative-ai",
  signed: (word) => signatureOf(model, word),
  opaque: (word) => ({ executableCode: { language: "PYTHON", code: word } }),
});

function checked(model: string, others: readonly HazardMaker[]): CheckedTarget {
  return {
    name: `geminiContents, ${model}`,
    target: geminiContents({ model }),
    breaches: (value) => {
      const json = written(value);
      return breaches({ model, bytes: json.length, body: JSON.parse(json) }, geminiRules);
    },
    makers: [maker(model), ...others],
    keepsPrefix: true,
  };
}

/** The Gemini API, for a model that signs and one that does not. */
export const checkedGemini: readonly CheckedTarget[] = [
  checked(gemini3, [maker(gemini25), foreign]),
  checked(gemini25, [maker(gemini3), foreign]),
];
