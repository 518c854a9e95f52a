import fc from "fast-check";
import { expect, test } from "vitest";
import type { OpenFile } from "../../../src/internal/node/file-system.js";
import { readHeadTail } from "../../../src/session/node/read-head-tail.js";
import { SimulatedDisk } from "../../support/simulated-disk.js";

async function endsOf(text: string, size?: number) {
  const disk = new SimulatedDisk();
  disk.put("/log", text);
  const file = disk.open("/log", "read") as OpenFile;
  const { head, tail } = readHeadTail(file, size ?? file.stat().size);
  const decoded = (lines: readonly Uint8Array[]) => lines.map((line) => new TextDecoder().decode(line));
  return { head: decoded(head), tail: decoded(tail) };
}

const info = (at: number | string) => `{"type":"session_info","id":"${at}"}`;
const user = '{"message":{"role":"user"}}';
const filler = (count: number, length: number) =>
  Array.from({ length: count }, (_, at) => `${at}:${"x".repeat(length)}`);

test("a short log is all in the head, and the tail is what may be a session_info, with or without the last line feed", async () => {
  const lines = [info("a"), "b", user, info("c")];
  const ends = { head: lines, tail: [info("a"), info("c")] };
  expect(await endsOf(`${lines.join("\n")}\n`)).toEqual(ends);
  expect(await endsOf(lines.join("\n\n"))).toEqual(ends);
  expect(await endsOf("")).toEqual({ head: [], tail: [] });
});

test("of a long log the head stops early, and the tail has whole lines", async () => {
  const lines = ["header", user, ...Array.from({ length: 3000 }, (_, at) => `${info(at)}${"x".repeat(70)}`)];
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
  expect((await endsOf(`header\n${info(1)}${"x".repeat(100_000)}`)).tail).toEqual([]);
  expect((await endsOf(`${"x".repeat(2_000_000)}\n${user}\n`)).head).toEqual([]);
});

test("a log that is shorter by now than it was gives what is there", async () => {
  expect(await endsOf(`a\n${info("b")}\n`, 500)).toEqual({ head: ["a", info("b")], tail: [info("b")] });
  const long = filler(300, 100).join("\n");
  expect((await endsOf(long, 5_000_000)).head).toHaveLength(299);
});

test("head and tail are whole lines from the two ends of any log", async () => {
  const line = fc
    .tuple(
      fc.constantFrom("a", "b", "é", "_info", "session_inf", info("é"), `session_info${info(1)}`),
      fc.nat(30_000),
    )
    .map(([c, length]) => c.repeat(Math.ceil((length + 1) / c.length)));
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 12 }), fc.boolean(), async (lines, isWhole) => {
      const { head, tail } = await endsOf(lines.join("\n") + (isWhole && lines.length > 0 ? "\n" : ""));
      expect(head).toEqual(lines.slice(0, head.length));
      const infos = lines.filter((each) => each.includes("session_info"));
      expect(tail).toEqual(tail.length === 0 ? [] : infos.slice(-tail.length));
      if (Buffer.byteLength(lines.join("\n")) < 64_000) expect(tail).toEqual(infos);
      if (lines.join("\n").length < 8000) expect(head).toEqual(lines);
    }),
    { numRuns: 50 },
  );
});
