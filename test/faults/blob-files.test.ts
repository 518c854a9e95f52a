import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type BlobRef, type BlobStore, collectGarbage } from "sessile";
import { fileBlobStore } from "sessile/node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

let root = "";
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "sessile-blob-files-"));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Read at once, and in pieces. */
const sizes = [1000, 700_000];
const bytesOf = (text: string, size: number) => new Uint8Array(Buffer.alloc(size, text));

interface Stored {
  readonly dir: string;
  readonly blobs: BlobStore;
  readonly one: BlobRef;
  readonly other: BlobRef;
  readonly path: (ref: BlobRef) => string;
}

/** Two blobs of one size, readable by `blobs`, which has read nothing yet. */
async function stored(size: number, layout: "sharded" | "flat" = "sharded"): Promise<Stored> {
  const dir = mkdtempSync(join(root, "store-"));
  const blobs = fileBlobStore({ dir, layout });
  const { ref: one } = await blobs.put(bytesOf("one ", size));
  const { ref: other } = await blobs.put(bytesOf("other", size));
  const path = (ref: BlobRef) => {
    const hex = ref.slice("sha256:".length);
    return layout === "flat"
      ? join(dir, "blobs", `${hex}.bin`)
      : join(dir, "blobs", "sha256", hex.slice(0, 2), hex);
  };
  for (const ref of [one, other]) chmodSync(path(ref), 0o600);
  return { dir, blobs, one, other, path };
}

/** What each fault does to the file of `one`. */
const faults: Readonly<Record<string, (stored: Stored, size: number) => void>> = {
  "with a bit flipped": ({ path, one }, size) => {
    const bytes = readFileSync(path(one));
    bytes[size >> 1] = (bytes[size >> 1] as number) ^ 4;
    writeFileSync(path(one), bytes);
  },
  "cut by one byte": ({ path, one }, size) => truncateSync(path(one), size - 1),
  "cut to nothing": ({ path, one }) => truncateSync(path(one), 0),
  "cut, and filled up with NULs": ({ path, one }, size) => {
    truncateSync(path(one), size >> 1);
    truncateSync(path(one), size);
  },
  "swapped with another of its size": ({ dir, path, one, other }) => {
    renameSync(path(one), join(dir, "between"));
    renameSync(path(other), path(one));
    renameSync(join(dir, "between"), path(other));
  },
};

describe("row 17: the file of a blob", () => {
  for (const layout of ["sharded", "flat"] as const) {
    for (const size of sizes) {
      // @covers security:blob-bytes › with a bit flipped is never given out (… bytes, %s)
      test.each(Object.keys(faults))(`%s is never given out (${size} bytes, ${layout})`, async (fault) => {
        const state = await stored(size, layout);
        const { dir, blobs, one, path } = state;
        faults[fault]?.(state, size);
        const wrong = readFileSync(path(one));
        const error = await blobs.get(one).catch((reason: unknown) => reason);
        expect(error).toMatchObject({ code: "BLOB_CORRUPT", details: { expected: one, size: wrong.length } });
        // It is kept, for whoever wants to see what became of it, and is in nobody's way.
        const { quarantined } = (error as { details: { quarantined: string } }).details;
        expect(dirname(quarantined)).toBe(join(dir, "quarantine"));
        expect(readFileSync(quarantined).equals(wrong)).toBe(true);
        expect(existsSync(path(one))).toBe(false);
        expect(await blobs.get(one)).toBeUndefined();
        await blobs.put(bytesOf("one ", size));
        expect(Buffer.from((await blobs.get(one)) ?? []).equals(bytesOf("one ", size))).toBe(true);
      });
    }
  }

  for (const layout of ["sharded", "flat"] as const) {
    for (const size of sizes) {
      // @covers durability:corrupt-blob security:blob-bytes
      test.each(Object.keys(faults))(
        `%s is healed by a put at once (${size} bytes, ${layout})`,
        async (fault) => {
          const state = await stored(size, layout);
          const { blobs, one, path } = state;
          const bytes = bytesOf("one ", size);
          const streamed = async function* () {
            yield bytes;
          };
          for (const source of [() => bytes, streamed]) {
            chmodSync(path(one), 0o600);
            faults[fault]?.(state, size);
            // The put is the first to look at the file, and what it acknowledges is the only copy.
            await blobs.put(source(), { mediaType: "image/png" });
            expect(readFileSync(path(one)).equals(bytes)).toBe(true);
            expect(Buffer.from((await blobs.get(one)) ?? []).equals(bytes)).toBe(true);
          }
        },
      );
    }
  }

  // @covers durability:swapped-blob
  test("swapped with another is no blob for either", async () => {
    const state = await stored(1000);
    faults["swapped with another of its size"]?.(state, 1000);
    const { corrupt } = await state.blobs.verify();
    expect(corrupt.map(({ ref, actual }) => [ref, actual]).sort()).toEqual(
      [
        [state.one, state.other],
        [state.other, state.one],
      ].sort(),
    );
  });

  // @covers durability:swapped-blob
  test.each([
    ["a file outside the store", "outside"],
    ["another blob", "other"],
    ["nothing", "nothing"],
    ["itself", "itself"],
    ["a directory", "directory"],
  ] as const)("that is a link to %s is not followed", async (_, to) => {
    const { dir, blobs, one, other, path } = await stored(1000);
    const secret = join(root, `secret-${to}`);
    writeFileSync(secret, bytesOf("one ", 1000));
    const targets = {
      outside: secret,
      other: path(other),
      nothing: join(dir, "nothing"),
      itself: path(one),
      directory: dir,
    };
    rmSync(path(one));
    symlinkSync(targets[to], path(one));
    expect(await blobs.stat(one)).toBeUndefined();
    expect(await blobs.touch(one)).toBeUndefined();
    const listed: string[] = [];
    for await (const { ref } of blobs.list()) listed.push(ref);
    expect(listed).toEqual([other]);
    await expect(blobs.get(one)).rejects.toMatchObject({
      code: "BLOB_CORRUPT",
      details: { expected: one, actual: "a link" },
    });
    await blobs.put(bytesOf("one ", 1000));
    expect(lstatSync(path(one)).isFile()).toBe(true);
    expect(readFileSync(secret).equals(bytesOf("one ", 1000))).toBe(true);
    expect((await blobs.verify()).corrupt).toEqual([]);
  });

  // @covers durability:swapped-blob
  test("that is a link is no blob to a collection, which moves neither it nor what it points to", async () => {
    const { blobs, one, other, path } = await stored(1000);
    const secret = join(root, "kept");
    writeFileSync(secret, "kept");
    rmSync(path(one));
    symlinkSync(secret, path(one));
    const marks = [{ root: "none", refs: [], complete: true }];
    const now = () => Date.now() + 100 * 86_400_000;
    await collectGarbage(blobs, { marks, now });
    await collectGarbage(blobs, { marks, now: () => now() + 100 * 86_400_000 });
    expect(await blobs.get(other)).toBeUndefined();
    expect(readFileSync(secret, "utf8")).toBe("kept");
    expect(lstatSync(path(one)).isSymbolicLink()).toBe(true);
  });
});

describe("row 17: a name that is a path, or has digits in upper case", () => {
  const hex = "a".repeat(64);
  const names = [
    "../secret",
    "sha256:../../secret",
    `sha256:${"../".repeat(20)}secret`.padEnd(71, "0"),
    `sha256:..${"/".repeat(62)}`,
    `sha256:${hex.slice(3)}/..`,
    `sha256:${hex.slice(1)}\0`,
    `sha256:${hex}/../../../secret`,
    `sha256:${hex}\n`,
    `sha256:${hex.toUpperCase()}`,
    `SHA256:${hex}`,
    `sha256:${hex.slice(1)}ａ`,
    `sha256:${hex.slice(1)}`,
    `file:${hex}`,
  ];

  // @covers durability:blob-name security:blob-bytes
  test.each(names)("%j is refused by every call, and no file is touched", async (name) => {
    const { dir, blobs } = await stored(10);
    writeFileSync(join(root, "secret"), "secret");
    writeFileSync(join(dir, "secret"), "secret");
    const before = readdirSync(root, { recursive: true }).sort();
    const ref = name as BlobRef;
    for (const call of ["get", "stream", "stat", "touch", "delete"] as const) {
      await expect(blobs[call](ref)).rejects.toThrow(TypeError);
    }
    await expect(blobs.put(new Uint8Array(3), { ref })).rejects.toThrow(TypeError);
    await expect(blobs.verify({ refs: [ref] })).rejects.toThrow(TypeError);
    const marks = [{ root: "log", refs: [ref], complete: true }];
    await expect(collectGarbage(blobs, { marks })).rejects.toMatchObject({ code: "COLLECTION_REFUSED" });
    expect(readdirSync(root, { recursive: true }).sort()).toEqual(before);
  });

  test("a file that has such a name is no blob, and stays where it is", async () => {
    const { dir, blobs, one, other } = await stored(10);
    const folder = join(dir, "blobs", "sha256", "aa");
    mkdirSync(folder, { recursive: true });
    const odd = [`${hex.toUpperCase()}`, `${hex}.bin`, hex.slice(1), `..${hex.slice(2)}`, "b".repeat(64)];
    for (const name of odd) writeFileSync(join(folder, name), "odd");
    const upper = join(dir, "blobs", "sha256", "AA");
    mkdirSync(upper);
    writeFileSync(join(upper, "A".repeat(64)), "odd");
    const listed: string[] = [];
    for await (const { ref } of blobs.list()) listed.push(ref);
    expect(listed.sort()).toEqual([one, other].sort());
    expect((await blobs.verify()).corrupt).toEqual([]);
    const marks = [{ root: "log", refs: [one, other], complete: true }];
    await collectGarbage(blobs, { marks, now: () => Date.now() + 100 * 86_400_000 });
    expect(readdirSync(folder).sort()).toEqual(odd.sort());
    expect(existsSync(join(upper, "A".repeat(64)))).toBe(true);
  });
});
