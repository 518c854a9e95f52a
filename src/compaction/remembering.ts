import type { ContextMessage } from "../content/index.js";
import type { MessageEstimator } from "./strategy.js";
import { checkedTokens } from "./tokens.js";

/** The same estimates, each made once: the cut, the room, what is kept and what is verified all ask for those of the same messages. */
export function remembering(estimate: MessageEstimator): MessageEstimator {
  const known = new Map<ContextMessage, number>();
  return (message) => {
    const before = known.get(message);
    if (before !== undefined) return before;
    const tokens = checkedTokens(estimate(message));
    known.set(message, tokens);
    return tokens;
  };
}
