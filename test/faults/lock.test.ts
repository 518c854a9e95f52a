import { existsSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { userMessage } from "sessile";
import { fileSessionStore, openSessionFile } from "sessile/node";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { FileSystem } from "../../src/core/node/file-system.js";
import { nodeFileSystem } from "../../src/core/node/node-file-system.js";
import { ownIdentity } from "../../src/core/node/process-identity.js";
import { FileLock } from "../../src/storage/files/file-lock.js";
import { rounds } from "../support/rounds.js";
import { type Child, useChildren } from "./start-child.js";

const startChild = useChildren();
let dir = "";
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "sessile-lock-"));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** Each is some 400 ms, most of which a process takes to start. */
const times = rounds(15, 300);
vi.setConfig({ testTimeout: 300_000 + times * 5000 });
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe("row 13: a lock whose holders are killed while others wait for it", () => {
  // @covers R91 durability:holder-dies security:locks
  test(`lets no two in at once, and every dead holder is replaced (${times} kills)`, async () => {
    const path = join(dir, "log.jsonl.lock");
    const children: Child[] = [];
    const ended: Child[] = [];
    const start = async () => {
      const child = startChild("exclude", path);
      await child.saying("begins");
      children.push(child);
    };
    for (let at = 0; at < 5; at++) await start();
    for (let round = 0; round < times; round++) {
      await pause(Math.random() * 60);
      const [child] = children.splice(Math.floor(Math.random() * children.length), 1) as [Child];
      // Some are stopped for longer than the others need to come and go.
      if (round % 3 === 0) {
        await child.stop();
        await pause(30);
        child.kill("SIGCONT");
      }
      child.kill("SIGKILL");
      expect(await child.ended).toBe("SIGKILL");
      ended.push(child);
      await start();
    }
    const before = children.map((child) => child.said.length);
    await vi.waitFor(
      () => {
        for (const [at, child] of children.entries())
          expect(child.said.length).toBeGreaterThan(before[at] ?? 0);
      },
      { timeout: 120_000, interval: 5 },
    );
    for (const child of children) child.kill("SIGKILL");
    for (const child of [...ended, ...children]) {
      await child.ended;
      expect(child.said.filter((line) => line.startsWith("violated"))).toEqual([]);
    }
    // One that was killed between making its file and writing its name there counts for a second.
    const lock = new FileLock(nodeFileSystem, path, { waitMs: 120_000, idleMs: 0, remoteLeaseMs: 30_000 });
    expect(await lock.with(() => "in")).toBe("in");
    lock.release();
    expect(existsSync(path)).toBe(false);
  });
});

/** A session with one message, closed; where its file is. */
async function stored(id: string): Promise<string> {
  const session = await fileSessionStore({ dir }).create({ cwd: "/p", id });
  await session.appendMessage(userMessage("first"));
  await session.close();
  return session.location ?? "";
}

/** How often each id stands in a file, all of whose lines are whole. */
function idsIn(path: string): Map<string, number> {
  const counts = new Map<string, number>();
  const text = readFileSync(path, "utf8");
  expect(text.endsWith("\n")).toBe(true);
  for (const line of text.slice(0, -1).split("\n")) {
    const { id } = JSON.parse(line);
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return counts;
}

/** Makes a lock's last sign of life long past. */
function age(lock: string): void {
  utimesSync(lock, 1000, 1000);
}

describe("row 13: a holder that is stopped, and is replaced all the same", () => {
  // @covers durability:holder-elsewhere durability:server-clock
  test.each([
    ["on another host, since it was stopped past its expiry", "elsewhere", (lock: string) => age(lock)],
    ["on this host, since a person removed its lock", "", (lock: string) => rmSync(lock, { force: true })],
  ])("%s, is told so when it wakes: nothing is written over, and no line is lost", async (_, host, rob) => {
    const id = `restless${host}`;
    const path = await stored(id);
    const lock = `${path}.lock`;
    const child = startChild("restless", dir, id, host);
    const store = fileSessionStore({ dir, lockWaitMs: 0 });
    const ours: string[] = [];
    for (let round = 0; round < 5; round++) {
      const before = child.said.length;
      await vi.waitFor(() => expect(child.said.length).toBeGreaterThan(before + 3), {
        timeout: 120_000,
        interval: 1,
      });
      // It lets go now and then for those who wait, and may have to wait for the disk where it makes its file.
      do {
        child.kill("SIGCONT");
        await pause(round);
        await child.stop();
      } while (!existsSync(lock) || readFileSync(lock).length === 0);
      const conflicts = child.said.filter((line) => line === "conflict").length;
      const session = await store.open(id, { mode: "write" });
      // Its last sign of life is not old yet.
      await expect(session.appendMessage(userMessage("too early"))).rejects.toMatchObject({
        code: "SESSION_LOCKED",
        details: { pid: child.pid, host: expect.stringMatching(`^${host}`), path: lock },
      });
      rob(lock);
      ours.push((await session.appendMessage(userMessage("ours"))).id);
      ours.push((await session.appendMessage(userMessage("ours too"))).id);
      await session.close();
      const bytes = readFileSync(path);
      child.kill("SIGCONT");
      await vi.waitFor(
        () =>
          expect(
            child.said.filter((line) => line === "conflict" || line === "diagnostic FOREIGN_WRITE").length,
          ).toBeGreaterThan(conflicts),
        { timeout: 120_000, interval: 1 },
      );
      expect(readFileSync(path).subarray(0, bytes.length).equals(bytes)).toBe(true);
    }
    child.kill("SIGKILL");
    await child.ended;
    if (existsSync(lock)) rob(lock);
    await (await store.open(id, { mode: "write" })).close();
    const counts = idsIn(path);
    const theirs = child.said.filter((line) => /^[0-9a-f]{8}$/.test(line));
    expect(theirs.length).toBeGreaterThan(15);
    for (const id of [...ours, ...theirs]) expect(counts.get(id)).toBe(1);
    expect((await openSessionFile(path)).diagnostics).toEqual([]);
  });
});

describe("row 13: a lock that names a living process which is not its maker", () => {
  // @covers durability:holder-dies
  test.runIf(ownIdentity().startTime !== "")("by its start time is taken over at once", async () => {
    const path = await stored("reused");
    const child = startChild("hold", join(dir, "another.lock"));
    await child.saying("held");
    const held = JSON.parse(readFileSync(join(dir, "another.lock"), "utf8"));
    writeFileSync(`${path}.lock`, JSON.stringify({ ...held, startTime: String(Number(held.startTime) - 1) }));
    const store = fileSessionStore({ dir, lockWaitMs: 0 });
    const session = await store.open("reused", { mode: "write" });
    await session.appendMessage(userMessage("at once"));
    await session.close();
    // The same with its own start time is a holder.
    writeFileSync(`${path}.lock`, JSON.stringify(held));
    const again = await store.open("reused", { mode: "write" });
    await expect(again.appendMessage(userMessage("not now"))).rejects.toMatchObject({
      code: "SESSION_LOCKED",
      details: { pid: child.pid },
    });
    child.kill("SIGKILL");
    await child.ended;
    await again.appendMessage(userMessage("now"));
    await again.close();
    expect(idsIn(path).size).toBe(4);
  });
});

describe("row 13: a session whose holder is stopped", () => {
  // @covers durability:holder-stopped
  test("is read in every way meanwhile, and the error of a wait says who holds it and for how long", async () => {
    const path = await stored("read");
    const child = startChild("hold", `${path}.lock`);
    await child.saying("held");
    await child.stop();
    await pause(110);
    const store = fileSessionStore({ dir, lockWaitMs: 30 });
    const writer = await store.open("read", { mode: "write" });
    const error = await writer.appendMessage(userMessage("x")).catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      code: "SESSION_LOCKED",
      message: expect.stringContaining(String(child.pid)),
      details: { pid: child.pid, host: ownIdentity().host, path: `${path}.lock`, heldMs: expect.any(Number) },
    });
    expect((error as { details: { heldMs: number } }).details.heldMs).toBeGreaterThanOrEqual(100);
    await writer.close();

    const session = await store.open("read");
    expect((await session.context()).items.length).toBe(1);
    expect(await session.diagnose()).toEqual([]);
    expect(await session.refresh()).toEqual([]);
    expect(await session.entry(session.leafId ?? "")).toMatchObject({ type: "message" });
    const stop = AbortSignal.timeout(50);
    for await (const entry of session.follow({ signal: stop, pollMs: 5 })) expect(entry).toBeUndefined();
    await session.close();
    const listed = [];
    for await (const { id } of store.list({ cwd: "/p" })) listed.push(id);
    expect(listed).toContain("read");
    const fork = await store.fork("read", { id: "read-fork" });
    await fork.appendMessage(userMessage("in the copy"));
    await fork.close();
    expect((await (await openSessionFile(path)).tree()).size).toBe(1);
  });
});

describe("row 13: a lock file that can be neither read back nor removed", () => {
  // @covers R91 durability:lock-stuck
  test("is removed as soon as the system allows it: another process waits no longer than that", async () => {
    const path = join(dir, "unremovable.jsonl.lock");
    let refuses = true;
    const refusal = () => {
      throw Object.assign(new Error("EIO: i/o error"), { code: "EIO" });
    };
    const disk: FileSystem = {
      ...nodeFileSystem,
      open: (name, mode) => (refuses && mode === "read" ? refusal() : nodeFileSystem.open(name, mode)),
      unlink: (name) => (refuses ? refusal() : nodeFileSystem.unlink(name)),
    };
    const lock = new FileLock(disk, path, { waitMs: 0, idleMs: 20, remoteLeaseMs: 30_000 });
    await expect(lock.with(() => undefined)).rejects.toMatchObject({ code: "EIO" });
    const child = startChild("hold", path);
    await pause(500);
    // It names this process, which is alive.
    expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({ pid: process.pid });
    expect(child.said).toEqual([]);
    refuses = false;
    await child.saying("held");
    expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({ pid: child.pid });
    await pause(300);
    expect(existsSync(path)).toBe(true);
    child.process.stdin?.write("\n");
    expect(await child.ended).toBe(0);
  });
});
