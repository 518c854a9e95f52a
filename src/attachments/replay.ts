import type { ReplayPolicy } from "../content/index.js";
import { integerOption } from "../internal/arguments.js";

/**
 * The default: the bytes of the current turn's attachments, on every round of its tools; of earlier ones the descriptor,
 * unless a resource view of this turn brings one back.
 */
export const replayCurrentTurn: ReplayPolicy = (_resource, { currentTurn, viewed }) =>
  currentTurn || viewed ? "full" : "describe";

/** The bytes of every attachment, in every request. Dear, but the prompt's beginning stays what it was. */
export const replayAlways: ReplayPolicy = () => "full";

/** Descriptors only: no bytes leave, not even those of the current turn. */
export const replayNever: ReplayPolicy = () => "describe";

/**
 * {@link replayCurrentTurn}, and of earlier attachments the newest as long as they fit into a budget together with all that
 * is newer.
 *
 * @param budget.maxBytes bytes as stored, at least 0; default no bound
 * @param budget.maxCount attachments, at least 0; default no bound
 * @example
 * ```ts
 * const replay = replayWithin({ maxBytes: 10_000_000, maxCount: 20 });
 * const { attachments } = await planAttachments(await session.context(), { target: "anthropic", replay });
 * ```
 */
export function replayWithin(budget: {
  readonly maxBytes?: number;
  readonly maxCount?: number;
}): ReplayPolicy {
  const maxBytes = integerOption("maxBytes", budget.maxBytes, Number.MAX_SAFE_INTEGER, 0);
  const maxCount = integerOption("maxCount", budget.maxCount, Number.MAX_SAFE_INTEGER, 0);
  return (resource, place) => {
    if (replayCurrentTurn(resource, place) === "full") return "full";
    const { newer } = place;
    return newer.count + 1 <= maxCount && newer.bytes + resource.size <= maxBytes ? "full" : "describe";
  };
}
