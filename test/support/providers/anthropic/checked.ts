import { anthropicMessages } from "sessile/anthropic";
import type { HazardMaker } from "../../../arbitraries/hazards.js";
import { type CheckedTarget, foreign } from "../../checked-target.js";
import { anthropicBreaches } from "./rules.js";

function anthropic(model: string, keepsPrefix: boolean, turnOnly: readonly string[]): CheckedTarget {
  const maker: HazardMaker = {
    provider: "anthropic",
    model,
    api: "anthropic-messages",
    // A search that never came to its end is left out as soon as the user speaks: that, a prefix does not outlive.
    opaque: (word) =>
      keepsPrefix
        ? { type: "container_upload", file_id: word }
        : { type: "server_tool_use", id: `srvtoolu_${word}`, name: "web_search", input: { query: word } },
  };
  return {
    name: `anthropic, ${model}`,
    target: anthropicMessages({ model, turnOnly }),
    // Of a context that ends with the model's turn there is a warning: what is said to go on, the harness knows.
    breaches: (value) =>
      anthropicBreaches({ model, max_tokens: 1, ...value }).filter(({ rule }) => rule !== "no-prefill"),
    makers: [maker, { ...maker, model: "claude-haiku-4-5" }, foreign],
    keepsPrefix,
  };
}

/** Claude, of a model that binds reasoning to its prefix and of one that does not. */
export const checkedAnthropic: readonly CheckedTarget[] = [
  anthropic("claude-sonnet-4-5", true, []),
  // Reasoning of turns that are over does not go back to it.
  anthropic("claude-opus-5-5", false, []),
  // Custom messages count for one turn.
  anthropic("claude-fable-5-1", false, ["x"]),
];
