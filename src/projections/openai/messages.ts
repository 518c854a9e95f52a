import type { Part } from "../request.js";

/**
 * Groups the parts of a turn by their messages. Both protocols accept several messages of one role in a row.
 * An appended message thus does not change the bytes before it.
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
