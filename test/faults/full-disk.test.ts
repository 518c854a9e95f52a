import { closeSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileSessionStore } from "sessile/node";
import { describe, expect, test } from "vitest";
import { blobsAreKept, sessionIsKept } from "./acknowledged.js";
import { useActors } from "./acting.js";
import { fill } from "./fill.js";
import { useMounts } from "./mounts.js";
import { needs } from "./needs.js";

const startActor = useActors();
const mounts = useMounts();
/** Takes all inodes of a disk but so many; gives what gives them back. */
function takeInodes(dir: string, left: number): () => void {
  const taken: string[] = [];
  try {
    for (;;) {
      const path = join(dir, `inode-${taken.length}`);
      closeSync(openSync(path, "wx"));
      taken.push(path);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  }
  for (const path of taken.splice(taken.length - left)) rmSync(path);
  return () => {
    for (const path of taken) rmSync(path);
  };
}

/** The one session file below a directory of an actor. */
function logBytes(dir: string): Buffer {
  const project = join(dir, "sessions", "--p--");
  const [name = ""] = readdirSync(project).filter((file) => file.endsWith(".jsonl"));
  return readFileSync(join(project, name));
}

describe("row 7: a disk that is full in the middle of a line, and has space again", () => {
  needs("root", "mount");

  // @covers durability:disk-full
  test("an append fails whole, the log is as it was, and the same handle goes on", async () => {
    const dir = mounts.tmpfs("size=1m");
    const actor = await startActor(dir);
    expect(await actor.act("create s")).toEqual([expect.stringMatching(/^did create/)]);
    for (const pagesLeft of [0, 1, 2, 3, 5, 9]) {
      const before = logBytes(dir);
      const empty = fill(dir, pagesLeft);
      expect(await actor.act("batch x")).toEqual(["failed batch STORAGE_FAILED ENOSPC"]);
      expect(logBytes(dir).equals(before)).toBe(true);
      // What fits is taken, and reading needs no space.
      const reading = await fileSessionStore({ dir: join(dir, "sessions") }).open("s");
      expect((await reading.context()).items.length).toBeGreaterThan(1);
      await reading.close();
      if (pagesLeft > 2) expect((await actor.act("append small"))[0]).toMatch(/^did append/);
      empty();
      expect((await actor.act("batch x"))[0]).toMatch(/^did batch/);
    }
    await actor.act("close");
    expect(await actor.end()).toBe(0);
    expect(actor.entries.length).toBe(2 + 6 * 3 + 3);
    expect(await sessionIsKept(dir, "s", actor.entries)).toEqual([]);
  });

  // @covers durability:disk-full
  test("a session that cannot be made leaves nothing, and is made when there is space", async () => {
    const dir = mounts.tmpfs("size=1m");
    const actor = await startActor(dir);
    for (const pagesLeft of [0, 1]) {
      const empty = fill(dir, pagesLeft);
      expect((await actor.act("create s", "wait 100"))[0]).toBe("failed create STORAGE_FAILED ENOSPC");
      expect(readdirSync(dir, { recursive: true }).filter((name) => String(name).includes(".jsonl"))).toEqual(
        [],
      );
      empty();
    }
    expect((await actor.act("create s", "close"))[0]).toMatch(/^did create/);
    expect(await actor.end()).toBe(0);
    expect(await sessionIsKept(dir, "s", actor.entries)).toEqual([]);
  });

  // @covers durability:disk-full
  test("a put fails whole, what is stored stays, and the same store goes on", async () => {
    const dir = mounts.tmpfs("size=1m");
    const actor = await startActor(dir);
    expect((await actor.act("put old"))[0]).toMatch(/^did put/);
    for (const pagesLeft of [0, 1, 4, 16]) {
      const empty = fill(dir, pagesLeft);
      expect(await actor.act("put large*90000", "stream long*300000")).toEqual([
        "failed put STORAGE_FAILED ENOSPC",
        "failed stream STORAGE_FAILED ENOSPC",
      ]);
      expect(readdirSync(join(dir, "blobs", "tmp"))).toEqual([]);
      // Bytes that are there already need no space.
      expect((await actor.act("put old"))[0]).toMatch(/^did put/);
      empty();
    }
    const said = await actor.act("put large*90000", "stream long*300000");
    expect(said.map((line) => line.slice(0, 4))).toEqual(["did ", "did "]);
    expect(await actor.end()).toBe(0);
    await blobsAreKept(dir, actor.blobs);
  });
});

describe("row 8: a disk without inodes", () => {
  needs("root", "mount");

  // @covers durability:disk-full
  test("a put fails or succeeds whole, with any number of inodes left", async () => {
    const dir = mounts.tmpfs("size=4m,nr_inodes=200");
    const actor = await startActor(dir);
    expect((await actor.act("put old"))[0]).toMatch(/^did put/);
    const outcomes = new Set<string>();
    for (let left = 0; left < 5; left++) {
      const give = takeInodes(dir, left);
      const [put = "", stream = "", again = ""] = await actor.act(
        `put new${left}`,
        `stream long${left}`,
        "put old",
      );
      for (const line of [put, stream]) {
        expect(line).toMatch(/^did |^failed \w+ STORAGE_FAILED ENOSPC$/);
        outcomes.add(line.slice(0, 4));
      }
      expect(again).toMatch(/^did put/);
      expect(readdirSync(join(dir, "blobs", "tmp"))).toEqual([]);
      give();
    }
    expect([...outcomes].sort()).toEqual(["did ", "fail"]);
    for (const line of await actor.act("put new0", "stream long0")) expect(line).toMatch(/^did /);
    expect(await actor.end()).toBe(0);
    await blobsAreKept(dir, actor.blobs);
  });

  // @covers durability:disk-full
  test("an append and a new session fail or succeed whole, with any number of inodes left", async () => {
    const dir = mounts.tmpfs("size=4m,nr_inodes=60");
    const outcomes = new Set<string>();
    for (let left = 0; left < 7; left++) {
      const inner = join(dir, `store-${left}`);
      const give = takeInodes(dir, left);
      const actor = await startActor(inner);
      const [made = "", more = ""] = await actor.act("create s", "append more");
      expect(made).toMatch(/^did |^failed create STORAGE_FAILED ENOSPC$/);
      expect(more).toMatch(/^did |^failed append STORAGE_FAILED ENOSPC$/);
      outcomes.add(made.slice(0, 4));
      give();
      const [last = ""] = await actor.act("append last", "close");
      expect(last).toMatch(/^did append/);
      expect(await actor.end()).toBe(0);
      expect(await sessionIsKept(inner, "s", actor.entries)).toEqual([]);
      rmSync(inner, { recursive: true });
    }
    expect([...outcomes].sort()).toEqual(["did ", "fail"]);
  });
});
