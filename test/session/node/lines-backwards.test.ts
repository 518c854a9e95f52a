import fc from "fast-check";
import { expect, test } from "vitest";
import type { OpenFile } from "../../../src/internal/node/file-system.js";
import { linesBackwards } from "../../../src/session/node/pages/page-lines.js";
import { SimulatedDisk } from "../../support/simulated-disk.js";

interface Found {
  readonly at: number;
  readonly length: number;
  readonly text: string | undefined;
}

async function read(text: string, range = { start: 0, end: text.length }, maxLineBytes = 1 << 20) {
  const disk = new SimulatedDisk();
  disk.put("/log", Buffer.from(text, "latin1"));
  const lines: Found[] = [];
  for await (const { at, length, bytes } of linesBackwards(disk.open("/log", "read") as OpenFile, range, {
    maxLineBytes,
  }))
    lines.push({ at, length, text: bytes && Buffer.from(bytes).toString("latin1") });
  return lines;
}

/** The same by splitting, in the order of the file. */
function split(text: string): Found[] {
  let at = 0;
  return (text.endsWith("\n") || text === "" ? text.slice(0, -1) : text).split("\n").flatMap((line) => {
    const found = { at, length: line.length, text: line };
    at += line.length + 1;
    return text === "" ? [] : [found];
  });
}

const pieces = fc.array(
  fc.constantFrom(
    "a",
    "bc",
    "\n",
    "\n",
    "\r\n",
    "x".repeat(70),
    "y".repeat(64 * 1024 - 1),
    "z".repeat(150_000),
  ),
  { maxLength: 16 },
);

test("the lines are those of the text, the last one first, of any part that begins where a line does", async () => {
  await fc.assert(
    fc.asyncProperty(pieces, fc.nat(), async (parts, pick) => {
      const text = parts.join("");
      const lines = split(text);
      expect(await read(text)).toEqual(lines.toReversed());
      const start = lines[pick % Math.max(1, lines.length)]?.at ?? 0;
      expect(await read(text, { start, end: text.length })).toEqual(
        lines.filter(({ at }) => at >= start).toReversed(),
      );
      expect(await read(text, { start: 0, end: start })).toEqual(
        lines.filter(({ at }) => at < start).toReversed(),
      );
    }),
  );
});

test("of a line over the limit there are the place and the length", async () => {
  const long = "x".repeat(200_000);
  expect(await read(`a\n${long}\nb\n${long}`, undefined, 1024)).toEqual([
    { at: 200_005, length: 200_000, text: undefined },
    { at: 200_003, length: 1, text: "b" },
    { at: 2, length: 200_000, text: undefined },
    { at: 0, length: 1, text: "a" },
  ]);
});

test("a line of just the limit is read, one byte more is too many, also where it is read in steps", async () => {
  for (const length of [1024, 64 * 1024, 200_000]) {
    for (const text of [`${"x".repeat(length)}\n`, `a\n${"x".repeat(length)}`]) {
      const [line] = await read(text, undefined, length);
      expect(line?.text).toBe("x".repeat(length));
      expect((await read(text, undefined, length - 1))[0]).toMatchObject({ length, text: undefined });
    }
  }
});

test("ends with the reason of its signal, also between two steps", async () => {
  const disk = new SimulatedDisk();
  disk.put("/log", `${"x".repeat(100_000)}\nb\n`);
  const controller = new AbortController();
  const { signal } = controller;
  const seen: number[] = [];
  const reading = (async () => {
    const range = { start: 0, end: 100_003 };
    const file = disk.open("/log", "read") as OpenFile;
    for await (const { at } of linesBackwards(file, range, { maxLineBytes: 1 << 20, signal })) {
      seen.push(at);
      controller.abort(new Error("enough"));
    }
  })();
  await expect(reading).rejects.toThrow("enough");
  expect(seen).toEqual([100_001]);
});

test("a file that does not reach to the end of the part ends the reading", async () => {
  expect(await read("a\nb\n", { start: 0, end: 100 })).toEqual([]);
});
