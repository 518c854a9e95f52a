import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, isAbsolute, join, relative } from "node:path";
import { type BlobRef, type BlobStore, collectGarbage, digest as digestBy, memoryBlobStore } from "sessile";
import { SessileError } from "sessile/errors";
import { fileBlobStore } from "sessile/node";
import { describe, expect, test } from "vitest";
import { fileBlobStoreOn } from "../../../src/storage/files/blobs/store-directory.js";
import { temporaryDirectory } from "../../session/node/temporary-directory.js";
import { fileClock } from "../../support/file-clock.js";
import { hookedFileSystem, isSync, systemError } from "../../support/hooked-file-system.js";
import { nodeSha256 } from "../../support/plain-values.js";

const digest = (of: Uint8Array, by: "blake3" | typeof nodeSha256 = nodeSha256) => digestBy(of, by);
const bytes = new TextEncoder().encode("what is kept");
const large = new Uint8Array(300_000).fill(7);
const ref = digest(bytes);

async function* streamOf(source: Uint8Array): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; at < source.length; at += 100_000) yield source.subarray(at, at + 100_000);
}

// On a machine whose disk has other work to do.

/** A store that waits for no disk, to look at what another has done. */
function plain(dir: string): BlobStore {
  return fileBlobStore({ dir, durability: "os" });
}

function pathOf(dir: string, name: BlobRef = ref): string {
  const [algorithm = "", hex = ""] = name.split(":");
  return join(dir, "blobs", algorithm, hex.slice(0, 2), hex);
}

/** Files below a directory, without the folders. */
function filesIn(dir: string): readonly string[] {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(dir.length + 1))
    .sort();
}

describe("the files of a store", () => {
  test("lie where the layout says, readable only, with store.json", async () => {
    const dir = temporaryDirectory();
    await fileBlobStore({ dir }).put(bytes);
    const hex = ref.slice(7);
    expect(filesIn(dir)).toEqual([`blobs/sha256/${hex.slice(0, 2)}/${hex}`, "store.json"]);
    expect(readFileSync(join(dir, "store.json"), "utf8")).toBe('{"format":1}\n');
    expect(statSync(pathOf(dir)).mode & 0o777 & ~0o444).toBe(0);
    expect(statSync(join(dir, "blobs")).mode & 0o777).toBe(0o700);
    expect(readdirSync(join(dir, "tmp"))).toEqual([]);
  });

  // @covers R60
  test.each([
    ["image/png", "png"],
    ["IMAGE/JPEG; q=1", "jpg"],
    ["text/plain", "txt"],
    ["application/x-nobody", "bin"],
    [undefined, "bin"],
  ])("of a flat layout have the extension of %s", async (mediaType, extension) => {
    const dir = join(temporaryDirectory(), "sessions");
    const blobs = fileBlobStore({ dir, layout: "flat" });
    await blobs.put(bytes, mediaType === undefined ? {} : { mediaType });
    expect(filesIn(dir)).toEqual([`blobs/${ref.slice(7)}.${extension}`, "store.json"]);
    // Another type later is the same blob.
    await blobs.put(bytes, { mediaType: "image/gif" });
    expect(filesIn(dir).length).toBe(2);
    expect(await blobs.get(ref)).toEqual(bytes);
  });

  // @covers R178
  test("of a flat layout by BLAKE3 are named by it", async () => {
    const dir = join(temporaryDirectory(), "context");
    const blobs = fileBlobStore({ dir, layout: "flat", digest: "blake3" });
    await blobs.put(bytes, { mediaType: "text/plain" });
    expect(filesIn(dir)).toEqual([`blobs/${digest(bytes, "blake3").slice(7)}.txt`, "store.json"]);
    expect(await blobs.get(ref)).toBeUndefined();
  });

  test.each(["sharded", "flat"] as const)(
    "are located by their ref, in a layout that is %s",
    async (layout) => {
      const dir = temporaryDirectory();
      const blobs = fileBlobStore({ dir: relative(process.cwd(), dir), layout, durability: "os" });
      expect(await blobs.locate(ref)).toBeUndefined();
      await blobs.put(bytes, { mediaType: "image/png" });
      const path = (await blobs.locate(ref)) ?? "";
      expect(isAbsolute(path)).toBe(true);
      expect(new Uint8Array(readFileSync(path))).toEqual(bytes);
      expect(path.endsWith(".png")).toBe(layout === "flat");
      expect(await blobs.partition("p").locate(ref)).toBeUndefined();
      // A collection moves it; a reader that asks for it gets it back.
      const later = { graceMs: 0, now: () => fileClock() + 60_000 };
      await collectGarbage(blobs, { ...later, marks: [{ root: "r", refs: [], complete: true }] });
      expect(existsSync(path)).toBe(false);
      expect(await blobs.locate(ref)).toBe(path);
      expect(existsSync(path)).toBe(true);
      await expect(blobs.locate("sha256:no" as BlobRef)).rejects.toThrow(TypeError);
      await blobs.delete(ref);
      expect(await blobs.locate(ref)).toBeUndefined();
      expect(await memoryBlobStore().locate(ref)).toBeUndefined();
    },
  );

  test("that another program wrote into a flat layout are read, listed, collected and taken back", async () => {
    const dir = temporaryDirectory();
    mkdirSync(join(dir, "blobs"));
    const name = `${ref.slice(7)}.jpeg`;
    writeFileSync(join(dir, "blobs", name), bytes);
    writeFileSync(join(dir, "blobs", "README.md"), "not a blob");
    const blobs = fileBlobStore({ dir, layout: "flat" });
    expect(await blobs.get(ref)).toEqual(bytes);
    const now = () => fileClock() + 15 * 86_400_000;
    const marks = [{ root: "log", refs: [], complete: true }];
    expect((await collectGarbage(blobs, { marks, now })).trashed.count).toBe(1);
    expect(filesIn(dir)).toEqual(["blobs/README.md", `trash/sha256-${name}`]);
    expect(await blobs.get(ref)).toEqual(bytes);
    expect(filesIn(dir)).toEqual([`blobs/${name}`, "blobs/README.md"].sort());
    expect(await blobs.delete(ref)).toBe(true);
    expect(existsSync(join(dir, "blobs", name))).toBe(false);
  });

  test("of a partition lie in a folder of their own, upper case spelt out", async () => {
    const dir = temporaryDirectory();
    await fileBlobStore({ dir, partition: "acme" }).put(bytes);
    await fileBlobStore({ dir, partition: "Acme" }).put(bytes);
    expect(readdirSync(dir).sort()).toEqual(["@!acme", "@acme"]);
  });
});

describe("store.json", () => {
  test.each([
    ["of a newer version", '{"format":2}'],
    ["of another layout", '{"format":1,"layout":"flat","digest":"sha256"}'],
    ["that is no JSON", '{"form'],
    ["that is empty", ""],
  ])("%s refuses every use", async (_, text) => {
    const dir = temporaryDirectory();
    writeFileSync(join(dir, "store.json"), text);
    const uses: ((store: BlobStore) => Promise<unknown>)[] = [
      (store) => store.put(bytes),
      (store) => store.put(streamOf(large)),
      (store) => store.get(ref),
      (store) => store.stat(ref),
      (store) => store.touch(ref),
      (store) => store.delete(ref),
      (store) => store.verify(),
      (store) => collectGarbage(store, { marks: [{ root: "log", refs: [], complete: true }] }),
    ];
    for (const use of uses) {
      const error = await use(fileBlobStore({ dir })).catch((reason: unknown) => reason);
      expect(SessileError.is(error, "BLOB_STORE_FORMAT")).toBe(true);
      expect(error).toMatchObject({ details: { path: join(dir, "store.json"), expected: '{"format":1}' } });
    }
    expect(filesIn(dir)).toEqual(["store.json"]);
  });

  test("of a flat store keeps it from being opened by the other digest, which would find all corrupt", async () => {
    const dir = temporaryDirectory();
    await fileBlobStore({ dir, layout: "flat" }).put(bytes);
    await expect(fileBlobStore({ dir, layout: "flat", digest: "blake3" }).verify()).rejects.toMatchObject({
      code: "BLOB_STORE_FORMAT",
    });
    expect((await fileBlobStore({ dir, layout: "flat" }).verify()).checked.count).toBe(1);
  });

  test("is written by nobody who only reads", async () => {
    const dir = join(temporaryDirectory(), "none");
    const blobs = fileBlobStore({ dir });
    await blobs.get(ref);
    await blobs.delete(ref);
    await blobs.verify();
    expect(existsSync(dir)).toBe(false);
  });
});

describe("what lies in the place of a blob", () => {
  test("is put aside where it is a link, and what it points to is not read", async () => {
    const dir = temporaryDirectory();
    const blobs = fileBlobStore({ dir });
    await blobs.put(bytes);
    const secret = join(dir, "secret");
    renameSync(pathOf(dir), secret); // the right bytes, even
    symlinkSync(secret, pathOf(dir));
    expect(await blobs.stat(ref)).toBeUndefined();
    expect(await blobs.touch(ref)).toBeUndefined();
    expect((await blobs.verify()).checked.count).toBe(0);
    const error = await blobs.get(ref).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "BLOB_CORRUPT", details: { expected: ref, actual: "a link" } });
    const { quarantined = "" } = (error as SessileError<"BLOB_CORRUPT">).details;
    expect(readlinkSync(quarantined)).toBe(secret);
    expect(await blobs.get(ref)).toBeUndefined();
    expect(statSync(secret).isFile()).toBe(true);
  });

  test("is replaced by a put where it is a link", async () => {
    const dir = temporaryDirectory();
    const blobs = fileBlobStore({ dir });
    mkdirSync(dirname(pathOf(dir)), { recursive: true });
    writeFileSync(join(dir, "other"), bytes);
    symlinkSync(join(dir, "other"), pathOf(dir));
    const before = statSync(join(dir, "other")).mtimeMs;
    await blobs.put(bytes);
    expect(await blobs.get(ref)).toEqual(bytes);
    expect(statSync(join(dir, "other")).mtimeMs).toBe(before);
    expect(readFileSync(pathOf(dir))).toEqual(Buffer.from(bytes));
  });

  test("does not make a read hang where it is a FIFO", async ({ skip }) => {
    const dir = temporaryDirectory();
    const blobs = fileBlobStore({ dir });
    mkdirSync(dirname(pathOf(dir)), { recursive: true });
    try {
      execFileSync("mkfifo", [pathOf(dir)]);
    } catch {
      skip("mkfifo is not there");
    }
    await expect(blobs.get(ref)).rejects.toMatchObject({ details: { actual: "a FIFO" } });
    execFileSync("mkfifo", [pathOf(dir)]);
    await blobs.put(bytes);
    expect(await blobs.get(ref)).toEqual(bytes);
  });

  test("is put aside where it is a directory, and a put stands in its way no longer", async () => {
    const dir = temporaryDirectory();
    const blobs = fileBlobStore({ dir });
    mkdirSync(pathOf(dir), { recursive: true });
    await expect(blobs.put(bytes)).rejects.toMatchObject({ code: "STORAGE_FAILED" });
    await expect(blobs.get(ref)).rejects.toMatchObject({ details: { actual: "a directory" } });
    await blobs.put(bytes);
    expect(await blobs.get(ref)).toEqual(bytes);
    expect(readdirSync(join(dir, "tmp"))).toEqual([]);
  });

  describe("while the blob is in the trash", () => {
    async function withTrashed(): Promise<{ readonly dir: string; readonly blobs: BlobStore }> {
      const dir = temporaryDirectory();
      const blobs = plain(dir);
      expect(await blobs.backend.trash.take(await blobs.put(bytes))).toBe(true);
      return { dir, blobs };
    }

    // @covers durability:corrupt-blob
    test("is put aside where it is a file of another size with other bytes", async () => {
      const { dir, blobs } = await withTrashed();
      writeFileSync(pathOf(dir), "ten bytes!");
      const marks = [{ root: "log", refs: [ref], complete: true }];
      expect((await collectGarbage(blobs, { marks })).restored.count).toBe(1);
      expect(await blobs.get(ref)).toEqual(bytes);
      expect(readdirSync(join(dir, "trash"))).toEqual([]);
      const [aside = ""] = readdirSync(join(dir, "quarantine"));
      expect(readFileSync(join(dir, "quarantine", aside), "utf8")).toBe("ten bytes!");
    });

    test("is put aside where it is a file of the same size with other bytes", async () => {
      const { dir, blobs } = await withTrashed();
      writeFileSync(pathOf(dir), bytes.toReversed());
      expect(await blobs.backend.trash.restore(ref)).toBe(true);
      expect(await blobs.get(ref)).toEqual(bytes);
      const [aside = ""] = readdirSync(join(dir, "quarantine"));
      expect(new Uint8Array(readFileSync(join(dir, "quarantine", aside)))).toEqual(bytes.toReversed());
    });

    test.each([
      ["a link", (dir: string) => symlinkSync(join(dir, "other"), pathOf(dir))],
      ["a directory", (dir: string) => mkdirSync(pathOf(dir))],
    ])("is put aside by a look where it is %s", async (_, place) => {
      const { dir, blobs } = await withTrashed();
      place(dir);
      expect(await blobs.stat(ref)).toMatchObject({ size: bytes.length });
      expect(await blobs.get(ref)).toEqual(bytes);
      expect(readdirSync(join(dir, "quarantine")).length).toBe(1);
    });

    test("stays where it is the blob and what is in the trash was cut", async () => {
      const { dir, blobs } = await withTrashed();
      await blobs.put(bytes);
      const [name = ""] = readdirSync(join(dir, "trash"));
      chmodSync(join(dir, "trash", name), 0o600);
      writeFileSync(join(dir, "trash", name), "cut");
      expect(await blobs.backend.trash.restore(ref)).toBe(true);
      expect(await blobs.get(ref)).toEqual(bytes);
      expect(readdirSync(join(dir, "trash"))).toEqual([]);
    });
  });

  test("stays where it took the place of what was found corrupt", async () => {
    const dir = temporaryDirectory();
    const blobs = fileBlobStore({ dir });
    await blobs.put(bytes);
    chmodSync(pathOf(dir), 0o600);
    writeFileSync(pathOf(dir), "what is not");
    const reading = await blobs.backend.read(ref);
    for await (const chunk of reading?.bytes ?? []) expect(chunk).not.toEqual(bytes);
    // Another process found it too, and it was put again since.
    await blobs.get(ref).catch(() => undefined);
    await blobs.put(bytes);
    expect(await reading?.quarantine?.()).toBeUndefined();
    expect(await blobs.get(ref)).toEqual(bytes);
    expect(readdirSync(join(dir, "quarantine")).length).toBe(1);
  });
});

describe("a large blob that a collection takes before the first byte was read", () => {
  test.each(["sharded", "flat"] as const)("comes back, in a layout that is %s", async (layout) => {
    const dir = temporaryDirectory();
    const blobs = fileBlobStore({ dir, layout, durability: "os" });
    const stat = await blobs.put(large, { mediaType: "image/png" });
    const stream = await blobs.stream(stat.ref);
    expect(await blobs.backend.trash.take(stat)).toBe(true);
    const read: Uint8Array[] = [];
    for await (const chunk of stream ?? []) read.push(chunk);
    expect(Buffer.concat(read).equals(large)).toBe(true);
    // What is nowhere any more is still a failure.
    const other = await blobs.stream(stat.ref);
    await blobs.delete(stat.ref);
    await expect(other?.[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: "STORAGE_FAILED" });
  });
});

describe("a duplicate", () => {
  // @covers R61
  test("is touched, and costs no writing", async () => {
    const dir = temporaryDirectory();
    const names: string[] = [];
    const blobs = fileBlobStoreOn(
      hookedFileSystem(({ name, args }) => void names.push(name === "open" ? String(args[1]) : name)),
      { dir },
    );
    await blobs.put(bytes);
    utimesSync(pathOf(dir), 1, 1);
    names.length = 0;
    const before = fileClock();
    const { touchedAt } = await blobs.put(bytes);
    expect(touchedAt).toBeGreaterThan(before - 10_000);
    expect(names).not.toContain("createReadOnly");
    // It lasts as what was written by this put would.
    expect(names.filter((name) => /sync/i.test(name) && !/readSync/.test(name))).toEqual([
      "file.sync",
      "syncDirectory",
    ]);
  });

  test("that was truncated is mended", async () => {
    const dir = temporaryDirectory();
    const blobs = fileBlobStore({ dir });
    for (const source of [bytes, large]) {
      await blobs.put(source);
      const path = pathOf(dir, digest(source));
      chmodSync(path, 0o600);
      writeFileSync(path, source.subarray(0, 5));
      await blobs.put(source);
      expect((await blobs.get(digest(source)))?.length).toBe(source.length);
    }
  });

  test("that was damaged in place is healed, also with no room left for a copy beside it", async () => {
    const dir = temporaryDirectory();
    await fileBlobStore({ dir }).put(large);
    const full = fileBlobStore({ dir, quota: large.length });
    for (const at of [0, large.length >> 1, large.length - 1]) {
      const path = pathOf(dir, digest(large));
      chmodSync(path, 0o600);
      writeFileSync(path, large.with(at, 8));
      await full.put(large);
      expect(readFileSync(path).equals(large)).toBe(true);
    }
    const { ino } = statSync(pathOf(dir, digest(large)));
    await full.put(large);
    expect(statSync(pathOf(dir, digest(large))).ino).toBe(ino);
  });

  test("that cannot be read is written anew", async () => {
    const dir = temporaryDirectory();
    await fileBlobStore({ dir }).put(bytes);
    const { ino } = statSync(pathOf(dir));
    const disk = hookedFileSystem(({ name }) => {
      // store.json is read before it.
      if (name === "file.readSync" && existsSync(join(dir, "failing"))) throw systemError("EIO");
    });
    const blobs = fileBlobStoreOn(disk, { dir });
    await blobs.put(large);
    writeFileSync(join(dir, "failing"), "");
    await blobs.put(bytes);
    rmSync(join(dir, "failing"));
    expect(statSync(pathOf(dir)).ino).not.toBe(ino);
    expect(await blobs.get(ref)).toEqual(bytes);
  });

  test("that is replaced while it is read is read to its end", async () => {
    const dir = temporaryDirectory();
    const blobs = fileBlobStore({ dir });
    const huge = new Uint8Array(4_000_000).fill(9);
    const { ref: name } = await blobs.put(huge);
    const read: Uint8Array[] = [];
    for await (const chunk of (await blobs.stream(name)) ?? []) {
      if (read.push(chunk) === 1) await blobs.put(huge);
    }
    expect(Buffer.concat(read).equals(huge)).toBe(true);
  });

  test("is made to last by a store on disk although it was put by one that did not promise so", async () => {
    const dir = temporaryDirectory();
    await fileBlobStore({ dir, durability: "os" }).put(bytes);
    const synced: string[] = [];
    const disk = hookedFileSystem(({ name }) => void (isSync(name) && synced.push(name)));
    await fileBlobStoreOn(disk, { dir }).put(bytes);
    expect(synced.slice(0, 2)).toEqual(["file.sync", "syncDirectory"]);
  });

  test("whose sync fails is written anew", async () => {
    const dir = temporaryDirectory();
    await fileBlobStore({ dir }).put(bytes);
    const { ino } = statSync(pathOf(dir));
    let failed = false;
    const disk = hookedFileSystem(({ name }) => {
      if (name !== "file.sync" || failed) return;
      failed = true;
      throw systemError("EIO");
    });
    await fileBlobStoreOn(disk, { dir }).put(bytes);
    expect(statSync(pathOf(dir)).ino).not.toBe(ino);
    expect(readFileSync(pathOf(dir))).toEqual(Buffer.from(bytes));
  });
});

describe("a put", () => {
  test('of a store "os" waits for no disk', async () => {
    const dir = temporaryDirectory();
    const disk = hookedFileSystem(({ name }) => {
      if (isSync(name)) throw systemError("EIO");
    });
    const blobs = fileBlobStoreOn(disk, { dir, durability: "os" });
    await blobs.put(bytes);
    await blobs.put(streamOf(large));
    await blobs.put(bytes);
    expect((await blobs.verify()).checked.count).toBe(2);
  });

  test("goes on with a write that took only some of the bytes", async () => {
    const dir = temporaryDirectory();
    const disk = hookedFileSystem(
      () => undefined,
      (file) => ({
        append: (chunk) => file.append(chunk.subarray(0, 7)),
        appendAsync: (chunk) => file.appendAsync(chunk.subarray(0, 33_333)),
      }),
    );
    const blobs = fileBlobStoreOn(disk, { dir });
    await blobs.put(bytes);
    await blobs.put(large);
    expect(await fileBlobStore({ dir }).verify()).toMatchObject({ checked: { count: 2 }, corrupt: [] });
  });

  // @covers durability:short-write
  test("of which a write lost bytes has failed, and leaves nothing", async () => {
    for (const source of [bytes, large, streamOf(large)]) {
      const dir = temporaryDirectory();
      await fileBlobStore({ dir }).put(new Uint8Array(1));
      const lying = hookedFileSystem(
        () => undefined,
        (file) => ({
          append: (chunk) => file.append(chunk.subarray(1)) + 1,
          appendAsync: async (chunk) => (await file.appendAsync(chunk.subarray(1))) + 1,
        }),
      );
      await expect(fileBlobStoreOn(lying, { dir }).put(source)).rejects.toMatchObject({
        code: "STORAGE_FAILED",
        details: { errno: "EIO" },
      });
      expect(filesIn(dir).length).toBe(2);
    }
  });

  test("whose sync fails has failed, is not tried again, and leaves nothing", async () => {
    for (const source of [bytes, large]) {
      const dir = temporaryDirectory();
      await fileBlobStore({ dir }).put(new Uint8Array(1));
      let syncs = 0;
      const disk = hookedFileSystem(({ name }) => {
        if (name !== "file.sync") return;
        syncs++;
        throw systemError("EIO");
      });
      await expect(fileBlobStoreOn(disk, { dir }).put(source)).rejects.toMatchObject({
        code: "STORAGE_FAILED",
        details: { errno: "EIO", path: dir },
      });
      expect(syncs).toBe(1);
      expect(filesIn(dir).length).toBe(2);
    }
  });

  test("whose early sync fails has failed, though a later one would succeed", async () => {
    const dir = temporaryDirectory();
    const syncs: string[] = [];
    const disk = hookedFileSystem(({ name }) => {
      if (!isSync(name)) return;
      syncs.push(name);
      if (name === "file.syncInBackground" && syncs.length === 1) throw systemError("EIO");
    });
    await plain(dir).put(new Uint8Array(1));
    for (const source of [large, streamOf(large)]) {
      syncs.length = 0;
      await expect(fileBlobStoreOn(disk, { dir }).put(source)).rejects.toMatchObject({
        code: "STORAGE_FAILED",
        details: { errno: "EIO" },
      });
      expect(syncs).not.toContain("file.sync");
      expect(filesIn(dir).length).toBe(2);
    }
  });

  test("makes the store again where somebody removed it", async () => {
    const dir = temporaryDirectory();
    const blobs = fileBlobStore({ dir });
    await blobs.put(bytes);
    rmSync(dir, { recursive: true });
    await blobs.put(bytes);
    expect(await blobs.get(ref)).toEqual(bytes);
    rmSync(dirname(pathOf(dir)), { recursive: true });
    await blobs.put(bytes);
    expect(await blobs.get(ref)).toEqual(bytes);
    expect(existsSync(join(dir, "store.json"))).toBe(true);
  });

  const manyAtOnce: readonly (readonly [
    string,
    (index: number) => Uint8Array | AsyncIterable<Uint8Array>,
  ])[] = [
    ["small", (index) => new Uint8Array(index)],
    ["large", (index) => new Uint8Array(300_000 + index)],
    ["streamed", (index) => streamOf(new Uint8Array(300_000 + index))],
  ];
  test.each(manyAtOnce)("of many at once that are %s holds few descriptors", async (_, source) => {
    const dir = temporaryDirectory();
    let open = 0;
    let most = 0;
    const disk = hookedFileSystem(
      ({ name }) => {
        if (name === "file.close") open--;
      },
      () => {
        most = Math.max(most, ++open);
        return {};
      },
    );
    const blobs = fileBlobStoreOn(disk, { dir });
    await Promise.all(Array.from({ length: 300 }, (_, index) => blobs.put(source(index))));
    expect(open).toBe(0);
    expect(most).toBeGreaterThan(4);
    expect(most).toBeLessThan(40);
  });

  test("waits for no put that waits for it", async () => {
    const blobs = plain(temporaryDirectory());
    const outer = 40;
    let begun = 0;
    let go: () => void = () => undefined;
    const some = new Promise<void>((resolve) => (go = resolve));
    const puts = Array.from({ length: outer }, (_, index) =>
      blobs.put(
        (async function* () {
          yield new Uint8Array(300_000).fill(index);
          if (++begun === 32) go();
          await some;
          yield new TextEncoder().encode((await blobs.put(new Uint8Array(400_000 + index))).ref);
        })(),
      ),
    );
    const stats = await Promise.all(puts);
    expect(new Set(stats.map((stat) => stat.ref)).size).toBe(outer);
  });

  test("of a long stream holds little of it", async () => {
    const blobs = fileBlobStore({ dir: temporaryDirectory(), durability: "os" });
    const chunk = new Uint8Array(1 << 20);
    const chunks = 96;
    let most = 0;
    const before = process.memoryUsage().arrayBuffers;
    const source = async function* () {
      for (let at = 0; at < chunks; at++) {
        chunk.fill(at);
        yield chunk;
        most = Math.max(most, process.memoryUsage().arrayBuffers - before);
      }
    };
    const { size } = await blobs.put(source());
    expect(size).toBe(chunks << 20);
    expect(most).toBeLessThan(8 << 20);
  });
});

describe("any one call that fails", () => {
  const sources: Readonly<Record<string, () => Uint8Array | AsyncIterable<Uint8Array>>> = {
    "few bytes": () => bytes,
    "many bytes": () => large,
    "a stream": () => streamOf(large),
  };
  const cases = Object.entries(sources).map(([what, source]) => ({
    what,
    errno: what === "few bytes" ? "EACCES" : "ENOSPC",
    source,
  }));

  test.each(cases)(
    "in a put of $what with $errno leaves nothing that is wrong, and the next put succeeds",
    async ({ source, errno }) => {
      const name = source() === bytes ? ref : digest(large);
      for (const already of [false, true]) {
        for (let at = 0; ; at++) {
          const dir = temporaryDirectory();
          if (already) await plain(dir).put(source());
          let reached = false;
          const disk = hookedFileSystem((call) => {
            reached ||= call.number === at;
            // Where what was begun cannot be removed either, a collection does it.
            if (call.number === at && call.name !== "unlink") throw systemError(errno);
          });
          const blobs = fileBlobStoreOn(disk, { dir });
          const outcome = await blobs.put(source()).then(
            () => "stored",
            (error: unknown) => error,
          );
          if (!reached) {
            expect(outcome).toBe("stored");
            expect(at).toBeGreaterThan(8);
            break;
          }
          if (outcome !== "stored") {
            expect(outcome).toMatchObject({ code: "STORAGE_FAILED", details: { errno } });
            // A descriptor that could not be closed, and a name that could not be made to last, are all that may be left.
            const got = await plain(dir).get(name);
            if (got !== undefined) expect(digest(got)).toBe(name);
          } else {
            expect(digest((await plain(dir).get(name)) as Uint8Array)).toBe(name);
          }
          expect(readdirSync(dir).includes("tmp") ? readdirSync(join(dir, "tmp")) : []).toEqual([]);
          await blobs.put(source());
          expect(digest((await plain(dir).get(name)) as Uint8Array)).toBe(name);
          expect((await blobs.verify()).corrupt).toEqual([]);
        }
      }
    },
  );

  test("in a get is STORAGE_FAILED, and never other bytes", async () => {
    const dir = temporaryDirectory();
    await plain(dir).put(bytes);
    await plain(dir).put(large);
    for (const [source, name] of [
      [bytes, ref],
      [large, digest(large)],
    ] as const) {
      for (let at = 0; ; at++) {
        let failed = false;
        const disk = hookedFileSystem(({ number, name: call }) => {
          if (number !== at || call === "file.close") return;
          failed = true;
          throw systemError("EIO");
        });
        const outcome = await fileBlobStoreOn(disk, { dir })
          .get(name)
          .catch((error: unknown) => error);
        if (outcome instanceof Uint8Array) expect(digest(outcome)).toBe(name);
        else expect(outcome).toMatchObject({ code: "STORAGE_FAILED", details: { errno: "EIO" } });
        if (!failed && at > 10) break;
        expect(existsSync(pathOf(dir, digest(source)))).toBe(true);
      }
    }
  });
});

describe("a process that dies before any one call", () => {
  test.each([
    ["few bytes", () => bytes, ref],
    ["a stream", () => streamOf(large), digest(large)],
  ] as const)(
    "of a put of %s leaves nothing that is wrong, and what it leaves is cleaned",
    async (_, source, name) => {
      for (let at = 0; ; at++) {
        const dir = temporaryDirectory();
        let died = false;
        const disk = hookedFileSystem(({ number }) => {
          died ||= number >= at;
          if (died) throw systemError("EKILLED");
        });
        await fileBlobStoreOn(disk, { dir })
          .put(source())
          .catch(() => undefined);
        if (!died) break;
        const blobs = plain(dir);
        const got = await blobs.get(name);
        if (got !== undefined) expect(digest(got)).toBe(name);
        expect(await blobs.verify()).toMatchObject({ corrupt: [] });
        await blobs.put(source());
        expect(digest((await blobs.get(name)) as Uint8Array)).toBe(name);
        const left = readdirSync(join(dir, "tmp")).length;
        const marks = [{ root: "log", refs: [name], complete: true }];
        // The process that left them is this one, and runs: they get a day more.
        const report = await collectGarbage(blobs, { marks, now: () => fileClock() + 15.5 * 86_400_000 });
        expect(report.leftovers.count).toBe(left);
        expect(readdirSync(join(dir, "tmp"))).toEqual([]);
      }
    },
  );
});
