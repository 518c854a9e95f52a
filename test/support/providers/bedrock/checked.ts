import { bedrockConverse } from "sessile/bedrock";
import type { HazardMaker } from "../../../arbitraries/hazards.js";
import { type CheckedTarget, foreign } from "../../checked-target.js";
import { written } from "../../projection-oracle.js";
import { breaches } from "../rule.js";
import { bedrockRules } from "./rules.js";
import { asking, claude, llama, nova, pixtral, writer } from "./sample.js";
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

/** Bedrock's Converse, for a model of each family that differs. */
export const checkedBedrock: readonly CheckedTarget[] = [
  checked(claude, [maker(nova), foreign]),
  checked(nova, [maker(claude), foreign]),
  checked(llama, [maker(claude), foreign]),
  checked(pixtral, [maker(claude), foreign]),
  checked(writer, [maker(claude), foreign]),
];
