import { execFileSync } from "node:child_process";
import { mkdirSync, statSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import type { FileSystem, OpenFile } from "../../../src/core/node/file-system.js";
import { nodeFileSystem } from "../../../src/core/node/node-file-system.js";
import { temporaryDirectory } from "../../session/node/temporary-directory.js";
import { SimulatedDisk } from "../../support/simulated-disk.js";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** What a file holds, through the port. */
function content(file: OpenFile | undefined): string {
  if (file === undefined) return "absent";
  const into = new Uint8Array(file.stat().size + 10);
  const count = file.readSync(into, 0);
  file.close();
  return new TextDecoder().decode(into.subarray(0, count));
}

// What the log relies on is true of the machine's file system and of the simulated one, so that what a test finds on the
// second says something of the first.
describe.each<[string, () => { disk: FileSystem; dir: string }]>([
  ["nodeFileSystem", () => ({ disk: nodeFileSystem, dir: temporaryDirectory() })],
  [
    "SimulatedDisk",
    () => {
      const disk = new SimulatedDisk();
      disk.mkdir("/dir");
      return { disk, dir: "/dir" };
    },
  ],
])("%s", (_name, make) => {
  function put(disk: FileSystem, path: string, text: string): void {
    const file = disk.open(path, "create");
    file?.append(bytes(text));
    file?.close();
  }

  test("opens what is there, makes what is not, and says so when it is the other way round", () => {
    const { disk, dir } = make();
    const path = join(dir, "a");
    expect(disk.open(path, "read")).toBeUndefined();
    expect(disk.open(path, "append")).toBeUndefined();
    const created = disk.open(path, "create");
    expect(created?.stat()).toMatchObject({ kind: "file", size: 0 });
    created?.close();
    expect(disk.open(path, "create")).toBeUndefined();
    expect(content(disk.open(path, "read"))).toBe("");
    expect(disk.open(join(dir, "none", "a"), "read")).toBeUndefined();
    expect(() => disk.open(join(dir, "none", "a"), "create")).toThrow(
      expect.objectContaining({ code: "ENOENT" }),
    );
  });

  test("appends at the end, whatever was read, cut or written by another handle before", async () => {
    const { disk, dir } = make();
    const path = join(dir, "a");
    const one = disk.open(path, "create") as OpenFile;
    expect(one.append(bytes("one,"))).toBe(4);
    const two = disk.open(path, "append") as OpenFile;
    two.append(bytes("two,"));
    one.append(bytes("three"));
    const into = new Uint8Array(100);
    expect(one.readSync(into.subarray(0, 4), 4)).toBe(4);
    expect(new TextDecoder().decode(into.subarray(0, 4))).toBe("two,");
    expect(await two.read(into, 8)).toBe(5);
    expect(await two.read(into, 13)).toBe(0);
    one.truncate(4);
    two.append(bytes("four"));
    await two.sync();
    one.close();
    one.close();
    two.close();
    expect(content(disk.open(path, "read"))).toBe("one,four");
  });

  test("keeps a file that is open when its name goes", () => {
    const { disk, dir } = make();
    const path = join(dir, "a");
    put(disk, path, "old");
    const open = disk.open(path, "read") as OpenFile;
    expect(disk.unlink(path)).toBe(true);
    expect(disk.unlink(path)).toBe(false);
    put(disk, path, "new");
    expect(disk.stat(path)?.ino).not.toBe(open.stat().ino);
    expect(content(open)).toBe("old");
  });

  test("renames over what is there, and links only to a free name", () => {
    const { disk, dir } = make();
    const [a, b, c] = ["a", "b", "c"].map((name) => join(dir, name)) as [string, string, string];
    put(disk, a, "a");
    put(disk, b, "b");
    expect(disk.link(a, b)).toBe(false);
    expect(disk.link(a, c)).toBe(true);
    expect(disk.stat(c)?.ino).toBe(disk.stat(a)?.ino);
    disk.rename(a, b);
    expect(disk.stat(a)).toBeUndefined();
    expect(content(disk.open(b, "read"))).toBe("a");
    expect(() => disk.rename(a, b)).toThrow(expect.objectContaining({ code: "ENOENT" }));
  });

  test("makes directories above a directory, and gives the topmost that was missing", async () => {
    const { disk, dir } = make();
    expect(disk.mkdir(join(dir, "x", "y", "z"))).toBe(join(dir, "x"));
    expect(disk.mkdir(join(dir, "x", "y", "z"))).toBeUndefined();
    expect(disk.mkdir(join(dir, "x", "y", "w"))).toBe(join(dir, "x", "y", "w"));
    expect(disk.stat(join(dir, "x", "y"))?.kind).toBe("directory");
    await disk.syncDirectory(join(dir, "x"));
    await expect(disk.syncDirectory(join(dir, "none"))).rejects.toMatchObject({ code: "ENOENT" });
    put(disk, join(dir, "file"), "");
    expect(() => disk.mkdir(join(dir, "file"))).toThrow(expect.objectContaining({ code: "EEXIST" }));
  });

  test("lists names with their kinds; an absent directory has none", async () => {
    const { disk, dir } = make();
    put(disk, join(dir, "a"), "");
    disk.mkdir(join(dir, "d"));
    const found = [...(await disk.list(dir))].sort((x, y) => (x.name < y.name ? -1 : 1));
    expect(found).toEqual([
      { name: "a", kind: "file" },
      { name: "d", kind: "directory" },
    ]);
    expect(await disk.list(join(dir, "none"))).toEqual([]);
    await expect(disk.list(join(dir, "a"))).rejects.toMatchObject({ code: "ENOTDIR" });
  });

  test("tells of a change", async () => {
    const { disk, dir } = make();
    const path = join(dir, "a");
    put(disk, path, "");
    const file = disk.open(path, "append") as OpenFile;
    let seen = 0;
    const stop = disk.watch(path, () => seen++);
    file.append(bytes("x"));
    await vi.waitFor(() => expect(seen).toBeGreaterThan(0), { timeout: 30_000, interval: 5 });
    stop();
    file.close();
    expect(() => disk.watch(join(dir, "none"), () => undefined)()).not.toThrow();
  });

  test("touches", () => {
    const { disk, dir } = make();
    const path = join(dir, "a");
    put(disk, path, "");
    if (disk === nodeFileSystem) utimesSync(path, 1000, 1000);
    const before = disk.stat(path)?.mtimeMs ?? 0;
    disk.touch(path);
    expect(disk.stat(path)?.mtimeMs).toBeGreaterThan(before);
    expect(() => disk.touch(join(dir, "none"))).toThrow(expect.objectContaining({ code: "ENOENT" }));
  });
});

describe("nodeFileSystem", () => {
  test("neither waits for a FIFO nor takes anything else for a file", async () => {
    const dir = temporaryDirectory();
    execFileSync("mkfifo", [join(dir, "fifo")]);
    mkdirSync(join(dir, "directory"));
    symlinkSync(join(dir, "directory"), join(dir, "link"));
    const server = createServer().listen(join(dir, "socket"));
    await new Promise((resolve) => server.once("listening", resolve));
    const kinds = (await nodeFileSystem.list(dir)).map(({ name, kind }) => [name, kind]);
    expect(Object.fromEntries(kinds)).toEqual({
      fifo: "FIFO",
      directory: "directory",
      link: "link",
      socket: "socket",
    });
    expect(nodeFileSystem.stat("/dev/null")?.kind).toBe("device");
    const fifo = nodeFileSystem.open(join(dir, "fifo"), "read");
    expect(fifo?.stat().kind).toBe("FIFO");
    fifo?.close();
    server.close();
  });

  // @covers security:file-modes
  test("makes files and directories for their owner alone", () => {
    const dir = temporaryDirectory();
    nodeFileSystem.mkdir(join(dir, "d", "e"));
    nodeFileSystem.open(join(dir, "d", "e", "a"), "create")?.close();
    expect(statSync(join(dir, "d")).mode & 0o077).toBe(0);
    expect(statSync(join(dir, "d", "e")).mode & 0o077).toBe(0);
    expect(statSync(join(dir, "d", "e", "a")).mode & 0o077).toBe(0);
  });

  test("reads that are under way when a file is closed read that file, not the one that gets its descriptor", async () => {
    const dir = temporaryDirectory();
    writeFileSync(join(dir, "a"), "a".repeat(1000));
    writeFileSync(join(dir, "b"), "b".repeat(1000));
    for (let round = 0; round < 5; round++) {
      const file = nodeFileSystem.open(join(dir, "a"), "read") as OpenFile;
      const reads = Array.from({ length: 50 }, async () => {
        const into = new Uint8Array(1000);
        await file.read(into, 0);
        return new TextDecoder().decode(into);
      });
      const synced = file.sync();
      file.close();
      const others = Array.from({ length: 4 }, () => nodeFileSystem.open(join(dir, "b"), "read"));
      await synced;
      expect(new Set(await Promise.all(reads))).toEqual(new Set(["a".repeat(1000)]));
      for (const other of others) other?.close();
    }
  });

  test("gives the errors of the system as they are", async () => {
    const dir = temporaryDirectory();
    writeFileSync(join(dir, "a"), "");
    expect(() => nodeFileSystem.link(join(dir, "none"), join(dir, "b"))).toThrow(
      expect.objectContaining({ code: "ENOENT" }),
    );
    expect(() => nodeFileSystem.unlink(dir)).toThrow(
      expect.objectContaining({ code: expect.stringMatching(/EISDIR|EPERM/) }),
    );
    const file = nodeFileSystem.open(join(dir, "a"), "append") as OpenFile;
    file.close();
    const others = Array.from({ length: 4 }, () => nodeFileSystem.open(join(dir, "a"), "read"));
    await expect(file.sync()).rejects.toMatchObject({ code: "EBADF" });
    await expect(file.read(new Uint8Array(1), 0)).rejects.toMatchObject({ code: "EBADF" });
    expect(() => file.append(bytes("x"))).toThrow(expect.objectContaining({ code: "EBADF" }));
    expect(() => file.stat()).toThrow(expect.objectContaining({ code: "EBADF" }));
    for (const other of others) other?.close();
  });
});

describe("SimulatedDisk after a power cut", () => {
  /** What may be left of a file: its text in each state, and "-" where its name is gone. */
  function states(disk: SimulatedDisk, path: string): string[] {
    const texts = Array.from(disk.afterPowerCut({ limit: 10_000 }), (left) => {
      const found = left.bytes(path);
      return found === undefined ? "-" : Buffer.from(found).toString().replaceAll("\0", "0");
    });
    return [...new Set(texts)].sort();
  }

  test("has any prefix of what was written and not synced, padded or not, under any name that may be left", async () => {
    const disk = new SimulatedDisk();
    const file = disk.open("/a", "create") as OpenFile;
    expect(states(disk, "/a")).toEqual(["", "-"]);
    file.append(bytes("xyz"));
    expect(states(disk, "/a")).toEqual(["", "-", "000", "x", "x00", "xy", "xy0", "xyz"]);
    // Syncing a file says nothing of its name, and syncing a name nothing of its file.
    await file.sync();
    expect(states(disk, "/a")).toEqual(["-", "xyz"]);
    await disk.syncDirectory("/");
    expect(states(disk, "/a")).toEqual(["xyz"]);
    file.append(bytes("12"));
    file.truncate(3);
    file.append(bytes("3"));
    expect(states(disk, "/a")).toEqual(["xyz", "xyz0", "xyz00", "xyz1", "xyz10", "xyz12", "xyz3"]);
    disk.rename("/a", "/b");
    expect(states(disk, "/b")).toContain("-");
    expect(states(disk, "/a").length).toBe(states(disk, "/b").length);
    const both = Array.from(disk.afterPowerCut({ limit: 1000 }), (left) => left.paths().length);
    expect(new Set(both)).toEqual(new Set([1]));
  });

  test("keeps what was synced, whatever comes later, and says nothing of the disk that goes on", async () => {
    const disk = new SimulatedDisk();
    disk.mkdir("/d");
    disk.put("/d/a", "kept");
    expect(disk.unlink("/d/a")).toBe(true);
    expect(states(disk, "/d/a")).toEqual(["-", "kept"]);
    const [left] = disk.afterPowerCut({ limit: 1 });
    expect(left?.open("/d/a", "append")?.append(bytes("!"))).toBe(1);
    expect(disk.bytes("/d/a")).toBeUndefined();
    expect(states(disk, "/d/a")).toEqual(["-", "kept"]);
    expect(Array.from(disk.afterPowerCut({ only: () => false })).length).toBe(1);
  });

  test("a sync makes last what was there when it was called", async () => {
    const disk = new SimulatedDisk();
    const file = disk.open("/a", "create") as OpenFile;
    await disk.syncDirectory("/");
    file.append(bytes("x"));
    const resume = disk.pause();
    const syncing = file.sync();
    file.append(bytes("y"));
    resume();
    await syncing;
    expect(states(disk, "/a")).toEqual(["x", "x0", "xy"]);
  });
});
