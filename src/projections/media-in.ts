import type { MediaPart, Turn } from "./turns.js";

/** The bytes that a turn shows, those of its results first. */
export function mediaIn(turn: Turn): readonly MediaPart[] {
  if (turn.role === "assistant") return [];
  const shown = [...turn.results.flatMap(({ parts }) => parts), ...turn.parts];
  return shown.filter((part): part is MediaPart => part.type === "media");
}
