import fc from "fast-check";
import { expect, test } from "vitest";
import { entryIdOf, entryKeyOf, hexDigit } from "../../../src/session/format/entry-prefix.js";
import { hexId } from "../../arbitraries/values.js";

const nearlyHex = fc
  .array(fc.constantFrom(..."0123456789abcdefABCDEFg/:`é"), { minLength: 7, maxLength: 9 })
  .map((characters) => characters.join(""));

test("idOf inverts keyOf for any id, and only eight lower-case hexadecimal digits are a number", () => {
  fc.assert(
    fc.property(fc.oneof(hexId, nearlyHex, fc.string()), (id) => {
      const key = entryKeyOf(id);
      expect(entryIdOf(key)).toBe(id);
      expect(typeof key === "number").toBe(/^[0-9a-f]{8}$/.test(id));
    }),
  );
});

test("every 32-bit number is the key of one id", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 0xffff_ffff }), (key) => {
      expect(entryKeyOf(entryIdOf(key))).toBe(key);
    }),
  );
});

test("hexDigit knows the sixteen digits and no other character", () => {
  for (let code = 0; code < 256; code++) {
    const digit = "0123456789abcdef".indexOf(String.fromCharCode(code));
    expect(hexDigit(code)).toBe(digit);
  }
});
