import { type CodexExec, codexExec } from "sessile/codex";
import { type CheckedTarget, foreign } from "../../checked-target.js";
import { breaches } from "../rule.js";
import { codexRules } from "./rules.js";

function codex(name: string, history: "latest" | "transcript", keepsPrefix: boolean): CheckedTarget {
  return {
    name,
    // What is in the value is the path, so that it shows by it which image it is.
    target: codexExec({ history, imagePath: ({ base64 }) => `/images/${base64}.png` }),
    breaches: (value) => breaches(value as CodexExec, codexRules),
    makers: [foreign],
    keepsPrefix,
    tellsInstructions: true,
  };
}

/** Codex, told of a turn or of all. */
export const checkedCodex: readonly CheckedTarget[] = [
  codex("codex", "latest", false),
  codex("codex, as a transcript", "transcript", false),
];
