import type { NeutralRequest, Part, Turn } from "./request.js";

/** Where in a request a cache marker goes: behind the system's text, or behind a turn. */
export type CacheBreakpoint = "system" | number;

/**
 * Says behind what a provider is to keep what it has read. Told whether there is a system text and how many
 * turns there are; marks are indexes of turns or `system`, the most useful first, since a target takes only
 * so many. Pure.
 */
export type CachePolicy = (request: {
  readonly hasSystem: boolean;
  readonly turns: number;
}) => readonly CacheBreakpoint[];

/**
 * Keeps everything up to here, for a conversation that goes on: behind the last turn, behind the last but
 * two, where the request before this one had its last marker, and behind the system's text.
 */
export const cacheConversation: CachePolicy = ({ hasSystem, turns }) => [
  turns - 1,
  ...(turns > 2 ? [turns - 3] : []),
  ...(hasSystem ? (["system"] as const) : []),
];

/** Keeps the system's text only, for requests that have nothing else in common. */
export const cacheSystem: CachePolicy = ({ hasSystem }) => (hasSystem ? ["system"] : []);

/** The parts behind which a marker goes, at most so many. */
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

/** Reasoning takes no marker, and neither does what only the provider understands. */
function lastMarkable(turn: Turn): Part | undefined {
  if (turn.role === "user") return turn.parts.at(-1) ?? turn.results.at(-1);
  return turn.parts.findLast(({ type }) => type === "text" || type === "call");
}
