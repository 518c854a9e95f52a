import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { concatBytes, decodeUtf8, encodeUtf8, toHex } from "../../src/internal/bytes.js";
import { text } from "../arbitraries/values.js";

const bytes = fc.uint8Array({ maxLength: 24 });

describe("encodeUtf8 and decodeUtf8", () => {
  test("are inverse for well-formed text, a byte order mark included", () => {
    fc.assert(
      fc.property(text, (text) => {
        expect(decodeUtf8(encodeUtf8(text))).toBe(text.toWellFormed());
      }),
    );
    expect(decodeUtf8(Uint8Array.of(0xef, 0xbb, 0xbf, 0x61))).toBe("\ufeffa");
  });

  test("say no to bytes that are not UTF-8, and never replace", () => {
    fc.assert(
      fc.property(bytes, (bytes) => {
        const decoded = decodeUtf8(bytes);
        const isUtf8 = Buffer.from(Buffer.from(bytes).toString("utf8"), "utf8").equals(bytes);
        expect(decoded !== undefined).toBe(isUtf8);
        if (decoded !== undefined) expect(encodeUtf8(decoded)).toEqual(bytes);
      }),
    );
  });

  test.each([
    ["FF", [0xff]],
    ["a surrogate", [0xed, 0xa0, 0xbd]],
    ["an overlong slash", [0xc0, 0xaf]],
    ["past U+10FFFF", [0xf4, 0x90, 0x80, 0x80]],
    ["half a character", [0xe2, 0x82]],
  ])("refuse %s", (_, bytes) => {
    expect(decodeUtf8(Uint8Array.from(bytes))).toBeUndefined();
  });
});

describe("concatBytes", () => {
  test("joins, into bytes of its own", () => {
    fc.assert(
      fc.property(fc.array(bytes, { maxLength: 5 }), (parts) => {
        const joined = concatBytes(parts);
        expect(Array.from(joined)).toEqual(parts.flatMap((part) => Array.from(part)));
        expect(parts.some((part) => part.buffer === joined.buffer)).toBe(false);
      }),
    );
  });

  test("takes the length where it is known", () => {
    expect(concatBytes([Uint8Array.of(1), Uint8Array.of(2)], 2)).toEqual(Uint8Array.of(1, 2));
  });
});

describe("toHex", () => {
  test("gives two lower-case digits a byte", () => {
    fc.assert(
      fc.property(bytes, (bytes) => {
        expect(toHex(bytes)).toBe(Buffer.from(bytes).toString("hex"));
      }),
    );
  });
});
