import { mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { nodeFileSystem } from "../../../src/core/node/node-file-system.js";
import { removeTempFiles, sharded } from "../../../src/storage/files/blobs/layout.js";
import { StoreDirectory } from "../../../src/storage/files/blobs/store-directory.js";
import { temporaryDirectory } from "../../session/node/temporary-directory.js";

const dayMs = 86_400_000;
const now = 1_000 * dayMs;
/** Over the highest number that Linux gives. */
const dead = 2 ** 22 + 1;
const random = "0123456789abcdef";

function withFiles(files: Readonly<Record<string, number>>): { dir: string; directory: StoreDirectory } {
  const dir = temporaryDirectory();
  mkdirSync(join(dir, "tmp"));
  for (const [name, ageDays] of Object.entries(files)) {
    const path = join(dir, "tmp", name);
    writeFileSync(path, "12345");
    const at = (now - ageDays * dayMs) / 1000;
    utimesSync(path, at, at);
  }
  return { dir, directory: new StoreDirectory(dir, nodeFileSystem, sharded, "os") };
}

test("removes what dead processes left, gives running ones a day more, and leaves others' files alone", async () => {
  const { dir, directory } = withFiles({
    [`${dead}-${random}`]: 15,
    [`${dead + 1}-${random}`]: 13,
    [`${process.pid}-${random}`]: 14.5,
    [`${process.pid}-fedcba9876543210`]: 15.5,
    "import-of-somebody.png": 100,
    [`${dead}-short`]: 100,
    [`0-${random}`]: 100,
  });
  const before = now - 14 * dayMs;
  const expected = { count: 2, bytes: 10 };
  expect(await removeTempFiles(directory, before, { dryRun: true })).toEqual(expected);
  expect(readdirSync(join(dir, "tmp")).length).toBe(7);
  expect(await removeTempFiles(directory, before, { dryRun: false })).toEqual(expected);
  expect(readdirSync(join(dir, "tmp")).sort()).toEqual(
    [
      `${dead + 1}-${random}`,
      `${process.pid}-${random}`,
      "import-of-somebody.png",
      `${dead}-short`,
      `0-${random}`,
    ].sort(),
  );
  expect(await removeTempFiles(directory, before, { dryRun: false })).toEqual({ count: 0, bytes: 0 });
});

test("finds nothing in a store that is not there", async () => {
  const directory = new StoreDirectory(join(temporaryDirectory(), "none"), nodeFileSystem, sharded, "os");
  expect(await removeTempFiles(directory, now, { dryRun: false })).toEqual({ count: 0, bytes: 0 });
});
