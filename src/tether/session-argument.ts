import { describe, stringArgument } from "../internal/arguments.js";
import type { TetherSession } from "./frame.js";

/** A conversation that a caller names: its two names and nothing else. Throws a TypeError that says which is none. */
export function sessionArgument(session: TetherSession): TetherSession {
  if (typeof session !== "object" || session === null) {
    throw new TypeError(`session: expected an object with channel and id, got ${describe(session)}`);
  }
  return {
    channel: stringArgument("session.channel", session.channel),
    id: stringArgument("session.id", session.id),
  };
}
