import fc from "fast-check";
import { expect, test } from "vitest";
import { hex8 } from "../../src/internal/bytes.js";

test("gives the eight digits of any number of 32 bits", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 32 - 1 }), (value) => {
      expect(hex8(value)).toBe(value.toString(16).padStart(8, "0"));
    }),
  );
});
