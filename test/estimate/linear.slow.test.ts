import { estimateMessageTokens, estimateTextTokens } from "sessile/estimate";
import { describe, expect, test } from "vitest";
import { exponentOf, growing, maxExponent } from "../support/growth.js";

const shapes: readonly (readonly [string, string])[] = [
  ["one letter", "a"],
  ["capitals and small letters in turn", "aB"],
  ["letters and digits in turn", "a1"],
  ["spaces", " "],
  ["line ends", "\n"],
  ["one mark", "="],
  ["marks that differ", "=-"],
  ["words", "some words. "],
  ["Chinese", "图书馆"],
  ["surrogates", "\ud83d\ude00"],
  ["Cyrillic and Latin in turn", "дd"],
];

describe.each([
  ["fitted", estimateTextTokens],
  ["upperBound", (text: string) => estimateTextTokens(text, "upperBound")],
] as const)("%s takes time in proportion to a text of", (_, estimator) => {
  test.each(shapes)("%s", (_shape, unit) => {
    const make = (size: number) => unit.repeat(Math.ceil(size / unit.length));
    expect(exponentOf(growing(500_000), make, estimator)).toBeLessThan(maxExponent);
  });
});

describe("estimateMessageTokens takes time in proportion to arguments that are", () => {
  const values: readonly (readonly [string, (size: number) => unknown])[] = [
    ["a long string", (size) => ({ content: "line of text\n".repeat(size) })],
    ["long, and all escapes", (size) => ({ content: '"\\\n'.repeat(size) })],
    ["a long list", (size) => Array.from({ length: size }, (_, at) => ({ at }))],
    [
      "an object of many keys",
      (size) => Object.fromEntries(Array.from({ length: size }, (_, at) => [`k${at}`, at])),
    ],
    [
      "deep",
      (size) => {
        let value: unknown = 1;
        for (let i = 0; i < size; i++) value = [value];
        return value;
      },
    ],
  ];

  test.each(values)("%s", (_, make) => {
    const message = (size: number) => ({
      role: "assistant" as const,
      content: [{ type: "toolCall" as const, id: "c", name: "write", arguments: make(size) }],
      provider: "p",
      model: "m",
      timestamp: 0,
    });
    expect(exponentOf(growing(20_000), message, (each) => estimateMessageTokens(each))).toBeLessThan(
      maxExponent,
    );
  });
});
