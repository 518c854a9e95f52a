/** What a changed prefix costs, and the words for it in the command line and the viewer. */

import { usageCost } from "./cost.js";

/** `Projection.prefix`. */
interface RequestPrefix {
  readonly state: "unchanged" | "changed" | "new" | "unknown";
  readonly since?: string;
  readonly change?: { readonly by: keyof typeof changes; readonly entryId: string };
  readonly lost: readonly string[];
  readonly reasoningTokens: number;
  readonly cacheTokens: number;
}

/** The cost of a request's changed prefix, of processing its tokens again in place of a read from the cache. */
export function prefixCost({ cacheTokens }: RequestPrefix, model: string): number | undefined {
  const rest = { output: 0, cacheWrite: 0 };
  const again = usageCost({ ...rest, input: cacheTokens, cacheRead: 0 }, model);
  const read = usageCost({ ...rest, input: 0, cacheRead: cacheTokens }, model);
  return again === undefined || read === undefined ? undefined : again.total - read.total;
}

/** A request's prefix in sentences. Ids of entries are not escaped. */
export function prefixText(prefix: RequestPrefix, model: string): string {
  const { state, since, change, lost, reasoningTokens, cacheTokens } = prefix;
  const cost = prefixCost(prefix, model);
  const states: Readonly<Record<RequestPrefix["state"], string>> = {
    new: "The model has answered nothing yet.",
    unchanged: `Unchanged since the request of reply ${since}.`,
    changed: `Changed at ${change?.entryId}: ${changes[change?.by ?? "other"]}.`,
    unknown: "Not known: the newest reply does not name the request that it answered.",
  };
  const price = cost === undefined ? "" : `, $${cost.toFixed(4)} more than from the cache`;
  const read = `About ${cacheTokens.toLocaleString("en")} tokens are read again${price}.`;
  const replies = lost.length === 1 ? "1 reply" : `${lost.length} replies`;
  const left = `Reasoning of ${replies} no longer counts, about ${reasoningTokens.toLocaleString("en")} tokens.`;
  return [states[state], ...(cacheTokens > 0 ? [read] : []), ...(lost.length > 0 ? [left] : [])].join(" ");
}

const changes = {
  compaction: "a compaction replaced messages",
  edit: "a message was edited",
  policy: "an attachment is sent in another form",
  limit: "a limit left out an attachment",
  tools: "the tools changed",
  instructions: "the instructions changed",
  model: "other models made the replies",
  other: "what was sent then is not what is sent now",
};
