import type { LogBatch, LogPosition, SessionLog } from "sessile";
import { expect, test } from "vitest";
import { eachLine } from "../../src/session/internal.js";
import { logBatchLines, storedLines } from "../../src/session/runtime/log-lines.js";
import { FileBackend } from "../../src/storage/files/session-backend.js";
import { SimulatedDisk } from "../support/simulated-disk.js";

const bytes = new TextEncoder().encode("one\n\nthree\n");
const alone = [bytes.subarray(0, 3), bytes.subarray(4, 4), bytes.subarray(5, 10)];
const ranges = { bytes, bounds: [0, 3, 4, 4, 5, 10] };
const batch = (lines: LogBatch["lines"], tooLong?: LogBatch["tooLong"]): LogBatch => ({
  lines,
  at: [20, 30, 50],
  next: "" as LogPosition,
  ...(tooLong === undefined ? {} : { tooLong }),
});

function told(given: LogBatch): readonly unknown[] {
  const out: unknown[] = [];
  eachLine(given, {
    line: (of, at, start, end) => out.push([at, new TextDecoder().decode(of.subarray(start, end))]),
    tooLong: (at, length) => out.push([at, length]),
  });
  return out;
}

test("lines come in order of place with those that were too long, given either way", () => {
  const long = [10, 40, 41, 60].map((at) => ({ at, length: 9 }));
  const wanted = [
    [10, 9],
    [20, "one"],
    [30, ""],
    [40, 9],
    [41, 9],
    [50, "three"],
    [60, 9],
  ];
  expect(told(batch(ranges, long))).toEqual(wanted);
  expect(told(batch(alone, long))).toEqual(wanted);
  expect(told(batch(ranges))).toEqual(told(batch(alone)));
  expect(told({ lines: [], at: [], tooLong: long.slice(0, 1), next: "" as LogPosition })).toEqual([[10, 9]]);
});

test("linesOf gives each line by itself, given either way", () => {
  expect(logBatchLines(batch(ranges))).toEqual(alone);
  expect(logBatchLines(batch(alone))).toEqual(alone);
});

/** A log of a file with this text, for a reader that takes lines of up to a kibibyte. */
function logOf(text: string): SessionLog {
  const disk = new SimulatedDisk();
  disk.put("/s/a.jsonl", text);
  const times = { waitMs: 0, idleMs: 1, remoteLeaseMs: 1000 };
  const backend = new FileBackend({
    dir: "/s",
    fs: disk,
    durability: "os",
    times,
    maxLineBytes: 1024,
    now: () => 0,
  });
  return backend.logAt("/s/a.jsonl", "a");
}

test("every line is there in its place, also those that no reader takes, and what follows the last line feed", async () => {
  const long = ["1", "2", "3", "4"].map((name) => name.repeat(2000));
  const lines = [long[0], "a", "", long[1], long[2], "b", long[3]];
  for (const end of ["\n", "\ntorn", ""]) {
    const text = lines.join("\n") + end;
    const log = logOf(text);
    const found: string[] = [];
    for await (const { bytes, at, tooLong } of storedLines(log)) {
      const line = new TextDecoder().decode(bytes);
      expect(text.slice(at, at + line.length)).toBe(line);
      expect(tooLong).toBe(line.length > 1024);
      found.push(line);
    }
    expect(found).toEqual(end === "\ntorn" ? [...lines, "torn"] : lines);
    await log.close();
  }
});
