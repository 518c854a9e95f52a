import { anthropicMessages } from "sessile/projections/anthropic";
import type { HazardMaker } from "../../../arbitraries/hazards.js";
import type { CheckedTarget } from "../../checked-targets.js";
import { anthropicBreaches } from "./rules.js";

function checked(model: string, keepsPrefix: boolean, foreign: HazardMaker): CheckedTarget {
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
    target: anthropicMessages({ model }),
    // Of a context that ends with the model's turn there is a warning: what is said to go on, the harness knows.
    breaches: (value) =>
      anthropicBreaches({ model, max_tokens: 1, ...value }).filter(({ rule }) => rule !== "no-prefill"),
    makers: [maker, { ...maker, model: "claude-haiku-4-5" }, foreign],
    keepsPrefix,
  };
}

/** Anthropic's targets: of a model that takes all of its reasoning back, and of one that takes that of the current turn. */
export function checkedAnthropic(foreign: HazardMaker): readonly CheckedTarget[] {
  return [checked("claude-sonnet-4-5", true, foreign), checked("claude-opus-5-5", false, foreign)];
}
