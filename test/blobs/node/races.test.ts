import { existsSync, readFileSync, renameSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import type { BlobStat } from "sessile";
import { fileBlobStore } from "sessile/node";
import { describe, expect, test } from "vitest";
import { nodeFileSystem } from "../../../src/core/node/node-file-system.js";
import { sharded } from "../../../src/storage/files/blobs/layout.js";
import { fileBlobStoreOn, StoreDirectory } from "../../../src/storage/files/blobs/store-directory.js";
import { touchBlob } from "../../../src/storage/files/blobs/touch.js";
import { moveToTrash } from "../../../src/storage/files/blobs/trash.js";
import { temporaryDirectory } from "../../session/node/temporary-directory.js";
import { hookedFileSystem } from "../../support/hooked-file-system.js";

// One does all of its work between two calls of the other, at every such place: what two processes do to each other that
// the scheduler of one process cannot show.

const bytes = new Uint8Array([1, 2, 3]);
/** So many are written aside first, and replace what is there. */
const many = new Uint8Array(300_000).fill(4);

interface Old {
  readonly dir: string;
  readonly stat: BlobStat;
  readonly path: string;
  readonly inTrash: string;
}

/** A store with a blob whose grace has run out. */
async function withOldBlob(of = bytes): Promise<Old> {
  const dir = temporaryDirectory();
  const blobs = fileBlobStore({ dir, durability: "os" });
  const { ref } = await blobs.put(of);
  const hex = ref.slice(7);
  const path = join("blobs", "sha256", hex.slice(0, 2), hex);
  utimesSync(join(dir, path), 1000, 1000);
  return { dir, path, stat: (await blobs.stat(ref)) as BlobStat, inTrash: join("trash", `sha256-${hex}`) };
}

/** Runs something before each call in turn, each time on a fresh store, until there is no such call. */
async function atEveryCall(
  run: (old: Old, step: (call: number) => void) => Promise<void>,
  inner: (old: Old) => void,
  of = bytes,
): Promise<number> {
  for (let at = 0; ; at++) {
    const old = await withOldBlob(of);
    let reached = false;
    await run(old, (call) => {
      if (call !== at) return;
      reached = true;
      inner(old);
    });
    if (!reached) return at;
  }
}

function take({ dir, path, inTrash, stat }: Old): boolean {
  return moveToTrash(new StoreDirectory(dir, nodeFileSystem, sharded, "os"), path, inTrash, stat.touchedAt);
}

describe("a collection in the middle of", () => {
  test.each([
    ["few", bytes],
    ["many", many],
  ])("a put of the same bytes never takes what was acknowledged, of %s bytes", async (_, of) => {
    const run = async (old: Old, step: (call: number) => void) => {
      const blobs = fileBlobStoreOn(
        hookedFileSystem(({ number }) => step(number)),
        { dir: old.dir },
      );
      const { ref, touchedAt } = await blobs.put(of);
      // In the store itself, not only in the trash from where a get would bring it back.
      expect(readFileSync(join(old.dir, old.path)).equals(of)).toBe(true);
      expect(statSync(join(old.dir, old.path)).mtimeMs).toBeGreaterThan(1_000_000);
      expect(await blobs.stat(ref)).toEqual({ ref, size: of.length, touchedAt });
      expect((await blobs.get(ref))?.length).toBe(of.length);
    };
    expect(await atEveryCall(run, take, of)).toBeGreaterThan(8);
  });

  test("a put that replaces is later than what it replaces, also within one tick of the clock", async () => {
    const old = await withOldBlob(many);
    const blobs = fileBlobStore({ dir: old.dir, durability: "os" });
    const ahead = Date.now() / 1000 + 3600;
    utimesSync(join(old.dir, old.path), ahead, ahead);
    const seen = (await blobs.stat(old.stat.ref)) as BlobStat;
    expect((await blobs.put(many)).touchedAt).toBeGreaterThan(seen.touchedAt);
    expect(await blobs.backend.trash.take(seen)).toBe(false);
  });

  test("a touch never takes what the touch has found", async () => {
    let found = 0;
    await atEveryCall(async (old, step) => {
      const blobs = fileBlobStoreOn(
        hookedFileSystem(({ number }) => step(number)),
        { dir: old.dir },
      );
      const touched = await blobs.touch(old.stat.ref);
      if (touched === undefined) return;
      found++;
      expect(existsSync(join(old.dir, old.path))).toBe(true);
      expect(await blobs.get(old.stat.ref)).toEqual(bytes);
    }, take);
    expect(found).toBeGreaterThan(4);
  });

  test("a get gives the whole blob", async () => {
    await atEveryCall(async (old, step) => {
      const blobs = fileBlobStoreOn(
        hookedFileSystem(({ number }) => step(number)),
        { dir: old.dir },
      );
      expect(await blobs.get(old.stat.ref)).toEqual(bytes);
    }, take);
  });
});

describe("in the middle of a collection", () => {
  // Both do all that matters before they first wait for anything.
  const ways: Readonly<Record<string, (old: Old) => Promise<unknown>>> = {
    put: ({ dir, stat }) => fileBlobStore({ dir, durability: "os" }).backend.write(stat.ref, bytes, {}),
    touch: ({ dir, path }) => touchBlob(new StoreDirectory(dir, nodeFileSystem, sharded, "os"), path),
  };

  test.each(Object.entries(ways))("a %s is never lost", async (way, act) => {
    let taken = 0;
    let pending: Promise<unknown> | undefined;
    const calls = await atEveryCall(
      async (old, step) => {
        pending = undefined;
        const disk = hookedFileSystem(({ number }) => step(number));
        const directory = new StoreDirectory(old.dir, disk, sharded, "os");
        const wasTaken = moveToTrash(directory, old.path, old.inTrash, old.stat.touchedAt);
        if (wasTaken && pending !== undefined) taken++;
        const wasFound = (await pending) !== undefined;
        if (wasFound) expect(existsSync(join(old.dir, old.path))).toBe(true);
        expect(wasFound || way === "touch" || pending === undefined).toBe(true);
        expect(await fileBlobStore({ dir: old.dir }).get(old.stat.ref)).toEqual(bytes);
      },
      (old) => {
        pending = act(old);
      },
    );
    expect(calls).toBeGreaterThan(3);
    // Only where all of it was too late.
    expect(taken).toBe(1);
  });
});

describe("a collection", () => {
  test("goes on where another brings back what it has just moved", async () => {
    const old = await withOldBlob();
    const looks = { count: 0 };
    const disk = hookedFileSystem(({ name }) => {
      // The second look is at the file in the trash.
      if (name !== "lstat" || ++looks.count < 2) return;
      renameSync(join(old.dir, old.inTrash), join(old.dir, old.path));
    });
    const directory = new StoreDirectory(old.dir, disk, sharded, "os");
    expect(moveToTrash(directory, old.path, old.inTrash, old.stat.touchedAt)).toBe(false);
    expect(readFileSync(join(old.dir, old.path))).toEqual(Buffer.from(bytes));
  });
});

describe("touchBlob", () => {
  test("does not find a file that was moved while it was touched", async () => {
    const old = await withOldBlob();
    let isMoved = false;
    const disk = hookedFileSystem(({ name }) => {
      // Between the opening of the file and the setting of its time, a collection moves it and sees the old one.
      if (name !== "file.setTime" || isMoved) return;
      isMoved = true;
      expect(take(old)).toBe(true);
    });
    const directory = new StoreDirectory(old.dir, disk, sharded, "os");
    expect(await touchBlob(directory, old.path)).toBeUndefined();
  });

  const roundings: Readonly<Record<string, (ms: number) => number>> = {
    "to whole milliseconds": Math.floor,
    "to whole seconds": (ms) => Math.floor(ms / 1000) * 1000,
    "to the second before": (ms) => (ms % 1 === 0 ? ms : ms - 1000),
  };

  test.each(Object.entries(roundings))("shows where the runtime rounds times %s", async (_, rounded) => {
    const old = await withOldBlob();
    const disk = hookedFileSystem(
      () => undefined,
      (file) => ({ setTime: (ms) => file.setTime(rounded(ms)) }),
    );
    const directory = new StoreDirectory(old.dir, disk, sharded, "os");
    let last = (await touchBlob(directory, old.path))?.touchedAt ?? 0;
    for (let i = 0; i < 20; i++) {
      const touchedAt = (await touchBlob(directory, old.path))?.touchedAt ?? 0;
      expect(touchedAt).toBeGreaterThan(last);
      last = touchedAt;
    }
  });

  // @covers durability:clock
  test("shows although the clock stands still, or is behind", async () => {
    const old = await withOldBlob();
    const directory = new StoreDirectory(old.dir, nodeFileSystem, sharded, "os");
    const ahead = Date.now() / 1000 + 3600;
    utimesSync(join(old.dir, old.path), ahead, ahead);
    let last = statSync(join(old.dir, old.path)).mtimeMs;
    for (let i = 0; i < 20; i++) {
      const renewed = await touchBlob(directory, old.path);
      expect(renewed?.touchedAt).toBeGreaterThan(last);
      last = renewed?.touchedAt ?? 0;
    }
  });
});
