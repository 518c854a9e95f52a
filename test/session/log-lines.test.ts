import { expect, test } from "vitest";
import type { LogBatch, LogPosition } from "../../src/session/api/backend.js";
import { eachLine, linesOf } from "../../src/session/runtime/log-lines.js";

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
  expect(linesOf(batch(ranges))).toEqual(alone);
  expect(linesOf(batch(alone))).toEqual(alone);
});
