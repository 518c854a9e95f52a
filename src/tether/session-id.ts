/** The id of the session that stores a conversation. */

import { digest } from "../blobs/index.js";
import { describe, stringArgument } from "../core/arguments.js";
import { encodeUtf8 } from "../core/bytes.js";
import type { TetherSession } from "./frame.js";

/**
 * Derives the session id of a conversation: `tether-` and 32 hexadecimal digits of a digest over instance,
 * channel and id. It is deterministic, and differs between conversations: names joined by a separator would
 * collide (`a_b` and `c`, `a` and `b_c`), and external ids may be paths.
 *
 * @param instance the agent, if several agents share a store
 * @throws TypeError for a name that is not a non-empty string
 * @example
 * ```ts
 * tetherSessionId({ channel: "telegram", id: "42" }); // "tether-f9dc6f1bb5d8bfc01efc800772fde4cf"
 * ```
 */
export function tetherSessionId(session: TetherSession, instance?: string): string {
  const { channel, id } = sessionArgument(session);
  const agent = instance === undefined ? null : stringArgument("instance", instance);
  // JSON delimits the names, and escapes lone surrogates, which UTF-8 would replace.
  const names = encodeUtf8(JSON.stringify([agent, channel, id]));
  return `tether-${digest(names).slice("sha256:".length, "sha256:".length + 32)}`;
}

/**
 * Validates a session argument, and copies its two names. @throws TypeError with the name of the invalid one
 */
export function sessionArgument(session: TetherSession): TetherSession {
  if (typeof session !== "object" || session === null) {
    throw new TypeError(`session: expected an object with channel and id, got ${describe(session)}`);
  }
  return {
    channel: stringArgument("session.channel", session.channel),
    id: stringArgument("session.id", session.id),
  };
}
