import type { ProviderRule } from "../rule.js";
import type { AnthropicRequest, Block } from "./request.js";
import { sources } from "./sources.js";

export const isThinking = ({ type }: Block): boolean => type === "thinking" || type === "redacted_thinking";

/** Reasoning, which nobody but the API can make. */
export const reasoningRules: readonly ProviderRule<AnthropicRequest>[] = [
  {
    id: "thinking-is-signed",
    source: `${sources.thinkingTroubles}; ${sources.types}`,
    check: ({ blocks }) =>
      blocks.flatMap((block) => {
        if (block.type === "thinking" && block.value.signature === "") {
          return [{ path: block.path, problem: "Invalid `signature` in `thinking` block" }];
        }
        if (block.type === "redacted_thinking" && block.value.data === "") {
          return [{ path: block.path, problem: "Invalid `data` in `redacted_thinking` block" }];
        }
        return [];
      }),
  },
  {
    id: "thinking-is-not-last",
    source: sources.endsInThinking,
    check: ({ turns }) =>
      turns.flatMap(({ path, role, blocks }) => {
        const last = blocks.at(-1);
        if (role !== "assistant" || last === undefined || !isThinking(last)) return [];
        return [{ path, problem: "The final block in an assistant message cannot be `thinking`." }];
      }),
  },
];
