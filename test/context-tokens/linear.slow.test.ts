import {
  completeImport,
  escapeContextTokens,
  insertSteps,
  parseContextTokens,
  planDrop,
  planPaste,
  renderSegments,
  unescapeContextTokens,
} from "sessile/context-tokens";
import { describe, expect, test } from "vitest";
import { counter } from "../arbitraries/tokens.js";
import { exponentOf, growing, maxExponent } from "../support/growth.js";

const repeated =
  (text: string, around: readonly [string, string] = ["", ""]) =>
  (size: number): string =>
    around[0] + text.repeat(size / text.length) + around[1];

/** Characters of the smallest; the largest has eight times as many. */
const first = 250_000;

const hostile: readonly (readonly [string, (size: number) => string])[] = [
  ["text without tokens", repeated("The quick brown fox jumps over the lazy dog.\n")],
  ["openers", repeated("<<context:")],
  ["openers and one closer at the end", repeated("<<context:", ["", ">>>"])],
  ["openers of a kind", repeated("<<context:image:")],
  ["openers with a path", repeated("<<context:image:/a")],
  ["openers with a path and one closer", repeated("<<context:image:/a", ["", ">>>"])],
  ["openers with closers of other kinds", repeated("<<context:other:/a>>>")],
  ["openers that a line ends, and a closer far behind", repeated("<<context:image:/a\n", ["", ">>>"])],
  ["nearly openers", repeated("<<context")],
  ["<", repeated("<")],
  [">", repeated(">")],
  ["an opener and >", repeated(">", ["<<context:image:/", ""])],
  ["an opener and pairs of >", repeated(">> ", ["<<context:image:/", ""])],
  ["a kind of white space", repeated(" ", ["<<context:", "image:/a>>>"])],
  ["a path of white space", repeated(" ", ["<<context:image:", ">>>"])],
  ["a path of names", repeated("/a", ["<<context:image:", ">>>"])],
  ["a path of dots", repeated("/..", ["<<context:image:", ">>>"])],
  ["colons", repeated(":", ["<<context:", ">>>"])],
  ["tokens", repeated("<<context:image:/ctx/blobs/a.png>>>")],
  ["broken tokens", repeated("<<context:text:>>>")],
  ["escaped openers", repeated("<<\\context:")],
  ["an opener escaped often", repeated("\\", ["<<", "context:"])],
  ["backslashes that end nothing", repeated("<<\\\\\\\\ ")],
];

const works: readonly (readonly [string, (source: string) => unknown])[] = [
  ["parseContextTokens", (source) => parseContextTokens(source)],
  [
    "a view",
    (source) => renderSegments(parseContextTokens(source, { contextDirectory: "/ctx" }), () => undefined),
  ],
  ["escapeContextTokens", escapeContextTokens],
  ["unescapeContextTokens", unescapeContextTokens],
  [
    "insertSteps",
    (source) => insertSteps(source, planPaste([{ type: "text", text: "a" }]), Math.floor(source.length / 2)),
  ],
  [
    "completeImport",
    (source) => completeImport(`${source}<<context:text:pending:1>>>`, "1", { failed: source }),
  ],
];

describe.each(works)("%s takes time in proportion to", (_, work) => {
  test.each(hostile)("%s", (_, make) => {
    expect(exponentOf(growing(first), make, work)).toBeLessThan(maxExponent);
  });
});

describe("planning and inserting take time in proportion to", () => {
  test.each([
    ["entries of text", (at: number) => ({ type: "text" as const, text: `<<context:${at}` })],
    ["images", () => ({ type: "image" as const, mediaType: "image/png", size: 1 })],
  ])("%s", (_, entry) => {
    const make = (size: number) => Array.from({ length: size }, (_, at) => entry(at));
    const work = (entries: ReturnType<typeof make>) =>
      insertSteps("draft", planDrop(entries, { newId: counter() }));
    expect(exponentOf(growing(10_000), make, work)).toBeLessThan(maxExponent);
  });

  test("long texts", () => {
    const work = (text: string) => planPaste([{ type: "text", text }], { maxInlineCharacters: 1e9 });
    expect(exponentOf(growing(first), repeated("👍\n"), work)).toBeLessThan(maxExponent);
  });
});
