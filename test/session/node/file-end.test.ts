import { expect, test } from "vitest";
import type { OpenFile } from "../../../src/internal/node/file-system.js";
import {
  absentPosition,
  endsAt,
  endsWhole,
  isUnchanged,
  markOf,
  markOfEnd,
  positionAt,
  printPosition,
} from "../../../src/session/node/log-position.js";
import { SimulatedDisk } from "../../support/simulated-disk.js";

const path = "/log.jsonl";

function fileOf(text: string): { readonly disk: SimulatedDisk; readonly file: OpenFile } {
  const disk = new SimulatedDisk();
  disk.put(path, text);
  return { disk, file: disk.open(path, "read") as OpenFile };
}

test.each([
  ["where its last line feed is", "{}\n", 3, true],
  ["not where another line follows", "{}\n[]\n", 3, false],
  ["not where half a line follows", "{}\n[", 3, false],
  ["not where it was cut", "{}\n", 4, false],
  ["not where no line feed is", "{}", 2, false],
  ["not where it is empty", "", 0, false],
])("a file ends at a size %s", (_, text, size, expected) => {
  const { disk, file } = fileOf(text);
  expect(endsAt(file, size)).toBe(expected);
  expect(markOfEnd(file, size)).toBe(expected ? markOf(Buffer.from(text)) : undefined);
  expect(disk.counts.stat).toBe(0);
});

test.each([1, 63, 64, 65, 127, 128, 129, 300])(
  "the mark of a line of %i bytes is that of its end",
  (length) => {
    const text = `{}\n${"x".repeat(length - 1)}\n`;
    const { file } = fileOf(text);
    const mark = markOf(Buffer.from(text.slice(3)));
    expect(markOfEnd(file, text.length)).toBe(mark);
    const { dev, ino } = file.stat();
    expect(positionAt(file, file.stat())).toBe(printPosition({ dev, ino, size: text.length, mark }));
  },
);

test("what cannot be read is not said to end", () => {
  const { disk, file } = fileOf("{}\n");
  disk.failNext("readSync", "EIO");
  expect(endsAt(file, 3)).toBe(false);
  disk.failNext("readSync", "EIO");
  expect(markOfEnd(file, 3)).toBeUndefined();
});

test("an empty file ends whole, and has the position of none", () => {
  const { file } = fileOf("");
  expect(endsWhole(file)).toBe(true);
  expect(positionAt(file, file.stat())).toBe(absentPosition);
  expect(endsWhole(fileOf("{}").file)).toBe(false);
});

test("a file is unchanged that is the same, as long, and not written to since", () => {
  const { disk, file } = fileOf("{}\n");
  const seen = file.stat();
  expect(isUnchanged(seen, file.stat())).toBe(true);
  expect(isUnchanged(undefined, seen)).toBe(false);
  expect(isUnchanged(seen, undefined)).toBe(false);
  disk.touch(path);
  expect(isUnchanged(seen, file.stat())).toBe(false);
});
