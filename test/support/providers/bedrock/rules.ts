import type { ProviderRule } from "../rule.js";
import { blockRules } from "./blocks.js";
import { mediaRules } from "./media.js";
import { stateRules } from "./state.js";
import { turnRules } from "./turns.js";
import type { BedrockRequest } from "./wire.js";

/**
 * What Bedrock asks of `Converse`, and Claude behind it. Each rule's problem is the message that comes back, as it was
 * seen where it was.
 */
export const bedrockRules: readonly ProviderRule<BedrockRequest>[] = [
  ...blockRules,
  ...turnRules,
  ...mediaRules,
  ...stateRules,
];
