import { spawnSync } from "node:child_process";
import { chmodSync, readFileSync, statfsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Session, type SessionStore, userMessage } from "sessile";
import { fileSessionStore, openSessionFile } from "sessile/node";
import { beforeAll, describe, expect, test } from "vitest";
import { nodeFileSystem } from "../../src/core/node/node-file-system.js";
import { cutPower, useMounts } from "./mounts.js";
import { needs } from "./needs.js";

const mounts = useMounts();
const cwd = "/work";

/** The kernel of a machine may have no XFS even where its tools are there. */
function xfs(): string {
  return readFileSync("/proc/filesystems", "utf8").includes("\txfs\n") ||
    spawnSync("modprobe", ["xfs"]).status === 0
    ? ""
    : "this needs a kernel with XFS";
}

describe("a fork on a file system that shares blocks", () => {
  const why = needs("root", "loop", "mkfs.xfs", "filefrag") || xfs();
  const image = () => join(mounts.dir, "disk");
  let at = "";
  let store: SessionStore;

  beforeAll(() => {
    if (why !== "") return;
    mounts.makeImage(image(), 320, "xfs");
    at = mounts.image(image(), "loop", "xfs");
    store = fileSessionStore({ dir: join(at, "sessions") });
  });

  /** How many bytes the file system has lost when `act` is done. */
  async function usageCost(
    act: () => Promise<Session>,
  ): Promise<{ readonly bytes: number; readonly session: Session }> {
    const free = () => {
      spawnSync("sync", ["-f", at]);
      const { bfree, bsize } = statfsSync(at);
      return bfree * bsize;
    };
    const before = free();
    const session = await act();
    return { bytes: before - free(), session };
  }

  async function ownSession(id: string, megabytes: number): Promise<Session> {
    const session = await store.create({ cwd, id });
    const drafts = Array.from({ length: megabytes }, () => ({
      type: "message" as const,
      message: userMessage("x".repeat(1 << 20)),
    }));
    await session.append(drafts);
    return session;
  }

  // @covers durability:fork
  test("takes no room for what it shares, and either is written to without the other", async ({ skip }) => {
    skip(why !== "", why);
    const source = await ownSession("source", 16);
    const path = source.location ?? "";
    const { bytes, session: fork } = await usageCost(() => store.fork("source", { id: "fork" }));
    expect(bytes).toBeLessThan(1 << 20);
    expect(spawnSync("filefrag", ["-v", fork.location ?? ""], { encoding: "utf8" }).stdout).toMatch(/shared/);
    const before = readFileSync(path);
    await fork.appendMessage(userMessage("in the fork"));
    expect(readFileSync(path).equals(before)).toBe(true);
    await source.appendMessage(userMessage("in the source"));
    expect([(await source.tree()).size, (await fork.tree()).size]).toEqual([17, 18]);
    for (const location of [path, fork.location ?? ""]) {
      const again = await openSessionFile(location);
      expect(again.diagnostics).toEqual([]);
      expect((await again.context()).items).toHaveLength(17);
      await again.close();
    }
    await Promise.all([source.close(), fork.close()]);
  });

  test("costs as much as its source where that has no room for another header", async ({ skip }) => {
    skip(why !== "", why);
    const source = await ownSession("roomy", 16);
    await source.close();
    const path = source.location ?? "";
    writeFileSync(path, readFileSync(path, "latin1").replace(/} +\n/, "}\n"), "latin1");
    const { bytes, session } = await usageCost(() => store.fork("roomy"));
    expect(bytes).toBeGreaterThan(15 << 20);
    await session.close();
  });

  test("is its owner's alone, though its source be read-only or open to all", async ({ skip }) => {
    skip(why !== "", why);
    for (const mode of [0o444, 0o666]) {
      const id = `of-${mode.toString(8)}`;
      await (await ownSession(id, 1)).close();
      const path = (await store.latest())?.location ?? "";
      chmodSync(path, mode);
      const fork = await store.fork(id);
      expect(spawnSync("filefrag", ["-v", fork.location ?? ""], { encoding: "utf8" }).stdout).toMatch(
        /shared/,
      );
      expect([path, fork.location].map((each) => statSync(each ?? "").mode & 0o777)).toEqual([mode, 0o600]);
      await fork.close();
    }
  });

  test("a file that became shorter is not cloned", async ({ skip }) => {
    skip(why !== "", why);
    const path = join(at, "short");
    writeFileSync(path, "header\none\n");
    const first = new TextEncoder().encode("H     \n");
    expect(await nodeFileSystem.clone(path, `${path}-1`, first, 12)).toBe(false);
    expect(await nodeFileSystem.clone(path, `${path}-2`, first, 11)).toBe(true);
    expect(readFileSync(`${path}-2`, "utf8")).toBe("H     \none\n");
    await expect(nodeFileSystem.clone(path, `${path}-2`, first, 11)).rejects.toMatchObject({
      code: "EEXIST",
    });
  });

  // @covers durability:fork
  test("is whole after a loss of power once it resolves", async ({ skip }) => {
    skip(why !== "", why);
    await (await ownSession("kept", 4)).close();
    const fork = await store.fork("kept", { id: "kept-fork" });
    const location = (fork.location ?? "").slice(at.length);
    const copy = `${image()}-copy`;
    await cutPower(image(), copy);
    await fork.close();
    const left = mounts.image(copy, "loop,nouuid", "xfs");
    const again = await openSessionFile(join(left, location));
    expect([again.diagnostics, (await again.context()).items.length]).toEqual([[], 4]);
    await again.close();
  });
});
