import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { blobsAreKept, sessionIsKept } from "./acknowledged.js";
import { type Actor, useActors } from "./acting.js";
import { needs } from "./needs.js";
import { trace } from "./strace.js";

const startActor = useActors();
let base = "";
beforeAll(() => {
  base = mkdtempSync(join(tmpdir(), "sessile-failing-"));
});
afterAll(() => rmSync(base, { recursive: true, force: true }));

/** An actor with a session and a blob, on a disk that fails from now on. */
async function prepared(
  inject: string,
  path?: string,
): Promise<{ readonly dir: string; readonly actor: Actor }> {
  const dir = mkdtempSync(join(base, "store-"));
  const actor = await startActor(dir);
  for (const line of await actor.act("create s", "put old", "wait 50")) expect(line).toMatch(/^did /);
  const calls = [inject.slice(0, inject.indexOf(":"))];
  await trace(actor.pid, { threads: "all", calls, inject, ...(path === undefined ? {} : { path }) });
  return { dir, actor };
}

/** Where the log of an actor's session is. */
function logOf(dir: string): string {
  const project = join(dir, "sessions", "--p--");
  const [name = ""] = readdirSync(project).filter((file) => file.endsWith(".jsonl"));
  return join(project, name);
}

describe("row 9: a disk that fails to confirm once", () => {
  needs("ptrace");

  // @covers durability:fsync-fails durability:unacknowledged
  test("an append is not acknowledged, nor is any after it, until the session is opened again", async () => {
    for (const when of [1, 2]) {
      const { dir, actor } = await prepared(`fdatasync:error=EIO:when=${when}`);
      const said = await actor.act("append a", "append b", "batch c", "append d", "close");
      const poisoned = (step: string) => `failed ${step} WRITER_POISONED the disk did not confirm a write`;
      const expected = ["append", "append", "batch", "append"].map((step, at) =>
        at < when - 1 ? expect.stringMatching(/^did /) : poisoned(step),
      );
      expect(said.slice(0, 4)).toEqual(expected);
      expect((await actor.act("open s", "append e", "close")).map((line) => line.slice(0, 4))).toEqual([
        "did ",
        "did ",
        "did ",
      ]);
      expect(await actor.end()).toBe(0);
      expect(actor.entries.length).toBe(2 + (when - 1) + 1);
      expect(await sessionIsKept(dir, "s", actor.entries)).toEqual([]);
    }
  });

  // @covers durability:fsync-fails
  test("a session of which a file or a folder was not confirmed is not acknowledged", async () => {
    // The file, its folder, and those on the way to it.
    for (const inject of [
      "fdatasync:error=EIO:when=1",
      ...[1, 2, 3, 4].map((when) => `fsync:error=EIO:when=${when}`),
    ]) {
      const dir = mkdtempSync(join(base, "store-"));
      const actor = await startActor(join(dir, "new"));
      await trace(actor.pid, { threads: "all", calls: ["fsync", "fdatasync"], inject });
      expect(await actor.act("create s", "append more")).toEqual([
        "failed create WRITER_POISONED the disk did not confirm a write",
        "failed append WRITER_POISONED the disk did not confirm a write",
      ]);
      expect(await actor.end()).toBe(0);
      expect(actor.entries).toEqual([]);
    }
  });

  // @covers durability:fsync-fails
  test("a torn end that could not be mended is not written behind", async () => {
    for (const when of [1, 2, 3]) {
      const { dir, actor } = await prepared(`fdatasync:error=EIO:when=${when}`);
      appendFileSync(logOf(dir), '{"type":"mess');
      const said = await actor.act("open s", "append a", "append b", "close", "open s", "append c", "close");
      expect(said.filter((line) => line.startsWith("failed ")).length).toBeGreaterThan(0);
      expect(said.at(-2)).toMatch(/^did append/);
      expect(await actor.end()).toBe(0);
      expect(await sessionIsKept(dir, "s", actor.entries)).toEqual([]);
    }
  });

  // @covers durability:fsync-fails
  test("a put is not acknowledged, leaves nothing behind, and is made anew", async () => {
    for (const step of ["put new", "put large*90000", "stream long*300000"]) {
      for (const call of ["fdatasync", "fsync"]) {
        const { dir, actor } = await prepared(`${call}:error=EIO:when=1`);
        const [first = ""] = await actor.act(step);
        expect(first).toBe(`failed ${step.split(" ")[0]} STORAGE_FAILED EIO`);
        expect(readdirSync(join(dir, "blobs", "tmp"))).toEqual([]);
        // Each thread that waits for the disk counts its calls, and fails once.
        for (let tries = 0; actor.blobs.length === 1 && tries < 2; tries++) await actor.act(step);
        expect(actor.blobs.length).toBe(2);
        expect(await actor.end()).toBe(0);
        await blobsAreKept(dir, actor.blobs);
      }
    }
  });
});

describe("row 9: a file system that refuses with a number Node has no name for", () => {
  needs("ptrace");

  test.each(["EDQUOT", "ESTALE", "EUCLEAN"])(
    "%s is told by its name, and the next call succeeds",
    async (errno) => {
      const dir = mkdtempSync(join(base, "store-"));
      const actor = await startActor(dir);
      for (const line of await actor.act("create s", "append held")) expect(line).toMatch(/^did /);
      const inject = `write:error=${errno}:when=1`;
      await trace(actor.pid, { threads: "all", calls: ["write"], inject, path: logOf(dir) });
      expect(await actor.act("append a", "append b")).toEqual([
        `failed append STORAGE_FAILED ${errno}`,
        expect.stringMatching(/^did append/),
      ]);
      expect(await actor.end()).toBe(0);
      expect(await sessionIsKept(dir, "s", actor.entries)).toEqual([]);
    },
  );
});

/** Writes that the system says were made, and were not: of all of their bytes, or of some. */
const lies = ["retval=3", "retval=500", "retval=40"];

describe("row 10: a write that reports success and lost bytes", () => {
  needs("ptrace");

  // @covers durability:short-write durability:short-write-rest
  test("of the log is noticed: nothing is acknowledged from then on", async () => {
    for (const lie of lies) {
      const dir = mkdtempSync(join(base, "store-"));
      const actor = await startActor(dir);
      await actor.act("create s", "wait 50");
      const path = logOf(dir);
      const before = readFileSync(path);
      await trace(actor.pid, { threads: "all", calls: ["write"], inject: `write:${lie}:when=2`, path });
      const said = await actor.act("append a", "append b", "append c", "close");
      const poisoned = "failed append WRITER_POISONED the written bytes are not in the file";
      expect(said.slice(0, 3)).toEqual([expect.stringMatching(/^did append/), poisoned, poisoned]);
      expect(await actor.end()).toBe(0);
      expect(readFileSync(path).subarray(0, before.length).equals(before)).toBe(true);
      // What the lie left is one bad line, or none.
      expect(["", "INVALID_JSON"]).toContain((await sessionIsKept(dir, "s", actor.entries)).join());
    }
  });

  /**
   * What a process says of two equal acts, the first of which makes a write that lies. The process also wakes
   * its own loop by a write: a lie about that one says nothing of the store, and another process is asked.
   */
  async function saidAfterLie(lie: string, before: string, act: string): Promise<readonly string[]> {
    for (let tries = 0; tries < 10; tries++) {
      const dir = mkdtempSync(join(base, "store-"));
      const actor = await startActor(dir);
      await actor.act(before);
      const inject = `write:${lie}:when=1`;
      const traced = await trace(actor.pid, { threads: "main", calls: ["write"], inject });
      const said = await actor.act(act, act);
      await traced.stop();
      const [first = ""] = await traced.calls;
      if (/"\\1(?:\\0)+"/.test(first)) continue;
      expect(await actor.end()).toBe(0);
      await blobsAreKept(dir, actor.blobs);
      return said;
    }
    return [];
  }

  // @covers durability:short-write
  test("of a blob is noticed: it is not stored", async () => {
    for (const step of ["put new", "put large*90000"])
      for (const lie of ["retval=3", "retval=1000000"])
        expect(await saidAfterLie(lie, "put old", step)).toEqual([
          "failed put STORAGE_FAILED EIO",
          expect.stringMatching(/^did put/),
        ]);
  });

  // @covers durability:short-write
  test("of the file that says how blobs are laid out is noticed: nothing is stored", async () => {
    for (const lie of ["retval=3", "retval=1000000"])
      expect(await saidAfterLie(lie, "wait 50", "put new")).toEqual([
        "failed put STORAGE_FAILED EIO",
        expect.stringMatching(/^did put/),
      ]);
  });
});
