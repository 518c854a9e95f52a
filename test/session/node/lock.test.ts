import { existsSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { FileSystem } from "../../../src/core/node/file-system.js";
import { nodeFileSystem } from "../../../src/core/node/node-file-system.js";
import { ownIdentity } from "../../../src/core/node/process-identity.js";
import { FileLock, type LockTimes } from "../../../src/storage/files/file-lock.js";
import { useChildren } from "../../faults/start-child.js";
import { fileClock } from "../../support/file-clock.js";
import { SimulatedDisk } from "../../support/simulated-disk.js";
import { temporaryDirectory } from "./temporary-directory.js";

const startChild = useChildren();

afterEach(() => void vi.useRealTimers());

function lockAt(path: string, times: Partial<LockTimes> = {}, disk: FileSystem = nodeFileSystem): FileLock {
  return new FileLock(disk, path, { waitMs: 150, idleMs: 20, remoteLeaseMs: 30_000, ...times });
}

function newPath(): string {
  return join(temporaryDirectory(), "log.jsonl.lock");
}

/** A lock file's text; of this process unless said otherwise. */
function holder(other: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({ ...ownIdentity(), nonce: "other", since: Date.now(), ...other });
}

function putAged(path: string, text: string, ageMs: number): void {
  writeFileSync(path, text);
  const time = (fileClock() - ageMs) / 1000;
  utimesSync(path, time, time);
}

/** A disk with some calls in the place of its own. */
function withCalls(disk: SimulatedDisk, calls: Partial<FileSystem>): FileSystem {
  return new Proxy(disk, {
    get(_, name) {
      const own = calls[name as keyof FileSystem] ?? disk[name as keyof FileSystem];
      return own.bind(disk as never);
    },
  });
}

const poll = { timeout: 30_000, interval: 2 };

describe("a lock file that cannot be removed at once", () => {
  /** What fails is the read-back, or the removal of a claim; and the removal each time as long as `refuses`. */
  function refusing() {
    const disk = new SimulatedDisk();
    disk.mkdir("/dir");
    const state = { refuses: true, reads: 0 };
    const fails = () => {
      throw Object.assign(new Error("EIO"), { code: "EIO" });
    };
    return { disk, state, fails };
  }

  test("and was not taken, since it could not be read back, is free as soon as it can", async () => {
    const { disk, state, fails } = refusing();
    const path = "/dir/log.lock";
    const broken = withCalls(disk, {
      open: (name, mode) => (state.refuses && mode === "read" ? fails() : disk.open(name, mode)),
      unlink: (name) => (state.refuses ? fails() : disk.unlink(name)),
    });
    await expect(lockAt(path, {}, broken).with(() => "never")).rejects.toMatchObject({ code: "EIO" });
    expect(JSON.parse(Buffer.from(disk.bytes(path) ?? []).toString())).toMatchObject({ pid: process.pid });
    // It is tried more than once.
    await new Promise((resolve) => setTimeout(resolve, 250));
    state.refuses = false;
    await vi.waitFor(() => expect(disk.bytes(path)).toBeUndefined(), poll);
    const other = lockAt(path, { waitMs: 0 }, disk);
    expect(await other.with(() => "taken")).toBe("taken");
    // A late try takes nothing from the next holder.
    await new Promise((resolve) => setTimeout(resolve, 250));
    other.release();
  });

  // @covers durability:lock-stuck
  test("and claimed the lock of a dead holder, holds up those after it no longer than that", async () => {
    const { disk, state, fails } = refusing();
    const path = "/dir/log.lock";
    disk.put(path, holder({ pid: 2 ** 22 + 1, startTime: "1" }));
    const broken = withCalls(disk, {
      unlink: (name) => (state.refuses && name.includes(".stale-") ? fails() : disk.unlink(name)),
    });
    const first = lockAt(path, { waitMs: 0 }, broken);
    await first.with(() => "taken").catch(() => undefined);
    state.refuses = false;
    await vi.waitFor(
      () => expect(disk.paths().filter((name) => name.includes(".stale-") && name.length < 40)).toEqual([]),
      poll,
    );
    first.release();
  });
});

describe("a free lock", () => {
  test("is acquired at once, without a turn of the event loop, and names its holder", async () => {
    const path = newPath();
    const lock = lockAt(path);
    let seen = "";
    const done = lock.with(() => {
      seen = readFileSync(path, "utf8");
      return "result";
    });
    expect(JSON.parse(seen)).toMatchObject({ pid: process.pid, host: expect.stringContaining(hostname()) });
    expect(await done).toBe("result");
    let called = false;
    void lock.with(() => {
      called = true;
    });
    expect(called).toBe(true);
    lock.release();
  });

  test("stays held while it is used, and is released after the last use", async () => {
    vi.useFakeTimers();
    const path = newPath();
    const lock = lockAt(path, { idleMs: 60 });
    const acquisition = (number: number) => number;
    const first = await lock.with(acquisition);
    for (let i = 0; i < 10; i++) {
      await vi.advanceTimersByTimeAsync(15);
      expect(await lock.with(acquisition)).toBe(first);
    }
    await vi.advanceTimersByTimeAsync(59);
    expect(existsSync(path)).toBe(true);
    await vi.advanceTimersByTimeAsync(1);
    expect(existsSync(path)).toBe(false);
  });

  test("is released when idle, at once on request, and after a failure", async () => {
    const path = newPath();
    const lock = lockAt(path);
    await lock.with(() => undefined);
    expect(existsSync(path)).toBe(true);
    await vi.waitFor(() => expect(existsSync(path)).toBe(false), poll);
    await lock.with(() => undefined);
    lock.release();
    expect(existsSync(path)).toBe(false);
    lock.release();
    await expect(lock.with(() => Promise.reject(new Error("why")))).rejects.toThrow("why");
    await vi.waitFor(() => expect(existsSync(path)).toBe(false), poll);
    expect(readdirSync(join(path, ".."))).toEqual([]);
  });

  test("is held once by any number of uses, and until the last of them ends", async () => {
    const path = newPath();
    const lock = lockAt(path, { idleMs: 1 });
    let end = (): void => undefined;
    const long = lock.with(() => new Promise<void>((resolve) => (end = resolve)));
    const { ino } = statSync(path);
    for (let at = 0; at < 5; at++) {
      await lock.with(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, 3));
    }
    expect(statSync(path).ino).toBe(ino);
    end();
    await long;
    await vi.waitFor(() => expect(existsSync(path)).toBe(false), poll);
  });

  test("that cannot be written is not there", async () => {
    const disk = new SimulatedDisk();
    disk.capacityBytes = 20;
    const lock = lockAt("/a.lock", {}, disk);
    await expect(lock.with(() => undefined)).rejects.toMatchObject({ code: "ENOSPC" });
    expect(disk.paths()).toEqual([]);
    disk.capacityBytes = 10_000;
    expect(await lock.with(() => 1)).toBe(1);
    lock.release();
  });
});

describe("a lock that another holds", () => {
  // @covers R91
  test("is waited for, and SESSION_LOCKED names the holder when it does not come free", async () => {
    const path = newPath();
    const first = lockAt(path);
    let end = (): void => undefined;
    const holding = first.with(() => new Promise<void>((resolve) => (end = resolve)));
    const second = lockAt(path, { waitMs: 60 });
    const start = performance.now();
    await expect(second.with(() => undefined)).rejects.toMatchObject({
      code: "SESSION_LOCKED",
      details: { pid: process.pid, host: ownIdentity().host, path, heldMs: expect.any(Number) },
    });
    expect(performance.now() - start).toBeGreaterThanOrEqual(59);
    await expect(second.with(() => undefined, 0)).rejects.toMatchObject({ code: "SESSION_LOCKED" });
    // Nothing is left of the wait, and the lock is its holder's still.
    expect(readdirSync(join(path, ".."))).toEqual(["log.jsonl.lock"]);
    const waiting = lockAt(path, { waitMs: 30_000 }).with(() => "mine");
    end();
    await holding;
    expect(await waiting).toBe("mine");
  });

  test("goes round: one that never rests does not starve another", async () => {
    const path = newPath();
    const busy = lockAt(path, { waitMs: 30_000 });
    let stop = false;
    let uses = 0;
    const looping = (async () => {
      while (!stop) {
        await busy.with(() => new Promise<void>((resolve) => setImmediate(resolve)));
        uses++;
      }
    })();
    const other = lockAt(path, { waitMs: 30_000 });
    for (let at = 0; at < 3; at++) {
      expect(await other.with(() => "had it")).toBe("had it");
      other.release();
    }
    const before = uses;
    await vi.waitFor(() => expect(uses).toBeGreaterThan(before), poll);
    stop = true;
    await looping;
    busy.release();
    expect(readdirSync(join(path, ".."))).toEqual([]);
  });

  // @covers durability:clock
  test("is not robbed while its holder is stopped, however long", async () => {
    const path = newPath();
    const child = startChild("hold", path);
    await child.saying("held");
    child.kill("SIGSTOP");
    const before = readFileSync(path, "utf8");
    utimesSync(path, 1000, 1000);
    await expect(lockAt(path).with(() => undefined)).rejects.toMatchObject({
      code: "SESSION_LOCKED",
      details: { pid: child.pid, host: ownIdentity().host },
    });
    expect(readFileSync(path, "utf8")).toBe(before);
    child.kill("SIGCONT");
    child.process.stdin?.write("\n");
    await child.saying("released");
    expect(await lockAt(path, { waitMs: 0 }).with(() => 1)).toBe(1);
  });
});

describe("a lock that was left", () => {
  // @covers durability:holder-dies
  test("by a killed process is taken over without waiting", async () => {
    const path = newPath();
    const child = startChild("hold", path);
    await child.saying("held");
    child.kill("SIGKILL");
    await child.ended;
    expect(existsSync(path)).toBe(true);
    const lock = lockAt(path, { waitMs: 0 });
    expect(await lock.with(() => JSON.parse(readFileSync(path, "utf8")).pid)).toBe(process.pid);
    lock.release();
    expect(readdirSync(join(path, ".."))).toEqual([]);
  });

  test.runIf(ownIdentity().startTime !== "")("by a process whose id is another's now", async () => {
    const path = newPath();
    writeFileSync(path, holder({ startTime: "1" }));
    expect(await lockAt(path, { waitMs: 0 }).with(() => 1)).toBe(1);
  });

  test.runIf(ownIdentity().bootId !== "")("before the machine was started again", async () => {
    const path = newPath();
    writeFileSync(path, holder({ bootId: "another" }));
    expect(await lockAt(path, { waitMs: 0 }).with(() => 1)).toBe(1);
  });

  // @covers durability:holder-dies
  test("in the middle of being made, or damaged, counts for a second", async () => {
    const texts = [
      "",
      "{",
      "[]",
      "null",
      '"text"',
      holder({ pid: 0 }),
      holder({ pid: 1.5 }),
      holder({ host: 1 }),
    ];
    for (const text of [...texts, holder({ since: "x" }), holder({ nonce: null }), holder({ bootId: 1 })]) {
      const path = newPath();
      putAged(path, text, 500);
      await expect(lockAt(path, { waitMs: 0 }).with(() => 1)).rejects.toMatchObject({
        code: "SESSION_LOCKED",
        details: { pid: 0, host: "unknown", heldMs: 0 },
      });
      expect(readFileSync(path, "utf8")).toBe(text);
      putAged(path, text, 3000);
      expect(await lockAt(path, { waitMs: 0 }).with(() => 1)).toBe(1);
    }
  });

  // @covers durability:pid-namespace
  test("by another host counts until its last sign of life is old", async () => {
    const path = newPath();
    const text = holder({ host: "elsewhere", pid: 4242 });
    putAged(path, text, 29_000);
    await expect(lockAt(path, { waitMs: 0 }).with(() => 1)).rejects.toMatchObject({
      code: "SESSION_LOCKED",
      details: { pid: 4242, host: "elsewhere" },
    });
    putAged(path, text, 31_000);
    expect(await lockAt(path, { waitMs: 0 }).with(() => 1)).toBe(1);
    expect(readdirSync(join(path, "..")).filter((name) => name !== "log.jsonl.lock")).toEqual([]);
  });

  test.each([false, true])(
    "and was taken by a third meanwhile, goes back to that one (links refused: %s)",
    async (refuse) => {
      const disk = new SimulatedDisk();
      disk.refuseLinks = refuse;
      disk.put("/a.lock", holder({ startTime: "1", bootId: "another" }));
      const living = holder({ nonce: "third" });
      const rename = disk.rename.bind(disk);
      let raced = false;
      disk.rename = (from, to) => {
        if (!raced) disk.put("/a.lock", living);
        raced = true;
        rename(from, to);
      };
      await expect(lockAt("/a.lock", { waitMs: 0 }, disk).with(() => 1)).rejects.toMatchObject({
        code: "SESSION_LOCKED",
      });
      expect(raced).toBe(true);
      expect(disk.paths()).toEqual(["/a.lock"]);
      expect(Buffer.from(disk.bytes("/a.lock") ?? []).toString()).toBe(living);
    },
  );
});

describe("a lock of this process", () => {
  // @covers durability:terminated-thread
  test("that another thread left counts until its last sign of life is old; one that is held counts in any case", async () => {
    const path = newPath();
    putAged(path, holder(), 29_000);
    await expect(lockAt(path, { waitMs: 0 }).with(() => 1)).rejects.toMatchObject({
      code: "SESSION_LOCKED",
      details: { pid: process.pid },
    });
    putAged(path, holder(), 31_000);
    const lock = lockAt(path, { waitMs: 0, idleMs: 60_000 });
    expect(await lock.with(() => 1)).toBe(1);
    utimesSync(path, 1000, 1000);
    await expect(lockAt(path, { waitMs: 0 }).with(() => 1)).rejects.toMatchObject({
      code: "SESSION_LOCKED",
    });
    lock.release();
    expect(readdirSync(join(path, ".."))).toEqual([]);
  });
});

describe("a dead holder that several find at once", () => {
  const dead = (nonce: string) => holder({ nonce, startTime: "1", bootId: "another", since: 0 });

  // @covers durability:holder-dies
  test("is removed by one of them alone: no other removes or restores the lock of the first", async () => {
    let interrupted = 0;
    for (const then of ["a third tries", "the second lets go"]) {
      for (let at = 0; at < 14; at++) {
        for (let later = at + 1; later < 15; later++) {
          const disk = new SimulatedDisk();
          disk.put("/a.lock", dead("dead"));
          let calls = 0;
          let holders = 0;
          // With no turn of the event loop to wait for, an act has the lock at once or not at all.
          const tries = (lock: FileLock) => lock.with(() => holders++).catch(() => undefined);
          const [second, third] = [0, 0].map(() => lockAt("/a.lock", { waitMs: 0, idleMs: 60_000 }, disk));
          const interrupt = () => {
            const call = calls++;
            if (call === at && second !== undefined) void tries(second);
            if (call !== later) return;
            interrupted++;
            if (then === "a third tries" && third !== undefined) void tries(third);
            else if (second !== undefined && holders > 0) {
              second.release();
              holders--;
            }
          };
          const calling = (name: "open" | "rename" | "link" | "unlink") => ({
            [name](...args: never[]) {
              interrupt();
              return (disk[name] as (...args: never[]) => never).apply(disk, args);
            },
          });
          const slow = withCalls(
            disk,
            Object.assign({}, calling("open"), calling("rename"), calling("link"), calling("unlink")),
          );
          const first = lockAt("/a.lock", { waitMs: 0, idleMs: 60_000 }, slow);
          await tries(first);
          expect([then, at, later, holders <= 1]).toEqual([then, at, later, true]);
          for (const lock of [first, second, third]) lock?.release();
          expect([then, at, later, disk.paths()]).toEqual([then, at, later, []]);
        }
      }
    }
    expect(interrupted).toBeGreaterThan(100);
  });

  // @covers durability:stopped-breaker
  test("is replaced though one of them died in the middle, and waits for one that is stopped there", async () => {
    const disk = new SimulatedDisk();
    disk.put("/a.lock", dead("dead"));
    let claim = "";
    const dying = withCalls(disk, {
      rename(from: string) {
        claim = disk.paths().find((path) => path.startsWith(`${from}.stale-`)) ?? "";
        throw new Error("killed");
      },
    });
    void (await lockAt("/a.lock", { waitMs: 0 }, dying)
      .with(() => 1)
      .catch(() => undefined));
    expect(claim).not.toBe("");
    disk.put(claim, dead("died too"));
    const lock = lockAt("/a.lock", { waitMs: 0 }, disk);
    expect(await lock.with(() => 1)).toBe(1);
    lock.release();
    expect(disk.paths()).toEqual([]);

    disk.put("/a.lock", dead("dead"));
    disk.put(claim, holder({ nonce: "stopped", pid: process.ppid, startTime: "" }));
    await expect(lockAt("/a.lock", { waitMs: 0 }, disk).with(() => 1)).rejects.toMatchObject({
      code: "SESSION_LOCKED",
      details: { pid: process.ppid },
    });
  });

  test("in the middle of being made, and is not: it sees that it was replaced", async () => {
    const disk = new SimulatedDisk();
    const second = lockAt("/a.lock", { waitMs: 0, idleMs: 60_000 }, disk);
    let acquired: Promise<number> | undefined;
    const open = disk.open.bind(disk);
    const stopped = withCalls(disk, {
      open(path: string, mode: "read" | "append" | "create") {
        const file = open(path, mode);
        if (mode !== "create" || path !== "/a.lock" || file === undefined) return file;
        const time = disk.clock() + 3000;
        disk.clock = () => time;
        acquired = second.with((acquisition) => acquisition);
        return file;
      },
    });
    await expect(lockAt("/a.lock", { waitMs: 0 }, stopped).with(() => 1)).rejects.toMatchObject({
      code: "SESSION_LOCKED",
    });
    expect(await second.with((acquisition) => acquisition)).toBe(await acquired);
    second.release();
    expect(disk.paths()).toEqual([]);
  });
});

describe("a holder", () => {
  test("gives signs of life while it holds", async () => {
    vi.useFakeTimers();
    const disk = new SimulatedDisk();
    const lock = lockAt("/a.lock", {}, disk);
    let end = (): void => undefined;
    const holding = lock.with(() => new Promise<void>((resolve) => (end = resolve)));
    const first = disk.stat("/a.lock")?.mtimeMs ?? 0;
    await vi.advanceTimersByTimeAsync(5100);
    const second = disk.stat("/a.lock")?.mtimeMs ?? 0;
    expect(second).toBeGreaterThan(first);
    // A lock that somebody removed is no reason to fail in the background.
    disk.unlink("/a.lock");
    await vi.advanceTimersByTimeAsync(5100);
    end();
    await holding;
    await vi.advanceTimersByTimeAsync(100);
    const touched = vi.spyOn(disk, "touch");
    await vi.advanceTimersByTimeAsync(20_000);
    expect(touched).not.toHaveBeenCalled();
  });

  test("gives signs of life though its uses leave no time for timers", async () => {
    vi.useFakeTimers({ toFake: ["Date", "performance"] });
    const disk = new SimulatedDisk();
    const lock = lockAt("/a.lock", { idleMs: 60_000 }, disk);
    await lock.with(() => undefined);
    const first = disk.stat("/a.lock")?.mtimeMs ?? 0;
    vi.advanceTimersByTime(1100);
    await lock.with(() => undefined);
    expect(disk.stat("/a.lock")?.mtimeMs ?? 0).toBeGreaterThan(first);
    lock.release();
  });

  test("that lost the lock sends no heartbeat for the new holder", async () => {
    vi.useFakeTimers();
    const disk = new SimulatedDisk();
    const lock = lockAt("/a.lock", { idleMs: 1500, waitMs: 0 }, disk);
    await lock.with(() => undefined);
    disk.unlink("/a.lock");
    disk.put("/a.lock", holder());
    await vi.advanceTimersByTimeAsync(1100);
    await expect(lock.with(() => undefined)).rejects.toMatchObject({ code: "SESSION_LOCKED" });
    const touched = vi.spyOn(disk, "touch");
    await vi.advanceTimersByTimeAsync(20_000);
    expect(touched).not.toHaveBeenCalled();
  });

  test("that was taken for dead sees it, and takes the lock again", async () => {
    vi.useFakeTimers();
    const disk = new SimulatedDisk();
    const lock = lockAt("/a.lock", { idleMs: 60_000, waitMs: 0 }, disk);
    await lock.with(() => undefined);
    disk.unlink("/a.lock");
    disk.put("/a.lock", holder());
    await lock.with(() => undefined);
    await vi.advanceTimersByTimeAsync(1100);
    await expect(lock.with(() => undefined)).rejects.toMatchObject({ code: "SESSION_LOCKED" });
    disk.unlink("/a.lock");
    expect(await lock.with(() => 1)).toBe(1);
    lock.release();
    expect(disk.paths()).toEqual([]);
  });

  test("leaves another's lock alone, even one that lies in the same inode", async () => {
    const path = newPath();
    const lock = lockAt(path, { idleMs: 60_000 });
    await lock.with(() => undefined);
    // File systems give the number of a removed file to the next one.
    const text = holder();
    writeFileSync(path, text);
    lock.release();
    expect(readFileSync(path, "utf8")).toBe(text);
    rmSync(path);
    const again = lockAt(path, { idleMs: 60_000 });
    await again.with(() => undefined);
    rmSync(path);
    writeFileSync(`${path}.other`, "");
    writeFileSync(path, text);
    again.release();
    expect(readFileSync(path, "utf8")).toBe(text);
  });
});
