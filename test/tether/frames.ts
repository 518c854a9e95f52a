import fc from "fast-check";
import type { FrameQuery, SequencedFrame, TetherFrame, TetherSession } from "sessile/tether";

/** Conversations whose names meet where they are joined. */
export const sessions: readonly [TetherSession, ...TetherSession[]] = [
  { channel: "a", id: "b_c" },
  { channel: "a_b", id: "c" },
  { channel: "a", id: "c" },
];

export const frameTypes = ["user.message", "assistant.delta", "assistant.done", "control.stop"] as const;

/** A frame that says something. */
export function frameOf(
  payload: unknown = { text: "" },
  type: string = "assistant.delta",
  session: TetherSession = sessions[0],
): TetherFrame {
  return { v: 1, type, ts: "2026-11-22T00:00:00.000Z", session: { ...session }, payload };
}

/** A frame that has its place. */
export function numbered(seq: number, payload?: unknown, type?: string): SequencedFrame {
  return { ...frameOf(payload, type), seq };
}

const payload = fc.oneof(
  fc.nat({ max: 300 }).map((length) => ({ text: "x".repeat(length) })),
  fc.jsonValue({ maxDepth: 2 }),
);

/** Frames of any conversation and type, some with a number from elsewhere. */
export const anyFrame: fc.Arbitrary<TetherFrame> = fc
  .tuple(
    payload,
    fc.constantFrom(...frameTypes),
    fc.constantFrom(...sessions),
    fc.option(fc.nat({ max: 50 }), { nil: undefined }),
  )
  .map(([content, type, session, seq]) => ({
    ...frameOf(content, type, session),
    ...(seq === undefined ? {} : { seq }),
  }));

/** Which frames somebody is after. */
export const filter: fc.Arbitrary<Pick<FrameQuery, "session" | "types">> = fc.record(
  {
    session: fc.constantFrom(...sessions),
    types: fc.uniqueArray(fc.constantFrom(...frameTypes), { maxLength: 3 }),
  },
  { requiredKeys: [] },
);

/** How much somebody takes at once. */
export const amount: fc.Arbitrary<Pick<FrameQuery, "limit" | "maxBytes">> = fc.record(
  { limit: fc.integer({ min: 1, max: 5 }), maxBytes: fc.integer({ min: 1, max: 1000 }) },
  { requiredKeys: [] },
);

/** Small rings. */
export const budgets = fc.record(
  { maxFrames: fc.integer({ min: 1, max: 12 }), maxBytes: fc.integer({ min: 1, max: 2000 }) },
  { requiredKeys: [] },
);
