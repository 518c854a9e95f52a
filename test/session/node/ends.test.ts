import fc from "fast-check";
import { expect, test } from "vitest";
import type { DiskFile } from "../../../src/session/node/disk.js";
import { readEnds } from "../../../src/session/node/ends.js";
import { SimulatedDisk } from "../../support/simulated-disk.js";

async function endsOf(text: string, size?: number) {
  const disk = new SimulatedDisk();
  disk.put("/log", text);
  const file = disk.open("/log", "read") as DiskFile;
  const { head, tail } = await readEnds(file, size ?? file.stat().size);
  const decoded = (lines: readonly Uint8Array[]) => lines.map((line) => new TextDecoder().decode(line));
  return { head: decoded(head), tail: decoded(tail) };
}

const user = '{"message":{"role":"user"}}';
const filler = (count: number, length: number) =>
  Array.from({ length: count }, (_, at) => `${at}:${"x".repeat(length)}`);

test("a short log is all in both ends, with or without its last line feed", async () => {
  expect(await endsOf(`a\nb\n${user}\n`)).toEqual({ head: ["a", "b", user], tail: ["a", "b", user] });
  expect(await endsOf(`a\n\n${user}`)).toEqual({ head: ["a", user], tail: ["a", user] });
  expect(await endsOf("")).toEqual({ head: [], tail: [] });
});

test("of a long log the head stops early, and the tail begins with a whole line", async () => {
  const lines = ["header", user, ...filler(3000, 100)];
  const { head, tail } = await endsOf(`${lines.join("\n")}\n`);
  expect(head.length).toBeLessThan(200);
  expect(head).toEqual(lines.slice(0, head.length));
  expect(tail.length).toBeGreaterThan(500);
  expect(tail.length).toBeLessThan(700);
  expect(tail).toEqual(lines.slice(-tail.length));
});

test("the head goes on to the first user message, up to a megabyte", async () => {
  const near = ["header", ...filler(900, 100), user, ...filler(3000, 100)];
  expect((await endsOf(near.join("\n"))).head).toContain(user);
  const far = ["header", ...filler(20_000, 100), user, "end"];
  const { head } = await endsOf(far.join("\n"));
  expect(head).not.toContain(user);
  expect(head).toEqual(far.slice(0, head.length));
});

test("a line longer than the tail leaves the tail empty, and a first one longer than the head is not cut", async () => {
  expect((await endsOf(`header\n${"x".repeat(100_000)}`)).tail).toEqual([]);
  expect((await endsOf(`${"x".repeat(2_000_000)}\n${user}\n`)).head).toEqual([]);
});

test("a log that is shorter by now than it was gives what is there", async () => {
  expect(await endsOf("a\nb\n", 500)).toEqual({ head: ["a", "b"], tail: ["a", "b"] });
});

test("head and tail are whole lines from the two ends of any log", async () => {
  const line = fc
    .tuple(fc.constantFrom("a", "b", "é"), fc.nat(30_000))
    .map(([c, length]) => c.repeat(length + 1));
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 12 }), fc.boolean(), async (lines, isWhole) => {
      const { head, tail } = await endsOf(lines.join("\n") + (isWhole && lines.length > 0 ? "\n" : ""));
      expect(head).toEqual(lines.slice(0, head.length));
      expect(tail).toEqual(tail.length === 0 ? [] : lines.slice(-tail.length));
      if (lines.join("\n").length < 8000) expect(head).toEqual(lines);
    }),
    { numRuns: 50 },
  );
});
