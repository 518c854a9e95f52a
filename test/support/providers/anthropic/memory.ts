import { isDeepStrictEqual } from "node:util";
import type Anthropic from "@anthropic-ai/sdk";
import type { ProviderRule } from "../rule.js";
import { isThinking } from "./reasoning.js";
import type { AnthropicRequest, Turn } from "./request.js";
import { sources } from "./sources.js";

/**
 * Reasoning that the server gave out comes back as it was: no block with another text, and of the latest turn neither more
 * nor fewer, in their order.
 */
export function thinkingIsUnchanged(given: readonly Anthropic.Message[]): ProviderRule<AnthropicRequest> {
  const isGiven =
    ({ blocks }: Turn) =>
    (message: Anthropic.Message) =>
      blocks.some(({ type, value }) =>
        message.content.some((block) => {
          if (block.type === "tool_use") return type === "tool_use" && value.id === block.id;
          return block.type === "thinking" && type === "thinking" && value.signature === block.signature;
        }),
      );
  return {
    id: "thinking-is-unchanged",
    source: `${sources.thinking}#preserving-thinking-blocks; ${sources.errors}`,
    check: ({ turns }) => {
      const latest = turns.findLast(({ role }) => role === "assistant");
      const from = latest === undefined ? undefined : given.findLast(isGiven(latest));
      if (latest === undefined || from === undefined) return [];
      const came = latest.blocks.filter(isThinking).map(({ value }) => value);
      const went = from.content.filter(({ type }) => type === "thinking" || type === "redacted_thinking");
      if (isDeepStrictEqual(came, went)) return [];
      const at = latest.blocks.findIndex(isThinking);
      const problem =
        "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.";
      return [{ path: `${latest.path}.content.${Math.max(0, at)}`, problem }];
    },
  };
}
