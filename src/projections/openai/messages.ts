import type { Part } from "../request.js";

/**
 * The parts of a turn by the messages that they come from. Both protocols take several messages of one role in a row, so that
 * one that is added does not change the bytes of the one before it.
 */
export function messagesIn<P extends Part>(parts: readonly P[]): readonly (readonly P[])[] {
  const messages: P[][] = [];
  for (const part of parts) {
    const last = messages.at(-1);
    if (last?.[0]?.origin.item === part.origin.item) last.push(part);
    else messages.push([part]);
  }
  return messages;
}
