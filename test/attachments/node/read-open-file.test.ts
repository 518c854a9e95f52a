import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readOpenFile } from "../../../src/attachments/node/read-open-file.js";
import type { ExactFileStat, OpenFile } from "../../../src/internal/node/file-system.js";

type ReadFile = Pick<OpenFile, "read" | "statExact">;

interface Script {
  readonly bytes: Uint8Array;
  /** What the file says of its size, before and after. */
  readonly said: readonly [bigint, bigint];
  /** Most bytes that one read gives. */
  readonly most?: number;
  readonly later?: bigint;
}

const facts = (size: bigint, mtimeNs = 0n): ExactFileStat => ({
  kind: "file",
  dev: 1n,
  ino: 1n,
  size,
  mtimeNs,
});

/** A file that does what the script says, and counts what was taken from it. */
function scripted({ bytes, said, most = Number.POSITIVE_INFINITY, later = 0n }: Script) {
  let at = 0;
  const file: ReadFile = {
    statExact: async () => facts(said[1], later),
    async read(into) {
      const count = Math.min(into.length, most, bytes.length - at);
      into.set(bytes.subarray(at, at + count));
      at += count;
      return count;
    },
  };
  return { file, opened: facts(said[0]), taken: () => at };
}

const bytesOf = (length: number) => Uint8Array.from({ length }, (_, index) => index % 251);

describe("readOpenFile", () => {
  test("gives the bytes of a file that stays as it is, however they come", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 300 }),
        fc.integer({ min: 1, max: 64 }),
        fc.boolean(),
        async (bytes, most, lies) => {
          const size = lies ? 0n : BigInt(bytes.length);
          const { file, opened } = scripted({ bytes, said: [size, size], most });
          const outcome = await readOpenFile(file, opened, Math.max(1, bytes.length), undefined);
          expect(outcome).toEqual({ status: "read", bytes });
        },
      ),
    );
  });

  test("takes at most one byte more than allowed, whatever the size says", async () => {
    for (const said of [0n, 10n, 100n]) {
      const { file, opened, taken } = scripted({ bytes: bytesOf(1_000_000), said: [said, said] });
      const outcome = await readOpenFile(file, opened, 100, undefined);
      expect(outcome).toEqual({ status: "tooLarge", bytes: 101 });
      expect(taken()).toBe(101);
    }
  });

  test("does not begin to read what says that it is too large", async () => {
    const { file, opened, taken } = scripted({ bytes: bytesOf(10), said: [101n, 101n] });
    expect(await readOpenFile(file, opened, 100, undefined)).toEqual({ status: "tooLarge", bytes: 101 });
    expect(taken()).toBe(0);
  });

  test.each<[string, Script]>([
    ["it grew before the end was read", { bytes: bytesOf(20), said: [10n, 20n] }],
    ["it grew after the end was read", { bytes: bytesOf(10), said: [10n, 20n] }],
    ["it was cut", { bytes: bytesOf(5), said: [10n, 5n] }],
    ["it was written over", { bytes: bytesOf(10), said: [10n, 10n], later: 1n }],
    ["it gave fewer bytes than it has", { bytes: bytesOf(5), said: [10n, 10n] }],
  ])("notices that %s", async (_, script) => {
    const { file, opened } = scripted(script);
    expect(await readOpenFile(file, opened, 100, undefined)).toEqual({ status: "changed" });
  });

  test("reads a file that says 0 far beyond the first guess", async () => {
    const bytes = bytesOf(300_000);
    const { file, opened } = scripted({ bytes, said: [0n, 0n] });
    const outcome = await readOpenFile(file, opened, 1 << 20, undefined);
    expect(outcome.status === "read" && Buffer.compare(outcome.bytes, bytes)).toBe(0);
  });

  test("stops between two reads", async () => {
    const stop = new AbortController();
    const { file, opened } = scripted({ bytes: bytesOf(10), said: [10n, 10n], most: 1 });
    const read = file.read;
    const stopping: ReadFile = {
      ...file,
      read(into, at) {
        stop.abort(new Error("enough"));
        return read(into, at);
      },
    };
    await expect(readOpenFile(stopping, opened, 100, stop.signal)).rejects.toThrow("enough");
  });
});
