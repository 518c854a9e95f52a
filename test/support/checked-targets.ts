import { type CheckedTarget, foreign } from "./checked-target.js";
import { checkedPlain } from "./plain-target.js";
import { checkedAcp } from "./providers/acp/checked.js";
import { checkedAiSdk } from "./providers/ai-sdk/checked.js";
import { checkedAnthropic } from "./providers/anthropic/checked.js";
import { checkedBedrock } from "./providers/bedrock/checked.js";
import { checkedCodex } from "./providers/codex/checked.js";
import { checkedGemini } from "./providers/gemini/checked.js";
import { checkedMcp } from "./providers/mcp/checked.js";

/** Every target, with what checks it. */
export const checkedTargets: readonly CheckedTarget[] = [
  ...checkedPlain,
  ...checkedAnthropic,
  ...checkedGemini(foreign),
  ...checkedBedrock(foreign),
  ...checkedAiSdk,
  ...checkedMcp,
  ...checkedAcp,
  ...checkedCodex,
];
