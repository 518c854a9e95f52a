import type { Context, ContextMessage, Usage } from "../content/index.js";
import { estimateMessageTokens } from "../estimate/index.js";
import { describe } from "../internal/arguments.js";
import type { MessageEstimator } from "./strategy.js";

/** How {@link contextTokens} counts what no usage tells. */
export interface ContextTokensOptions {
  /** By default `estimateMessageTokens` of `sessile/estimate`; for pi's own, `{ text: byLength }` there. */
  readonly estimate?: MessageEstimator;
}

/**
 * How many tokens a context comes to, a whole number: what the provider counted at the last assistant message that has a
 * usage, and an estimate of what came since. A usage counts where its message was neither aborted nor an error, where it is
 * not zero, and where no compaction or context edit came after it, since it tells of another context then. Where there is none,
 * all is estimated. The rules are pi 1.5.2's.
 *
 * @throws RangeError where `estimate` gives no number from 0 on.
 * @example
 * ```ts
 * const context = contextOf([userMessage("What is wrong here?")]);
 * contextTokens(context); // 5
 * ```
 */
export function contextTokens(
  context: Pick<Context, "items" | "usageSince">,
  { estimate = estimateMessageTokens }: ContextTokensOptions = {},
): number {
  const { items, usageSince } = context;
  let estimated = 0;
  for (let at = items.length - 1; at >= 0; at--) {
    const { message } = items[at] as Context["items"][number];
    const counted = at >= usageSince ? countedTokens(message) : 0;
    if (counted > 0) return Math.ceil(counted + estimated);
    estimated += checkedTokens(estimate(message));
  }
  return Math.ceil(estimated);
}

/** An estimate as it came. Throws a RangeError where it is no number from 0 on. */
export function checkedTokens(tokens: number): number {
  if (typeof tokens === "number" && tokens >= 0 && tokens <= Number.MAX_SAFE_INTEGER) return tokens;
  throw new RangeError(`estimate: expected a number >= 0 of a message, got ${describe(tokens)}`);
}

/** What the provider counted for the context up to this message and with it; 0 where that is not known. */
function countedTokens(message: ContextMessage): number {
  if (message.role !== "assistant" || message.usage === undefined) return 0;
  if (message.stopReason === "aborted" || message.stopReason === "error") return 0;
  return usageTokens(message.usage);
}

function usageTokens({ totalTokens, input, output, cacheRead, cacheWrite }: Usage): number {
  const tokens = totalTokens || input + output + cacheRead + cacheWrite;
  // A log can hold any number.
  return tokens <= Number.MAX_SAFE_INTEGER ? tokens : 0;
}
