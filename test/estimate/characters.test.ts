import { describe, expect, test } from "vitest";
import { kindOf, kinds } from "../../src/estimate/characters.js";

const nameOf = (character: string) =>
  Object.entries(kinds).find(([, kind]) => kind === kindOf[character.charCodeAt(0)])?.[0];

describe("kindOf", () => {
  test("knows every code unit", () => {
    expect(kindOf.length).toBe(65_536);
    expect(new Set(kindOf)).toEqual(new Set(Object.values(kinds)));
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
