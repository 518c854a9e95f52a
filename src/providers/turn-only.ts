/** Texts that count for one turn, for a target whose provider clears them at the next message. */

import type { Context } from "../content/index.js";
import type { PendingAttachment, PendingTurn, TextPart, Turn, UserPart } from "./request.js";

/**
 * Repeats the texts that count for one turn behind each result of the turn, since the provider clears them there.
 * A copy stays where it was sent, so that a longer history keeps the bytes of a shorter one.
 *
 * @param before the turns before these
 * @see https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages (stored copy,
 *   2026-11-29)
 */
export function repeatTurnOnly(
  turns: readonly PendingTurn[],
  items: Context["items"],
  before: readonly Turn[] = [],
): readonly PendingTurn[] {
  let current = lastTexts(before, items);
  return turns.map((turn): PendingTurn => {
    if (turn.role === "assistant") return turn;
    if (asks(turn.parts, items)) current = [];
    const own = turn.parts.filter(isTurnOnly);
    if (own.length + turn.results.length === 0) return turn;
    const replaced = new Set(own.map(({ turnOnly }) => turnOnly));
    const texts = [...current.filter(({ turnOnly }) => !replaced.has(turnOnly)), ...own];
    current = newest(texts);
    return texts.length === 0
      ? turn
      : { ...turn, parts: [...turn.parts.filter((part) => !isTurnOnly(part)), ...texts] };
  });
}

/** Whether a part counts for one turn. */
export function isTurnOnly(
  part: UserPart | PendingAttachment,
): part is TextPart & { readonly turnOnly: string } {
  return part.type === "text" && part.turnOnly !== undefined;
}

type TurnOnlyText = TextPart & { readonly turnOnly: string };

/** The texts in force behind turns. */
function lastTexts(turns: readonly Turn[], items: Context["items"]): readonly TurnOnlyText[] {
  for (const turn of turns.toReversed()) {
    if (turn.role === "assistant") continue;
    const texts = turn.parts.filter(isTurnOnly);
    if (texts.length > 0) return newest(texts);
    if (asks(turn.parts, items)) return [];
  }
  return [];
}

/** Of the messages of one type, the last. */
function newest(texts: readonly TurnOnlyText[]): readonly TurnOnlyText[] {
  const last = new Map(texts.map(({ turnOnly, origin }) => [turnOnly, origin.item]));
  return texts.filter(({ turnOnly, origin }) => last.get(turnOnly) === origin.item);
}

/** Whether a message of the user's is among the parts of a turn. */
function asks(parts: readonly (UserPart | PendingAttachment)[], items: Context["items"]): boolean {
  return parts.some(({ origin }) => items[origin.item]?.message.role === "user");
}
