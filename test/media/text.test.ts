import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { isText } from "../../src/content/media/sniff.js";
import { damage, damaged } from "../arbitraries/bytes.js";
import { countedBytes } from "../support/counted-bytes.js";

const decoder = new TextDecoder("utf-8", { fatal: true });

/** The same by way of the platform's own decoder. */
function decodes(bytes: Uint8Array): boolean {
  try {
    decoder.decode(bytes);
  } catch {
    return false;
  }
  return !bytes.includes(0);
}

const utf8 = fc.string({ unit: "binary", maxLength: 40 }).map((text) => new TextEncoder().encode(text));
/** Bytes at the edges of what a sequence can have, so that most of them are a step away from being one. */
const edges = fc.constantFrom(
  0x01,
  0x41,
  0x7f,
  0x80,
  0x8f,
  0x90,
  0x9f,
  0xa0,
  0xbf,
  0xc1,
  0xc2,
  0xdf,
  0xe0,
  0xe1,
  0xec,
  0xed,
  0xee,
  0xef,
  0xf0,
  0xf1,
  0xf3,
  0xf4,
  0xf5,
  0xff,
);
const nearly = fc.array(edges, { maxLength: 6 }).map((bytes) => Uint8Array.from(bytes));

describe("isText", () => {
  it("agrees with the platform's decoder, but for NUL", () => {
    fc.assert(
      fc.property(fc.oneof(utf8, nearly, fc.uint8Array({ maxLength: 12 })), (bytes) => {
        expect(isText(bytes)).toBe(decodes(bytes));
      }),
      { numRuns: 5000 },
    );
    fc.assert(
      fc.property(utf8, damage, (bytes, changes) => {
        const changed = damaged(bytes, changes);
        expect(isText(changed)).toBe(decodes(changed));
      }),
      { numRuns: 1000 },
    );
  });

  it("agrees with it on every first two bytes, with none, one and two more", () => {
    const wrong: number[] = [];
    for (let first = 0; first < 256; first++) {
      for (let second = 0; second < 256; second++) {
        for (const rest of [[], [0x80], [0x80, 0xbf]]) {
          const bytes = Uint8Array.of(first, second, ...rest);
          if (isText(bytes) !== decodes(bytes)) wrong.push(first, second);
        }
      }
    }
    expect(wrong).toEqual([]);
  });

  test.each<[string, readonly number[], boolean]>([
    ["nothing", [], true],
    ["a byte order mark", [0xef, 0xbb, 0xbf, 0x41], true],
    ["the last code point", [0xf4, 0x8f, 0xbf, 0xbf], true],
    ["control characters", [0x1b, 0x5b, 0x33, 0x07], true],
    ["NUL", [0x41, 0], false],
    ["an overlong slash", [0xc0, 0xaf], false],
    ["a surrogate", [0xed, 0xa0, 0x80], false],
    ["a sequence that is cut off", [0x41, 0xe2, 0x82], false],
    ["Latin-1", [0x47, 0x72, 0xf6, 0xdf, 0x65], false],
  ])("judges %s", (_, bytes, expected) => {
    expect(isText(Uint8Array.from(bytes))).toBe(expected);
  });

  it("reads each byte once, and stops at the first that is wrong", () => {
    fc.assert(
      fc.property(utf8, (text) => {
        const { bytes, reads } = countedBytes(text);
        isText(bytes);
        expect(reads()).toBeLessThanOrEqual(text.length);
      }),
    );
    const { bytes, reads } = countedBytes(new Uint8Array(1000));
    expect(isText(bytes)).toBe(false);
    expect(reads()).toBe(1);
  });
});
