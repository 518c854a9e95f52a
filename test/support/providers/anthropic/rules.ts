import { type Breach, breaches, type ProviderRule } from "../rule.js";
import { cacheRules } from "./caches.js";
import { callRules } from "./calls.js";
import { fieldRules } from "./fields.js";
import { mediaRules } from "./media.js";
import { reasoningRules } from "./reasoning.js";
import { type AnthropicRequest, readRequest } from "./request.js";
import { serverToolRules } from "./server-tools.js";
import { textRules } from "./texts.js";

/** What the Messages API asks of a request, as its documentation and its refusals have it. */
export const anthropicRules: readonly ProviderRule<AnthropicRequest>[] = [
  ...fieldRules,
  ...callRules,
  ...serverToolRules,
  ...textRules,
  ...reasoningRules,
  ...cacheRules,
  ...mediaRules,
];

/** Every rule that a body breaks; `bytes` as it came over the wire, else as JSON would have it. */
export function anthropicBreaches(body: unknown, bytes?: number): readonly Breach[] {
  return breaches(readRequest(body, bytes), anthropicRules);
}
