import { byRuns, byRunsCautiously, estimateMessageTokens } from "sessile/estimate";
import { describe, expect, test } from "vitest";

/** Between the sizes, time grows by less than the power 1.5 of the size; a busy machine is given three attempts. */
const maxExponent = 1.5;
const runs = 7;
const attempts = 3;

function leastMicroseconds(work: () => unknown): number {
  let least = Number.POSITIVE_INFINITY;
  for (let run = 0; run < runs; run++) {
    const started = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(started);
    least = Math.min(least, user + system);
  }
  return least;
}

/** The power of the size that the time grows with, from a size to eight times as much. */
function exponentOf<T>(size: number, make: (size: number) => T, work: (input: T) => unknown): number {
  const [small, large] = [make(size), make(8 * size)];
  work(small);
  let least = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < attempts && least >= maxExponent; attempt++) {
    const grown = leastMicroseconds(() => work(large)) / leastMicroseconds(() => work(small));
    least = Math.min(least, Math.log(grown) / Math.log(8));
  }
  return least;
}

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
  ["byRuns", byRuns],
  ["byRunsCautiously", byRunsCautiously],
] as const)("%s takes time in proportion to a text of", (_, estimator) => {
  test.each(shapes)("%s", (_shape, unit) => {
    const make = (size: number) => unit.repeat(Math.ceil(size / unit.length));
    expect(exponentOf(500_000, make, estimator)).toBeLessThan(maxExponent);
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
    expect(exponentOf(20_000, message, (each) => estimateMessageTokens(each))).toBeLessThan(maxExponent);
  });
});
