import fc from "fast-check";
import { expect, test } from "vitest";
import type { OpenFile } from "../../../src/internal/node/file-system.js";
import type { LogBatch, LogPosition } from "../../../src/session/api/backend.js";
import { absentPosition } from "../../../src/session/node/log-position.js";
import { readLines } from "../../../src/session/node/read-lines.js";
import { linesOf } from "../../../src/session/runtime/log-lines.js";
import { SimulatedDisk } from "../../support/simulated-disk.js";

interface ReadResult {
  readonly lines: string[];
  readonly at: number[];
  readonly tooLong: { readonly at: number; readonly length: number }[];
  readonly tail: string | undefined;
  readonly next: LogPosition;
  readonly restarted: boolean;
  readonly batches: number;
}

async function read(disk: SimulatedDisk, from?: LogPosition, maxLineBytes = 1 << 20): Promise<ReadResult> {
  const file = disk.open("/log", "read") as OpenFile;
  const lines: string[] = [];
  const batches: LogBatch[] = [];
  for await (const batch of readLines(file, file.stat(), from, { maxLineBytes })) {
    // The bytes hold only until the next batch.
    lines.push(...linesOf(batch).map((line) => Buffer.from(line).toString("latin1")));
    batches.push(batch);
  }
  const last = batches.at(-1) as LogBatch;
  return {
    lines,
    at: batches.flatMap((batch) => batch.at),
    tooLong: batches.flatMap((batch) => batch.tooLong ?? []),
    tail: last.tail === undefined ? undefined : Buffer.from(last.tail.bytes).toString("latin1"),
    next: last.next,
    restarted: batches.some((batch) => batch.restarted === true),
    batches: batches.length,
  };
}

function diskOf(text: string): SimulatedDisk {
  const disk = new SimulatedDisk();
  disk.put("/log", text);
  return disk;
}

const pieces = fc.array(fc.constantFrom("a", "bc", "\n", "\n", "x".repeat(70), "y".repeat(200)), {
  maxLength: 40,
});

test("lines, places and tail are those of the text, and reading on from any line gives the rest", async () => {
  await fc.assert(
    fc.asyncProperty(pieces, pieces, async (first, more) => {
      const disk = diskOf(first.join(""));
      const before = await read(disk);
      const all = first.join("") + more.join("");
      const file = disk.open("/log", "append") as OpenFile;
      file.append(Buffer.from(more.join("")));
      const after = await read(disk, before.next);
      const whole = all.slice(0, all.lastIndexOf("\n") + 1);
      expect([...before.lines, ...after.lines]).toEqual(whole.split("\n").slice(0, -1));
      expect(after.tail ?? "").toBe(all.slice(whole.length));
      expect(after.restarted).toBe(false);
      for (const [index, at] of [...before.at, ...after.at].entries()) {
        expect(all.indexOf("\n", at)).toBe(at + ([...before.lines, ...after.lines][index]?.length ?? -1));
      }
      expect((await read(disk)).next).toBe(after.next);
    }),
  );
});

test("a log of many chunks is read a chunk at a time, and its end marks it as one read does", async () => {
  const lines = Array.from({ length: 60_000 }, (_, at) => `${at}:${"z".repeat(at % 300)}`);
  const disk = diskOf(`${lines.join("\n")}\n`);
  const whole = await read(disk);
  expect(whole.batches).toBeGreaterThan(3);
  expect(whole.lines).toEqual(lines);
  const half = whole.at[20_000] as number;
  expect((await read(disk, whole.next)).lines).toEqual([]);
  const cut = diskOf(`${lines.slice(0, 20_000).join("\n")}\n`);
  const position = (await read(cut)).next;
  const file = cut.open("/log", "append") as OpenFile;
  file.append(Buffer.from(`${lines.slice(20_000).join("\n")}\n`));
  const rest = await read(cut, position);
  expect(rest.lines).toEqual(lines.slice(20_000));
  expect(rest.at[0]).toBe(half);
});

test("a line over the limit is told of and not kept, also at the end", async () => {
  const long = "x".repeat(2000);
  const disk = diskOf(`a\n${long}\nb\n${long}`);
  const { lines, tooLong, tail, next } = await read(disk, undefined, 1024);
  expect(lines).toEqual(["a", "b"]);
  expect(tooLong).toEqual([
    { at: 2, length: 2000 },
    { at: 2005, length: 2000 },
  ]);
  expect(tail).toBeUndefined();
  expect(next).toMatch(/^1-\d+-2005-/);
});

test("lines longer than a chunk are read whole, one after the other and up to the limit", async () => {
  const text = ["a", "b".repeat(3 << 20), "c", "d".repeat(1 << 20), "e".repeat((4 << 20) + 1), "f"].join(
    "\n",
  );
  const { lines, tooLong, tail, at } = await read(diskOf(text), undefined, 4 << 20);
  expect(lines.map((line) => [line[0], line.length])).toEqual([
    ["a", 1],
    ["b", 3 << 20],
    ["c", 1],
    ["d", 1 << 20],
  ]);
  expect(at).toEqual([0, 2, (3 << 20) + 3, (3 << 20) + 5]);
  expect(tooLong).toEqual([{ at: (4 << 20) + 6, length: (4 << 20) + 1 }]);
  expect(tail).toBe("f");
});

test("a log that was cut, rewritten or replaced is read from its start", async () => {
  const text = "header\none\ntwo\n";
  const changes: Record<string, (disk: SimulatedDisk) => void> = {
    cut: (disk) => (disk.open("/log", "append") as OpenFile).truncate(7),
    "rewritten to the same size": (disk) => disk.put("/log", "header\none\n2wo\n"),
    "rewritten longer": (disk) => disk.put("/log", "header\nonly\nthese lines\n"),
    replaced: (disk) => {
      disk.put("/new", `${text}three\n`);
      disk.rename("/new", "/log");
    },
    emptied: (disk) => disk.put("/log", ""),
  };
  for (const [name, change] of Object.entries(changes)) {
    const disk = diskOf(text);
    const { next } = await read(disk);
    change(disk);
    const again = await read(disk, next);
    expect({ name, restarted: again.restarted }).toEqual({ name, restarted: true });
    expect(again.lines).toEqual((await read(disk)).lines);
  }
  const disk = diskOf(text);
  expect((await read(disk, "nonsense" as LogPosition)).restarted).toBe(true);
  expect((await read(disk, absentPosition)).lines).toEqual(["header", "one", "two"]);
});

test("a file that shrinks while it is read ends there", async () => {
  const disk = diskOf("a\nb\nc\n");
  const file = disk.open("/log", "read") as OpenFile;
  const stat = file.stat();
  (disk.open("/log", "append") as OpenFile).truncate(4);
  const lines: number[] = [];
  for await (const batch of readLines(file, stat, undefined, { maxLineBytes: 100 })) lines.push(...batch.at);
  expect(lines).toEqual([0, 2]);
});

test("an aborted read stops", async () => {
  const disk = diskOf("a\nb\n");
  const file = disk.open("/log", "read") as OpenFile;
  const reading = readLines(file, file.stat(), undefined, {
    maxLineBytes: 100,
    signal: AbortSignal.abort("why"),
  });
  await expect(reading.next()).rejects.toBe("why");
});
