import { mcpContent } from "sessile/mcp";
import { type CheckedTarget, foreign } from "../../checked-target.js";
import { breaches } from "../rule.js";
import { mcpRules } from "./rules.js";

/** MCP's prompts. */
export const checkedMcp: readonly CheckedTarget[] = [
  {
    name: "mcp",
    target: mcpContent(),
    breaches: (value) => breaches(value, mcpRules),
    makers: [foreign],
    keepsPrefix: true,
    tellsInstructions: true,
  },
];
