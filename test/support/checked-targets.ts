import type { CheckedTarget } from "./checked-target.js";
import { checkedPlain } from "./plain-target.js";
import { checkedAcp } from "./providers/acp/checked.js";
import { checkedAiSdk } from "./providers/ai-sdk/checked.js";
import { checkedAnthropic } from "./providers/anthropic/checked.js";
import { checkedBedrock } from "./providers/bedrock/checked.js";
import { checkedClaudeAgent } from "./providers/claude-agent/checked.js";
import { checkedCodex } from "./providers/codex/checked.js";
import { checkedGemini } from "./providers/gemini/checked.js";
import { checkedMcp } from "./providers/mcp/checked.js";
import { checkedOpenai } from "./providers/openai/checked.js";

/** Every target, with what checks it. */
export const checkedTargets: readonly CheckedTarget[] = [
  ...checkedPlain,
  ...checkedAnthropic,
  ...checkedOpenai,
  ...checkedGemini,
  ...checkedBedrock,
  ...checkedAiSdk,
  ...checkedMcp,
  ...checkedAcp,
  ...checkedClaudeAgent,
  ...checkedCodex,
];
