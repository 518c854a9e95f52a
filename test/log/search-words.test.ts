import fc from "fast-check";
import { memorySessionStore, userMessage } from "sessile";
import { describe, expect, test } from "vitest";
import {
  foldCase,
  lineTest,
  matchTexts,
  parseQuery,
  type SearchPhrase,
  searchTermsOfLine,
} from "../../src/log/internal.js";
import { textWords, type Word } from "../../src/log/search-words.js";
import { rounds } from "../support/rounds.js";

const unspaced = ["Han", "Hira", "Kana", "Bopo", "Thai", "Lao", "Khmr", "Mymr"]
  .map((script) => `\\p{scx=${script}}`)
  .join("");
const anyWord = new RegExp(
  `(?=[\\p{L}\\p{M}\\p{N}])[${unspaced}]|(?:(?![${unspaced}])[\\p{L}\\p{M}\\p{N}])+`,
  "gu",
);

/** The words of a text by an expression over the whole of its normal form. */
function plainWords(text: string): readonly Pick<Word, "text" | "start" | "end">[] {
  const matches = text.toWellFormed().normalize("NFKC").matchAll(anyWord);
  return Array.from(matches, ({ 0: raw, index }) => ({
    text: foldCase(raw),
    start: index,
    end: index + raw.length,
  }));
}

const longWord = new RegExp(`(?:(?![${unspaced}])[\\p{L}\\p{M}\\p{N}]){4000}`, "u");
const shown = (words: Iterable<Pick<Word, "text" | "start" | "end">>): string =>
  Array.from(words, ({ text, start, end }) => `${start} ${end} ${text}`).join("\n");

/** A phrase at each place in turn, word by word. */
function plainPlace(words: readonly Word[], { words: wanted, isWhole }: SearchPhrase) {
  const last = wanted.length - 1;
  for (let at = 0; at + last < words.length; at++) {
    const isHere = wanted.every(({ text }, index) => {
      const word = words[at + index] as Word;
      const fits = (ending: string) => (index < last || isWhole ? ending === text : ending.startsWith(text));
      return fits(word.text) || (index === 0 && !isWhole && word.humps.some(fits));
    });
    if (isHere) return { start: words[at]?.start, end: words[at + last]?.end };
  }
  return undefined;
}

describe("words", () => {
  const pieces = ["a", "B", "é", "e\u0301", "\u0323", "ﬁ", "ﾊ", "\uff9e", "か", "\u3099", "京", "\u{20000}"];
  const others = ["\u1100", "\u1161", "\u11a8", "한", "ก", "\u0e49", "\u0e33", "ﷺ", "\ud800", "७"];
  const signs = [" ", "\n", ".", "\u3000", "、", "<", "\u0338"];
  const piece = fc.constantFrom(...pieces, ...others, ...signs);

  test("those of a long text are those of the whole, wherever its windows end", () => {
    fc.assert(
      fc.property(fc.array(piece, { minLength: 2, maxLength: 30 }), fc.nat(40), (parts, shift) => {
        // The end of a window is sought near the place 65,536: the text is of one kind there.
        const text = `${"x".repeat(shift)} ${parts.join("").repeat(Math.ceil(66_000 / parts.join("").length))}`;
        // Within a word that is as long as this, a window may end.
        // Nor have marks a place for it that are sorted into one another.
        fc.pre(!(text.includes("\uff9e") && /[\u0301\u0323\u0338\u0e49]/.test(text)));
        const forms = [text, text.normalize("NFKC")];
        fc.pre(!forms.some((each) => longWord.test(each) || /\p{M}{30}/u.test(each)));
        expect(shown(textWords(text))).toBe(shown(plainWords(text)));
      }),
      { numRuns: rounds(5, 25), examples: [[["ﷺ", "a", "\u0323"], 0]] },
    );
  });

  test("characters of scripts without spaces have no case", () => {
    const one = new RegExp(`^[${unspaced}]$`, "u");
    for (let code = 0; code < 0x11_0000; code++) {
      const character = String.fromCodePoint(code);
      if (one.test(character) && /[\p{L}\p{M}\p{N}]/u.test(character))
        expect(foldCase(character)).toBe(character);
    }
  });

  test.each([
    ["letters", "é"],
    ["characters of three bytes", "京"],
    ["pairs of surrogates", "\u{20000}"],
    ["marks of two classes, which are sorted", "\u0301\u0323"],
    ["characters that become such marks", "\uff9e\u0323"],
    ["characters that become 18", "ﷺ"],
    ["digits", "7"],
  ])("a run of %s, and a word after it", (_, unit) => {
    const text = `${unit.repeat(400_000 / unit.length)} needle`;
    expect(matchTexts([text], parseQuery("needle"))?.text).toContain("needle");
    expect(matchTexts([text], parseQuery('"needle thread"'))).toBeUndefined();
  });
});

describe("phrases", () => {
  const word = fc.constantFrom("a", "b", "ab", "aB", "abC", "京", "_", "é");
  const text = fc.array(word, { maxLength: 24 }).map((parts) => parts.join(" "));
  const query = fc
    .tuple(
      fc.array(word, { minLength: 1, maxLength: 6 }),
      fc.constantFrom('"', "-"),
      fc.constantFrom('"', ""),
    )
    .map(([parts, open, end]) => (open === '"' ? `"${parts.join(" ")}${end}` : parts.join("-")));

  test("a phrase is found where its words stand, at the first such place", () => {
    let count = 0;
    fc.assert(
      fc.property(text, query, (source, asked) => {
        const [phrase] = parseQuery(asked);
        fc.pre(phrase !== undefined);
        const expected = plainPlace([...textWords(source)], phrase);
        if (expected !== undefined) count++;
        const found = matchTexts([source], [phrase]);
        expect(found && { start: found.start, end: found.end }).toEqual(expected);
      }),
      { numRuns: rounds(600, 3000) },
    );
    expect(count).toBeGreaterThan(rounds(600, 3000) / 10);
  });

  test("each phrase may stand in another text, and the first gives the place", () => {
    const found = matchTexts(["two words", "one word", "two"], parseQuery('word "two words"'));
    expect(found).toEqual({ text: "two words", start: 4, end: 9 });
    expect(matchTexts(["one", "two"], parseQuery("one two three"))).toBeUndefined();
  });

  test("a match far into a long text is shown with the text around it", () => {
    const text = `${"é, ".repeat(60_000)}the needle${" é.".repeat(60_000)}`;
    const found = matchTexts([text], parseQuery('"the needle"'));
    expect(found?.text.slice((found?.start ?? 0) - 60, (found?.end ?? 0) + 60)).toBe(
      `${"é, ".repeat(20)}the needle${" é.".repeat(20)}`,
    );
    expect(found?.text.length).toBeLessThan(100_000);
  });

  test("a query that a text nearly has everywhere is no work for each place", () => {
    const text = `b ${"a ".repeat(400_000)}`;
    expect(matchTexts([text], parseQuery(`"${"a ".repeat(4000)}b"`))).toBeUndefined();
    expect(matchTexts(["a".repeat(4_000_000)], parseQuery(`b${"a".repeat(8000)}`))).toBeUndefined();
    expect(matchTexts([text], parseQuery(`"b ${"a ".repeat(4000)}`))?.end).toBe(8001);
  });

  test("a query is parsed as an expression would do it", () => {
    const part = fc.constantFrom('"', '"', " ", "\t", "\u00a0", "a", "b-c", "é", ".");
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
        const source = parts.join("");
        const expected = Array.from(source.matchAll(/"([^"]*)("?)|[^\s"]+/g), ([raw, quoted, end]) => ({
          words: [...textWords(quoted ?? raw)],
          isWhole: end === '"',
        })).filter(({ words }) => words.length > 0);
        expect(parseQuery(source)).toEqual(expected);
      }),
    );
  });

  test("a query has a bound, and one within it is answered", async () => {
    const store = memorySessionStore();
    const session = await store.create({ cwd: "/w" });
    await session.appendMessage(userMessage(`the ${"word ".repeat(2000)}`));
    const count = async (text: string) => {
      let found = 0;
      for await (const _ of store.search({ text })) found++;
      return found;
    };
    expect(await count(`"${"word ".repeat(1900)}"`)).toBe(1);
    expect(await count("word ".repeat(100))).toBe(1);
    await expect(count("x".repeat(10_001))).rejects.toThrow(
      new RangeError("text: expected at most 10000 characters, got 10001"),
    );
    await expect(count("word ".repeat(101))).rejects.toThrow(
      new RangeError("text: expected at most 100 words and quotations, got 101"),
    );
  });
});

describe("lines", () => {
  const lineOf = (content: string) =>
    new TextEncoder().encode(
      JSON.stringify({
        type: "message",
        id: "00000001",
        parentId: null,
        timestamp: "2026-01-01T00:00:00.000Z",
        message: { role: "user", content, timestamp: 0 },
      }),
    );

  test("a long line that is normalized is read, and not looked at", () => {
    const { passes } = lineTest(parseQuery("needle"));
    expect(passes(lineOf(`${"é ".repeat(600_000)} needle`))).toBe(true);
    expect(passes(lineOf(`${"é ".repeat(600)} thread`))).toBe(false);
    expect(passes(lineOf(`${"e ".repeat(600_000)} thread`))).toBe(false);
  });

  test("words of a long query beyond the first ones do not matter to the test of a line", () => {
    const words = Array.from({ length: 100 }, (_, index) => `w${index}`);
    const { passes } = lineTest(parseQuery(words.join(" ")));
    expect(passes(lineOf(words.slice(0, 64).join(" ")))).toBe(true);
    expect(passes(lineOf(words.slice(1).join(" ")))).toBe(false);
  });

  test("many words in many spellings have the terms of a long line", () => {
    const spelling = (index: number) =>
      Array.from("abcdefghijklmnopqrstuvwxyz", (letter, at) =>
        (index >> at) & 1 ? letter.toUpperCase() : letter,
      );
    const text = Array.from({ length: 20_000 }, (_, index) => spelling(index).join("")).join(" ");
    expect(searchTermsOfLine(lineOf(text))).toContain("abcdefghijklmnopqrstuvwxyz");
  });
});
