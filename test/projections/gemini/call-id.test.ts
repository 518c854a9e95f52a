import fc from "fast-check";
import { expect, test } from "vitest";
import { isMadeCallId, madeCallId } from "../../../src/projections/gemini/target.js";

test("a made id is short, of plain characters, and known again whatever the call's name", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.nat(999), fc.string(), (tag, index, name) => {
      const id = madeCallId(tag, index);
      expect(id).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
      expect(isMadeCallId(id, name)).toBe(true);
      expect(madeCallId(tag, index)).toBe(id);
      expect(madeCallId(tag, index + 1)).not.toBe(id);
    }),
  );
});

test.each([
  ["read_1763760000000_1", "read", true],
  ["read_file_1763760000000_12", "read_file", true],
  ["read_1763760000000_1", "list", false],
  ["read_1763760000000", "read", false],
  ["read_176376_1", "read", false],
  ["read_1763760000000_1x", "read", false],
  ["call_1", "call", false],
  ["", "", false],
])("pi makes ids of the name, the time and a count: %j of %j", (id, name, made) => {
  expect(isMadeCallId(id, name)).toBe(made);
});
