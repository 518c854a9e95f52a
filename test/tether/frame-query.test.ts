import { type FrameQuery, FrameRing } from "sessile/tether";
import { describe, expect, test } from "vitest";

const wrong: readonly (readonly [
  name: string,
  query: object,
  error: typeof RangeError | typeof TypeError,
])[] = [
  ["after", { after: -1 }, RangeError],
  ["after", { after: 0.5 }, RangeError],
  ["limit", { limit: 0 }, RangeError],
  ["maxBytes", { maxBytes: 0 }, RangeError],
  ["maxBytes", { maxBytes: Number.NaN }, RangeError],
  ["types", { types: "assistant.done" }, TypeError],
  ["session", { session: "default" }, TypeError],
  ["session", { session: { channel: "mcp" } }, TypeError],
];

describe("a query out of range", () => {
  test.each(wrong)("is refused by the name of %s: %j", async (name, query, error) => {
    const ring = new FrameRing();
    expect(() => ring.read(query as FrameQuery)).toThrow(error);
    expect(() => ring.read(query as FrameQuery)).toThrow(new RegExp(`^${name}: expected .*, got `));
    await expect(ring.wait(query as FrameQuery)).rejects.toThrow(error);
  });
});
