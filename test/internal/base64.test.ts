import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { base64Bytes, decodeBase64 } from "../../src/internal/base64.js";

const encode = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");

describe("decodeBase64", () => {
  test("gives back what Buffer encodes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(decodeBase64(encode(bytes))).toEqual(bytes);
        expect(base64Bytes(encode(bytes))).toBe(bytes.length);
      }),
    );
  });

  test("takes one spelling of each value, and no other text", () => {
    const digit = fc.constantFrom(..."AQgwZ09+/=_- \n%é\ud83d");
    fc.assert(
      fc.property(fc.string({ unit: digit, maxLength: 12 }), (text) => {
        const bytes = decodeBase64(text);
        if (bytes !== undefined) expect(encode(bytes)).toBe(text);
        else expect(encode(Buffer.from(text, "base64"))).not.toBe(text);
      }),
      { numRuns: 2000 },
    );
  });

  // The test vectors of RFC 4648 section 10.
  test.each([
    ["", ""],
    ["Zg==", "f"],
    ["Zm8=", "fo"],
    ["Zm9v", "foo"],
    ["Zm9vYg==", "foob"],
    ["Zm9vYmE=", "fooba"],
    ["Zm9vYmFy", "foobar"],
  ])("%j is %j", (text, expected) => {
    expect(Buffer.from(decodeBase64(text) ?? "none").toString()).toBe(expected);
  });

  test.each([
    "Zg",
    "Zg=",
    "Zh==",
    "Zm9=",
    "Zm 9v",
    "Zm9v\n",
    "====",
    "=",
    "Z===",
    "Zg==Zg==",
    "-_-_",
    "Zm9v=",
  ])("refuses %j", (text) => {
    expect(decodeBase64(text)).toBeUndefined();
  });
});
