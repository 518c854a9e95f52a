import { type Claim, fasterThan, printTarget, type Target, timesTable } from "./support/claim.js";
import type { Runner } from "./support/runner.js";

const sides = { ours: "context-tokens", peer: "index-of" };

/** Texts of a million characters that hold no token: the part that is repeated, and how often each is looked through. */
const plain: readonly (readonly [string, string, number])[] = [
  ["prose", 'The quick brown fox jumps over the lazy dog, and writes "notes" on it.\n', 5000],
  ["HTML", '<div class="a"><p>Some <b>bold</b> text</p></div>\n', 200],
  ["code", "const a = b << 3; // \\d+\\s C:\\users\\x <T>(x: T) => x >>> 2;\n", 200],
];

/** What a careless parser looks through again and again, and what comes at the end. */
const hostile: readonly (readonly [string, string, string])[] = [
  ["openers, one closer at the end", "<<context:", ">>>"],
  ["openers of images, one closer at the end", "<<context:image:/a", ">>>"],
  ["openers of images, never closed", "<<context:image:/a", ""],
  ["closers of another kind", "<<context:other:>>>", ""],
  ["closers", ">>>", ""],
];

const characters = 1_000_000;

export const contextTokens: Claim = {
  name: "context-tokens",
  title: "Parse a message of a million characters into context tokens",
  async measure(runner) {
    const rows = [];
    for (const [what, part, times] of plain) {
      const input = { part, end: "", characters, times };
      const row = await runner.compare(`${what} without tokens, ${times} times`, "parse", () => input, sides);
      rows.push({
        ...row,
        targets: [{ ...fasterThan("indexOf", row, 1 / 3), text: "within 3 times of indexOf" }],
      });
    }
    const times = timesTable("indexOf", rows);
    const growth: readonly Growth[] = await inTurn(hostile, (text) => growthOf(runner, text));
    return {
      head: times.head,
      lines: [...times.lines, ...growth.map(({ line }) => line)],
      targets: [...times.targets, ...growth.map(({ target }) => target)],
    };
  },
};

interface Growth {
  readonly line: readonly string[];
  readonly target: Target;
}

/** How much longer twice as much takes: twice where time is in proportion, four times where it is quadratic. */
async function growthOf(runner: Runner, [what, part, end]: (typeof hostile)[number]): Promise<Growth> {
  const measured = (size: number) =>
    runner.alone(what, "parse", { part, end, characters: size, times: 10 }, sides.ours);
  const [once, twice] = [await measured(characters), await measured(2 * characters)];
  const ratio = twice.ours.ms / once.ours.ms;
  const target = {
    text: `twice as many in ${ratio.toFixed(1)} times the time, at most 2.6`,
    met: ratio <= 2.6,
  };
  const [ms, peak] = [once.ours.ms.toFixed(1), String(Math.round(once.ours.peakMb))];
  return { line: [`${what}, 10 times`, ms, "", "", peak, "", printTarget(target)], target };
}

async function inTurn<T, R>(values: readonly T[], work: (value: T) => Promise<R>): Promise<readonly R[]> {
  const results: R[] = [];
  for (const value of values) results.push(await work(value));
  return results;
}
