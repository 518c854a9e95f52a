import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isBlank, textPieces } from "../../../../examples/apps/telegram-gateway/outgoing.js";

/** Texts with line ends, spaces, runs of white space and characters of two code units. */
const text = fc
  .array(fc.oneof(fc.string({ unit: "grapheme" }), fc.constantFrom(" ", "\n", "\n\n\n", "😀", "a".repeat(9))))
  .map((parts) => parts.join(""));

describe("textPieces", () => {
  it("gives the text whole and in order, but for pieces of white space", () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 2, max: 40 }), (source, maxUnits) => {
        let at = 0;
        for (const piece of textPieces(source, maxUnits)) {
          const found = source.indexOf(piece, at);
          expect(isBlank(source.slice(at, found))).toBe(true);
          at = found + piece.length;
        }
        expect(isBlank(source.slice(at))).toBe(true);
      }),
    );
  });

  it("leaves nothing out of a text without white space", () => {
    const words = text.map((source) => source.replace(/[\s\u200b-\u200f\u2060-\u2064]/g, ""));
    fc.assert(
      fc.property(words, fc.integer({ min: 2, max: 40 }), (source, maxUnits) => {
        expect(textPieces(source, maxUnits).join("")).toBe(source);
      }),
    );
  });

  it("makes no piece empty, blank, too long, or half of a character", () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 2, max: 40 }), (source, maxUnits) => {
        for (const piece of textPieces(source, maxUnits)) {
          expect(isBlank(piece)).toBe(false);
          expect(piece.length).toBeLessThanOrEqual(maxUnits);
          expect(piece.isWellFormed()).toBe(true);
        }
      }),
    );
  });

  it("prefers the end of a line, then a space, where half of a piece is left", () => {
    expect(textPieces("one two\nthree four", 12)).toEqual(["one two\n", "three four"]);
    expect(textPieces("one two three", 8)).toEqual(["one two ", "three"]);
    expect(textPieces("a\nbcdefghijkl", 8)).toEqual(["a\nbcdefg", "hijkl"]);
  });

  it("cuts before a pair of surrogates and never inside", () => {
    expect(textPieces("aaa😀bbb", 4)).toEqual(["aaa", "😀bb", "b"]);
  });
});
