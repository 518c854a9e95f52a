import fc from "fast-check";
import { expect, test } from "vitest";
import {
  absentPosition,
  isSameFile,
  markedBytes,
  markOf,
  parsePosition,
  printPosition,
} from "../../../src/session/node/log-position.js";

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
      const position = { dev, ino, size, mark: markOf(bytes) };
      expect(parsePosition(printPosition(position))).toEqual(position);
    }),
  );
  for (const text of [absentPosition, "", "1-2-3", "1-2-3-", "a-2-3-4", "1-2-3-4-5"]) {
    expect(parsePosition(text)).toBeUndefined();
  }
});

test("the mark of a last line is the same from the batch, from the file's end, and from the whole file", () => {
  fc.assert(
    fc.property(lines, lines, (before, batch) => {
      const file = Uint8Array.from([...before, ...batch]);
      expect(markOf(batch)).toBe(markOf(file));
      expect(markOf(file.subarray(-2 * markedBytes))).toBe(markOf(file));
    }),
  );
});

test("another last line has another mark", () => {
  expect(markOf(utf8("a\nb\n"))).not.toBe(markOf(utf8("a\nc\n")));
  expect(markOf(utf8("a\nb\n"))).toBe(markOf(utf8("x\nb\n")));
  expect(markOf(new Uint8Array())).toBe("start");
});

test("a file is known by device and inode", () => {
  const position = { dev: 1, ino: 2, size: 3, mark: "m" };
  const stat = { kind: "file", dev: 1, ino: 2, size: 9, mtimeMs: 0, ctimeMs: 0 } as const;
  expect(isSameFile(position, stat)).toBe(true);
  expect(isSameFile(position, { ...stat, ino: 3 })).toBe(false);
  expect(isSameFile(position, { ...stat, dev: 2 })).toBe(false);
});
