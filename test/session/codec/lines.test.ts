import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { LineSplitter } from "../../../src/session/format/line-splitter.js";
import { cuts, piecesOf } from "../../arbitraries/bytes.js";

type Found =
  | { readonly kind: "line" | "rest"; readonly at: number; readonly bytes: readonly number[] }
  | { readonly kind: "long"; readonly at: number; readonly length: number };

/** What a splitter finds in these chunks, each of which is overwritten once it was pushed. */
function split(chunks: readonly Uint8Array[], max: number, start: number): readonly Found[] {
  const found: Found[] = [];
  const splitter = new LineSplitter(
    {
      line: (bytes, at, start, end) =>
        void found.push({ kind: "line", at, bytes: Array.from(bytes.subarray(start, end)) }),
      tooLong: (at, length) => void found.push({ kind: "long", at, length }),
    },
    max,
    start,
  );
  for (const chunk of chunks) {
    const reused = chunk.slice();
    splitter.push(reused);
    reused.fill(0x58);
  }
  const rest = splitter.finish();
  if (rest !== undefined) found.push({ kind: "rest", at: rest.at, bytes: Array.from(rest.bytes) });
  return found;
}

/** The same, one byte at a time over the whole. */
function naiveSplit(bytes: Uint8Array, max: number, start: number): readonly Found[] {
  const found: Found[] = [];
  let line: number[] = [];
  const end = (kind: "line" | "rest", after: number) => {
    const at = start + after - line.length;
    if (line.length > max) found.push({ kind: "long", at, length: line.length });
    else if (kind === "line" || line.length > 0) found.push({ kind, at, bytes: line });
    line = [];
  };
  for (const [at, byte] of bytes.entries()) {
    if (byte === 10) end("line", at);
    else line.push(byte);
  }
  end("rest", bytes.length);
  return found;
}

const byte = fc.oneof(
  { weight: 1, arbitrary: fc.constant(10) },
  { weight: 1, arbitrary: fc.constantFrom(13, 0xe2, 0x80, 0xa8, 0, 0xff) },
  { weight: 2, arbitrary: fc.integer({ min: 0, max: 255 }) },
);
const bytes = fc.array(byte, { maxLength: 60 }).map((values) => Uint8Array.from(values));

describe("LineSplitter", () => {
  test("finds what a look at each byte finds, whatever the chunks", () => {
    fc.assert(
      fc.property(bytes, cuts, fc.nat({ max: 12 }), fc.nat({ max: 1000 }), (bytes, parts, max, start) => {
        expect(split(piecesOf(bytes, parts), max, start)).toEqual(naiveSplit(bytes, max, start));
      }),
      { numRuns: 500 },
    );
  });

  test("takes a line of exactly the limit, and no longer one", () => {
    const line = new Uint8Array(8).fill(0x61);
    const text = Uint8Array.of(...line, 10, ...line, 0x61, 10, ...line);
    for (const parts of [[], [0.3, 0.6]]) {
      expect(split(piecesOf(text, parts), 8, 0).map(({ kind, at }) => [kind, at])).toEqual([
        ["line", 0],
        ["long", 9],
        ["rest", 19],
      ]);
    }
  });

  test("holds no more than the limit of a line that does not end", () => {
    const chunk = new Uint8Array(1 << 20);
    const found: number[] = [];
    const splitter = new LineSplitter(
      { line: () => undefined, tooLong: (_, length) => void found.push(length) },
      1 << 21,
    );
    const before = process.memoryUsage().arrayBuffers;
    for (let i = 0; i < 256; i++) splitter.push(chunk);
    const growth = process.memoryUsage().arrayBuffers - before;
    splitter.push(Uint8Array.of(10));
    expect(found).toEqual([256 << 20]);
    expect(growth).toBeLessThan(64 << 20);
  });
});
