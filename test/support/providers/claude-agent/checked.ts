import { claudeAgentMessages } from "sessile/claude-agent";
import { type CheckedTarget, foreign } from "../../checked-target.js";
import { breaches } from "../rule.js";
import { claudeAgentRules } from "./rules.js";

/** The Claude Agent SDK: the latest turn, and a conversation told as one. */
export const checkedClaudeAgent: readonly CheckedTarget[] = (["latest", "transcript"] as const).map(
  (history) => ({
    name: `claude-agent, ${history}`,
    target: claudeAgentMessages({ history }),
    breaches: (value) => breaches<unknown>(value, claudeAgentRules),
    makers: [foreign],
    keepsPrefix: history === "transcript",
    tellsInstructions: true,
  }),
);
