import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { base64Pieces, decodeBase64, encodeBase64, encodePortably } from "../../src/internal/base64.js";

const byNode = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");

/** Bytes that are a view of a part of a larger buffer. */
const views = fc
  .tuple(fc.uint8Array({ maxLength: 200 }), fc.nat({ max: 5 }), fc.nat({ max: 5 }))
  .map(([bytes, before, after]) => {
    const buffer = new Uint8Array(before + bytes.length + after).fill(255);
    buffer.set(bytes, before);
    return buffer.subarray(before, before + bytes.length);
  });

afterEach(() => vi.unstubAllGlobals());

describe.each([
  ["encodeBase64", encodeBase64],
  ["encodePortably", encodePortably],
])("%s", (_, encode) => {
  test("gives what Buffer gives, of a part of a buffer too", () => {
    fc.assert(
      fc.property(views, (bytes) => {
        expect(encode(bytes)).toBe(byNode(bytes));
      }),
    );
  });

  test("is read back as the same bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(decodeBase64(encode(bytes))).toEqual(bytes);
      }),
    );
  });

  // The test vectors of RFC 4648 section 10.
  test.each([
    ["", ""],
    ["f", "Zg=="],
    ["fo", "Zm8="],
    ["foo", "Zm9v"],
    ["foob", "Zm9vYg=="],
    ["fooba", "Zm9vYmE="],
    ["foobar", "Zm9vYmFy"],
  ])("%j is %j", (text, expected) => {
    expect(encode(new TextEncoder().encode(text))).toBe(expected);
  });

  test("takes a Buffer, and a megabyte of every byte", () => {
    const bytes = Buffer.from(Uint8Array.from({ length: 2 ** 20 }, (_, at) => at * 7));
    expect(encode(bytes) === byNode(bytes)).toBe(true);
  });
});

describe("encodeBase64 where there is no Buffer", () => {
  test("does without", () => {
    vi.stubGlobal("Buffer", undefined);
    expect(encodeBase64(Uint8Array.of(0xfb, 0xef, 0xff, 0))).toBe("++//AA==");
  });

  test("takes the engine's own encoder", () => {
    const bytes = Object.assign(Uint8Array.of(1), { toBase64: () => "the engine's" });
    expect(encodeBase64(bytes)).toBe("the engine's");
  });
});

describe("base64Pieces", () => {
  const joined = (bytes: Uint8Array) => Buffer.concat([...base64Pieces(bytes)]).toString("latin1");

  test.each([true, false])("joined, are the base64, with Buffer: %s", (withBuffer) => {
    if (!withBuffer) vi.stubGlobal("Buffer", undefined);
    const made = (length: number) => Uint8Array.from({ length }, (_, at) => (at * 31) % 251);
    const pieces = [0, 1, 3, 24_575, 24_577, 786_431, 786_432, 786_433, 1_600_000].map((length) => [
      ...base64Pieces(made(length)),
    ]);
    vi.unstubAllGlobals();
    for (const [index, length] of [0, 1, 3, 24_575, 24_577, 786_431, 786_432, 786_433, 1_600_000].entries()) {
      expect(Buffer.concat(pieces[index] ?? []).toString("latin1") === byNode(made(length))).toBe(true);
    }
  });

  test("are of any bytes, of a part of a buffer too", () => {
    fc.assert(
      fc.property(views, (bytes) => {
        expect(joined(bytes)).toBe(byNode(bytes));
      }),
    );
  });
});
