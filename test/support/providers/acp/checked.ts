import { type AcpPromptOptions, acpPrompt } from "sessile/acp";
import { type CheckedTarget, foreign } from "../../checked-target.js";
import { breaches } from "../rule.js";
import { everything } from "./rejected.js";
import { acpRules } from "./rules.js";

function acp(name: string, options: AcpPromptOptions, keepsPrefix: boolean): CheckedTarget {
  return {
    name,
    target: acpPrompt(options),
    breaches: (value) => {
      const prompt = "prompt" in value ? value.prompt : undefined;
      return breaches({ prompt, capabilities: options.capabilities ?? {} }, acpRules);
    },
    makers: [foreign],
    keepsPrefix,
    tellsInstructions: true,
  };
}

/** ACP agents of much and of little. */
export const checkedAcp: readonly CheckedTarget[] = [
  acp("acp, of everything", { capabilities: everything }, false),
  acp("acp, of text alone", {}, false),
  acp("acp, as a transcript", { capabilities: everything, history: "transcript" }, true),
];
