import { bedrockConverse } from "sessile/projections/bedrock";
import type { HazardMaker } from "../../../arbitraries/hazards.js";
import { type CheckedTarget, foreign } from "../../checked-target.js";
import { written } from "../../projection-oracle.js";
import { breaches } from "../rule.js";
import { bedrockRules } from "./rules.js";
import { asking, claude, nova } from "./sample.js";
import { signatureOf } from "./state.js";

const maker = (model: string): HazardMaker => ({
  provider: "amazon-bedrock",
  model,
  api: "bedrock-converse-stream",
  signed: (word) => signatureOf(model, word),
});

function checked(model: string, others: readonly HazardMaker[]): CheckedTarget {
  return {
    name: `bedrockConverse, ${model}`,
    target: bedrockConverse({ model }),
    breaches: (value) => {
      const { messages, ...more } = JSON.parse(written(value));
      return breaches(asking(messages, { to: model, ...more }), bedrockRules);
    },
    makers: [maker(model), ...others],
    keepsPrefix: true,
  };
}

/** Bedrock's Converse, for a model that signs its reasoning and one that does not. */
export const checkedBedrock: readonly CheckedTarget[] = [
  checked(claude, [maker(nova), foreign]),
  checked(nova, [maker(claude), foreign]),
];
