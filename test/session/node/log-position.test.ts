import fc from "fast-check";
import { expect, test } from "vitest";
import type { OpenFile } from "../../../src/internal/node/file-system.js";
import {
  absentPosition,
  endingOf,
  endsWith,
  fingerprintBytes,
  fingerprintOf,
  isSameFile,
  isUnchanged,
  parsePosition,
  printPosition,
  readEnding,
} from "../../../src/session/node/log-position.js";
import { SimulatedDisk } from "../../support/simulated-disk.js";

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const lines = fc
  .array(
    fc.string({ maxLength: 150 }).map((text) => text.replaceAll("\n", " ")),
    { minLength: 1, maxLength: 4 },
  )
  .map((all) => utf8(`${all.join("\n")}\n`));

test("a position prints and parses back", () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), fc.maxSafeNat(), fc.maxSafeNat(), lines, (dev, ino, size, bytes) => {
      const position = { dev, ino, size, fingerprint: fingerprintOf(bytes) };
      expect(parsePosition(printPosition(position))).toEqual(position);
    }),
  );
  for (const text of [absentPosition, "", "1-2-3", "1-2-3-", "a-2-3-4", "1-2-3-4-5"]) {
    expect(parsePosition(text)).toBeUndefined();
  }
});

test("the fingerprint of a last line is the same from the batch, from the file's end, and from the whole file", () => {
  fc.assert(
    fc.property(lines, lines, (before, batch) => {
      const file = Uint8Array.from([...before, ...batch]);
      expect(fingerprintOf(batch)).toBe(fingerprintOf(file));
      expect(fingerprintOf(file.subarray(-2 * fingerprintBytes))).toBe(fingerprintOf(file));
    }),
  );
});

test("another last line has another fingerprint", () => {
  expect(fingerprintOf(utf8("a\nb\n"))).not.toBe(fingerprintOf(utf8("a\nc\n")));
  expect(fingerprintOf(utf8("a\nb\n"))).toBe(fingerprintOf(utf8("x\nb\n")));
  expect(fingerprintOf(new Uint8Array())).toBe("start");
});

test("a file is known by device and inode", () => {
  const position = { dev: 1, ino: 2, size: 3, fingerprint: "m" };
  const stat = { kind: "file", dev: 1, ino: 2, size: 9, mtimeMs: 0, ctimeMs: 0 } as const;
  expect(isSameFile(position, stat)).toBe(true);
  expect(isSameFile(position, { ...stat, ino: 3 })).toBe(false);
  expect(isSameFile(position, { ...stat, dev: 2 })).toBe(false);
});

const path = "/log.jsonl";

function fileOf(text: string): { readonly disk: SimulatedDisk; readonly file: OpenFile } {
  const disk = new SimulatedDisk();
  disk.put(path, text);
  return { disk, file: disk.open(path, "read") as OpenFile };
}

test.each([
  ["at its last line feed", "{}\n", 3, true],
  ["not before another line", "{}\n[]\n", 3, false],
  ["not before half a line", "{}\n[", 3, false],
  ["not after it was truncated", "{}\n", 4, false],
  ["not without a line feed", "{}", 2, false],
  ["not if it is empty", "", 0, false],
])("a file ends at a size %s, told without its size", (_, text, size, expected) => {
  const { disk, file } = fileOf(text);
  expect(endsWith(file, size, utf8("\n"))).toBe(expected);
  expect(endsWith(file, size, endingOf(utf8(`{}${"\n".repeat(size - 2 > 0 ? size - 2 : 1)}`)))).toBe(
    expected,
  );
  expect(endsWith(file, size, utf8("]\n"))).toBe(false);
  expect(disk.counts.stat).toBe(0);
});

test.each([1, 63, 64, 65, 127, 128, 129, 300])(
  "the ending of a line of %i bytes has its fingerprint",
  (length) => {
    const line = `${"x".repeat(length - 1)}\n`;
    const { file } = fileOf(`{}\n${line}`);
    const ending = readEnding(file, line.length + 3);
    expect(fingerprintOf(ending)).toBe(fingerprintOf(utf8(line)));
    expect(fingerprintOf(endingOf(utf8(line)))).toBe(fingerprintOf(utf8(line)));
    expect(endsWith(file, line.length + 3, ending)).toBe(true);
    expect(endsWith(file, line.length + 3, endingOf(utf8(line)))).toBe(true);
  },
);

test("a file that cannot be read does not end anywhere", () => {
  const { disk, file } = fileOf("{}\n");
  disk.failNext("readSync", "EIO");
  expect(endsWith(file, 3, utf8("\n"))).toBe(false);
  expect(endsWith(file, 3, utf8("\n"))).toBe(true);
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
