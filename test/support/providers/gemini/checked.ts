import { geminiContents, geminiInteractions } from "sessile/gemini";
import type { HazardMaker } from "../../../arbitraries/hazards.js";
import { type CheckedTarget, foreign } from "../../checked-target.js";
import { written } from "../../projection-oracle.js";
import { breaches } from "../rule.js";
import { interactionRules } from "./interaction-rules.js";
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

const interactionMaker = (model: string): HazardMaker => ({
  ...maker(model),
  api: "google-interactions",
  opaque: (word) => ({
    type: "model_output",
    content: [{ type: "document", uri: `https://e.x/${word}`, mime_type: "application/pdf" }],
  }),
});

function checkedInteractions(model: string, others: readonly HazardMaker[]): CheckedTarget {
  return {
    name: `geminiInteractions, ${model}`,
    target: geminiInteractions({ model }),
    breaches: (value) => {
      const json = written({ model, ...value });
      return breaches({ bytes: json.length, body: JSON.parse(json) }, interactionRules);
    },
    makers: [interactionMaker(model), ...others],
    keepsPrefix: true,
  };
}

/** The Gemini API, for a model that signs and one that does not. */
export const checkedGemini: readonly CheckedTarget[] = [
  checked(gemini3, [maker(gemini25), foreign]),
  checked(gemini25, [maker(gemini3), foreign]),
  checkedInteractions(gemini3, [maker(gemini3), interactionMaker(gemini25), foreign]),
  checkedInteractions(gemini25, [interactionMaker(gemini3), foreign]),
];
