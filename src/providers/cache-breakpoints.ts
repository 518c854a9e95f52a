/** Places the cache markers of a request. */

import type { NeutralRequest, Part, Turn } from "./request.js";
import { isTurnOnly } from "./turn-only.js";

/** The position of a cache marker: after the system text, or after a turn. */
export type CacheBreakpoint = "system" | number;

/**
 * Chooses the positions of cache markers, by whether there is a system text and by the number of turns.
 * Returns indexes of turns or `system`, the most useful first, because a target accepts only a few. Pure.
 */
export type CachePolicy = (request: {
  readonly hasSystem: boolean;
  readonly turns: number;
}) => readonly CacheBreakpoint[];

/**
 * Caches the whole conversation: after the last turn, after the last turn but two, at which the previous
 * request had its last marker, and after the system text.
 */
export const cacheConversation: CachePolicy = ({ hasSystem, turns }) => [
  turns - 1,
  ...(turns > 2 ? [turns - 3] : []),
  ...(hasSystem ? (["system"] as const) : []),
];

/** Caches the system text only, for requests without another common prefix. */
export const cacheSystem: CachePolicy = ({ hasSystem }) => (hasSystem ? ["system"] : []);

/** The parts after which markers go, up to a maximum. */
export function breakpointParts(
  { system, turns }: NeutralRequest,
  policy: CachePolicy,
  most: number,
): ReadonlySet<Part> {
  const marked = new Set<Part>();
  for (const mark of policy({ hasSystem: system.length > 0, turns: turns.length })) {
    if (marked.size === most) break;
    const turn = mark === "system" ? undefined : turns[mark];
    const part = mark === "system" ? system.at(-1) : turn && lastMarkable(turn);
    if (part !== undefined) marked.add(part);
  }
  return marked;
}

/** The last part of a turn that can have a marker: reasoning, opaque blocks and what a provider clears cannot. */
function lastMarkable(turn: Turn): Part | undefined {
  if (turn.role === "user") return turn.parts.findLast((part) => !isTurnOnly(part)) ?? turn.results.at(-1);
  return turn.parts.findLast(({ type }) => type === "text" || type === "call");
}
