import { describe, expect, test } from "vitest";
import { kinds, type RunWeights, readKind, runEstimator } from "../../src/content/estimate/text.js";

const nothing: RunWeights = {
  attached: [0, 0, 0],
  bare: [0, 0, 0],
  tail: 0,
  capitals: [0, 0],
  digits: 0,
  diacritic: 0,
  noise: [0, 0],
  spaceBeforeDigit: 0,
  spaces: 0,
  lineEnd: [0, 0],
  mark: [0, 0],
  marks: [0, 0, 0],
  cyrillicWord: 0,
  repeatedSymbol: 0,
  scripts: {
    symbol: 0,
    cyrillic: 0,
    greek: 0,
    hebrew: 0,
    arabic: 0,
    indic: 0,
    thai: 0,
    han: 0,
    kana: 0,
    hangul: 0,
    wide: 0,
    surrogate: 0,
    other: 0,
  },
};
const hex = "3fa9c81e77b04d25";
const mixed = "xK9aPq2LmZ8rTb4VnW6y";

/** How often each feature is counted: with a weight of one for it and none for the rest. */
const counts: readonly (readonly [string, Partial<RunWeights>, string, number])[] = [
  ["attached short pieces", { attached: [1, 0, 0] }, "see the big book", 3],
  ["attached middle pieces", { attached: [0, 1, 0] }, "a letter.letters (letters", 2],
  ["attached long pieces", { attached: [0, 0, 1] }, "a congregation", 1],
  ["bare pieces", { bare: [1, 0, 0] }, "one two\nsix", 2],
  ["pieces after two marks", { bare: [1, 0, 0] }, " ((two", 1],
  ["humps as pieces of their own", { bare: [1, 0, 0] }, " getFileSize", 2],
  ["a capital as part of its word", { attached: [1, 0, 0] }, " File", 1],
  ["the tail of long pieces", { tail: 1 }, " abcdefghijklmnop", 3],
  ["runs of capitals", { capitals: [1, 0] }, "HTTP OK", 2],
  ["capitals beyond two", { capitals: [0, 1] }, "HTTP OK", 2],
  ["digits by threes", { digits: 1 }, "1 12 123 1234", 5],
  ["diacritics", { diacritic: 1 }, "für Élan", 2],
  ["noise in one case", { noise: [0, 1] }, hex, hex.length],
  ["noise in both cases", { noise: [1, 0] }, mixed, mixed.length],
  ["no noise in names", { noise: [1, 1] }, "readFileSync utf8Decoder sha256sum 20261121", 0],
  ["spaces before digits", { spaceBeforeDigit: 1 }, "a 1  2", 2],
  ["spaces in the line", { spaces: 1 }, "a  b\n    c d", 2],
  ["line ends after marks", { lineEnd: [1, 0] }, "a;\nb\n\n", 1],
  ["line ends after anything else", { lineEnd: [0, 1] }, "a;\nb\n\n", 1],
  ["long runs of line ends", { lineEnd: [0, 0] }, "\n".repeat(33), 2],
  ["marks that a word takes in", { mark: [1, 0] }, "a.b c-d (e", 2],
  ["marks alone", { mark: [0, 1] }, "a.b (c a - b) .d", 4],
  ["runs of marks", { marks: [1, 0, 0] }, "a() => {};", 3],
  ["marks beyond two", { marks: [0, 1, 0] }, "a(=>{};", 4],
  ["marks that repeat", { marks: [0, 0, 1] }, "a====b", 2],
  ["words of Cyrillic", { cyrillicWord: 1 }, "да и нет", 3],
  ["symbols that repeat", { repeatedSymbol: 1 }, "──── ──", 4],
];

describe("runEstimator", () => {
  test.each(counts)("counts %s", (_, weights, text, expected) => {
    expect(runEstimator({ ...nothing, ...weights })(text)).toBe(expected);
  });

  test.each([
    ["symbol", "→", 1],
    ["cyrillic", "нет", 3],
    ["greek", "ναι", 3],
    ["hebrew", "כן", 2],
    ["arabic", "نعم", 3],
    ["indic", "हाँ", 3],
    ["thai", "ใช่", 3],
    ["han", "图书", 2],
    ["kana", "はい", 2],
    ["hangul", "네", 1],
    ["wide", "。，", 2],
    ["surrogate", "😀", 2],
    ["other", "ሀ", 1],
  ] as const)("counts characters of %s", (script, text, expected) => {
    const scripts = { ...nothing.scripts, [script]: 1 };
    expect(runEstimator({ ...nothing, scripts })(text)).toBe(expected);
    expect(runEstimator({ ...nothing, scripts })("plain text: 1 + 1\n")).toBe(0);
  });
});

const nameOf = (character: string) =>
  Object.entries(kinds).find(([, kind]) => kind === readKind[character.charCodeAt(0)])?.[0];

describe("kindOf", () => {
  test("knows every code unit", () => {
    expect(readKind.length).toBe(65_536);
    expect(new Set(readKind)).toEqual(new Set(Object.values(kinds)));
  });

  test("tells ASCII as a regular expression would", () => {
    for (let code = 0; code < 128; code++) {
      const character = String.fromCharCode(code);
      const expected = /[a-z]/.test(character)
        ? "lower"
        : /[A-Z]/.test(character)
          ? "upper"
          : /[0-9]/.test(character)
            ? "digit"
            : /[ \t]/.test(character)
              ? "space"
              : /[\n\r]/.test(character)
                ? "lineEnd"
                : "mark";
      expect(nameOf(character), String(code)).toBe(expected);
    }
  });

  test.each([
    ["é", "lower"],
    ["×", "symbol"],
    ["–", "symbol"],
    ["я", "cyrillic"],
    ["Ω", "greek"],
    ["א", "hebrew"],
    ["ع", "arabic"],
    ["क", "indic"],
    ["ก", "thai"],
    ["ế", "lower"],
    ["中", "han"],
    ["㐀", "han"],
    ["か", "kana"],
    ["カ", "kana"],
    ["한", "hangul"],
    ["、", "wide"],
    ["！", "wide"],
    ["\ud83d", "surrogate"],
    ["\ue000", "other"],
  ])("%s is %s", (character, name) => {
    expect(nameOf(character)).toBe(name);
  });
});
