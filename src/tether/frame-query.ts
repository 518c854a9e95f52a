import { describe, integerOption } from "../internal/arguments.js";
import { isRecord } from "../internal/shape.js";
import type { TetherFrame, TetherSession } from "./frame.js";

/** Which frames to read. */
export interface FrameQuery {
  /**
   * The `nextSeq` of the last reading; default 0, from the oldest on. One beyond the newest number is of a ring that was lost:
   * that reader gets all there is, from the oldest on, as if it had none.
   */
  readonly after?: number;
  /** Default all. */
  readonly session?: TetherSession;
  /** Default all. */
  readonly types?: readonly string[];
  /** The most frames, at least 1. Default all. */
  readonly limit?: number;
  /** The most bytes of payloads, at least 1; one frame comes whatever its size. Default all. */
  readonly maxBytes?: number;
}

/** A query with its defaults, which nobody can change any more. */
export interface CheckedQuery {
  readonly after: number;
  readonly limit: number;
  readonly maxBytes: number;
  readonly wants: (frame: TetherFrame) => boolean;
}

/** @throws RangeError, TypeError that name the option */
export function checkQuery({ after, session, types, limit, maxBytes }: FrameQuery): CheckedQuery {
  if (session !== undefined) checkSession("session", session);
  if (types !== undefined && !Array.isArray(types)) {
    throw new TypeError(`types: expected an array of strings, got ${describe(types)}`);
  }
  return {
    after: integerOption("after", after, 0, 0),
    limit: integerOption("limit", limit, Number.MAX_SAFE_INTEGER, 1),
    maxBytes: integerOption("maxBytes", maxBytes, Number.MAX_SAFE_INTEGER, 1),
    wants: wanting(session, types),
  };
}

/** @throws TypeError for what is no session */
function checkSession(name: string, value: unknown): void {
  if (isRecord(value) && typeof value.channel === "string" && typeof value.id === "string") return;
  throw new TypeError(`${name}: expected { channel, id } of strings, got ${describe(value)}`);
}

function wanting(
  session: TetherSession | undefined,
  types: readonly string[] | undefined,
): CheckedQuery["wants"] {
  const named = types === undefined ? undefined : new Set(types);
  if (session === undefined) return ({ type }) => named?.has(type) ?? true;
  const { channel, id } = session;
  return (frame) =>
    frame.session.channel === channel && frame.session.id === id && (named?.has(frame.type) ?? true);
}
