import { digest } from "../blobs/index.js";
import { describe, stringArgument } from "../internal/arguments.js";
import { encodeUtf8 } from "../internal/bytes.js";
import type { TetherSession } from "./frame.js";

/**
 * An id for the session store, the same for the same conversation and another for every other: `tether-` and 32 hexadecimal
 * digits of a digest over instance, channel and id, since names joined by a separator meet (`a_b` and `c`, `a` and `b_c`),
 * and ids from outside may be paths.
 *
 * @param instance who the conversation is with, where several agents share a store
 * @throws TypeError for names that are empty or none
 * @example
 * ```ts
 * tetherSessionId({ channel: "telegram", id: "42" }); // "tether-f9dc6f1bb5d8bfc01efc800772fde4cf"
 * ```
 */
export function tetherSessionId(session: TetherSession, instance?: string): string {
  const { channel, id } = sessionArgument(session);
  const agent = instance === undefined ? null : stringArgument("instance", instance);
  // As JSON, which says where each name ends, and writes half a surrogate pair out, that UTF-8 would lose.
  const names = encodeUtf8(JSON.stringify([agent, channel, id]));
  return `tether-${digest(names).slice("sha256:".length, "sha256:".length + 32)}`;
}

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
