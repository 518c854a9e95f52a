import { execFileSync } from "node:child_process";
import {
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { FileSystem, OpenFile } from "../../../src/internal/node/file-system.js";
import { createNodeFileSystem, nodeFileSystem } from "../../../src/internal/node/node-file-system.js";
import {
  appendFully,
  appendFullyAsync,
  readFully,
  readFullySync,
  writeNewFile,
} from "../../../src/internal/node/read-write-fully.js";
import { temporaryDirectory } from "../../session/node/temporary-directory.js";
import { SimulatedDisk } from "../../support/simulated-disk.js";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

interface Subject {
  readonly files: FileSystem;
  readonly dir: string;
}

// What is true of the simulated file system is true of the machine's, so that a test on the first says something of the
// second.
describe.each<[string, () => Subject]>([
  ["the node file system", () => ({ files: nodeFileSystem, dir: temporaryDirectory() })],
  [
    "it with paced fsyncs",
    () => ({ files: createNodeFileSystem({ paceSyncs: true }), dir: temporaryDirectory() }),
  ],
  [
    "SimulatedDisk",
    () => {
      const files = new SimulatedDisk();
      files.mkdir("/dir");
      return { files, dir: "/dir" };
    },
  ],
])("%s", (_name, make) => {
  test("creates a read-only file once, and opens it for reading in each way", async () => {
    const { files, dir } = make();
    const path = join(dir, "a");
    expect(files.open(path, "readNoFollow")).toBeUndefined();
    expect(await files.openAsync(path, "readNoFollow")).toBeUndefined();
    const file = files.open(path, "createReadOnly") as OpenFile;
    expect(files.open(path, "createReadOnly")).toBeUndefined();
    expect(await files.openAsync(path, "createReadOnly")).toBeUndefined();
    expect(file.append(bytes("one "))).toBe(4);
    expect(await file.appendAsync(bytes("two"))).toBe(3);
    for (let round = 0; round < 3; round++) await file.sync();
    await file.syncInBackground();
    file.setTime(1_234_567.25);
    expect(file.stat()).toMatchObject({ kind: "file", size: 7, mtimeMs: 1_234_567.25 });
    const exact = await file.statExact();
    expect(exact).toMatchObject({ kind: "file", size: 7n, mtimeNs: 1_234_567_250_000n });
    expect(await files.lstatExact(path)).toEqual(exact);
    expect([exact.dev, exact.ino].map(Number)).toEqual([file.stat().dev, file.stat().ino]);
    file.close();
    await expect(file.statExact()).rejects.toMatchObject({ code: "EBADF" });
    for (const open of [files.open(path, "readNoFollow"), await files.openAsync(path, "readNoFollow")]) {
      const into = new Uint8Array(5);
      expect(open?.readSync(into, 0)).toBe(5);
      expect(await open?.read(into, 5)).toBe(2);
      expect(await open?.read(into, 7)).toBe(0);
      expect(new TextDecoder().decode(into)).toBe("woe t");
      expect([path, undefined]).toContain(await open?.location());
      open?.close();
    }
    await expect(files.lstatExact(join(dir, "none"))).rejects.toMatchObject({ code: "ENOENT" });
    await expect(files.realpath(join(dir, "none"))).rejects.toMatchObject({ code: "ENOENT" });
  });

  test("has nothing at a path below a file", () => {
    const { files, dir } = make();
    files.open(join(dir, "file"), "create")?.close();
    expect(files.stat(join(dir, "file", "below"))).toBeUndefined();
    expect(files.lstat(join(dir, "file", "below"))).toBeUndefined();
  });

  test("reads and writes in as many calls as it takes, and leaves no new file that is not whole", async () => {
    const { files, dir } = make();
    const path = join(dir, "a");
    const short = (file: OpenFile): OpenFile =>
      new Proxy(file, {
        get(of, key) {
          const method: unknown = Reflect.get(of, key);
          if (typeof method !== "function") return method;
          const cut = ["append", "appendAsync", "read", "readSync"].includes(String(key));
          return (first?: Uint8Array, ...rest: unknown[]) =>
            method.apply(of, [cut ? first?.subarray(0, 3) : first, ...rest]);
        },
      });
    const file = short(files.open(path, "create") as OpenFile);
    const counts: number[] = [];
    appendFully(file, bytes("abcdefg"), (count) => counts.push(count));
    await appendFullyAsync(file, bytes("hijk"));
    expect(counts).toEqual([3, 3, 1]);
    const into = new Uint8Array(20);
    expect(readFullySync(file, into, 1)).toBe(10);
    expect(await readFully(file, into, 1)).toBe(10);
    expect(new TextDecoder().decode(into.subarray(0, 10))).toBe("bcdefghijk");
    file.close();
    await expect(writeNewFile(files, path, [bytes("x")])).rejects.toMatchObject({ code: "EEXIST" });
    const failing = async function* () {
      yield bytes("x");
      throw new Error("no more");
    };
    await expect(writeNewFile(files, join(dir, "b"), failing())).rejects.toThrow("no more");
    await writeNewFile(files, join(dir, "c"), [bytes("x"), bytes("y")]);
    expect((await files.list(dir)).map(({ name }) => name).sort()).toEqual(["a", "c"]);
    expect(files.stat(join(dir, "c"))?.size).toBe(2);
  });

  test("a write that takes nothing, or loses bytes, is EIO", async () => {
    const { files, dir } = make();
    const lying = (append: (file: OpenFile, chunk: Uint8Array) => number): FileSystem => ({
      ...bound(files),
      open: (path, mode) => {
        const file = files.open(path, mode);
        return file && { ...bound(file), append: (chunk) => append(file, chunk) };
      },
    });
    const none = lying(() => 0);
    const losing = lying((file, chunk) => file.append(chunk.subarray(1)) + 1);
    for (const each of [none, losing]) {
      await expect(writeNewFile(each, join(dir, "a"), [bytes("xyz")])).rejects.toMatchObject({ code: "EIO" });
      expect(await files.list(dir)).toEqual([]);
    }
  });
});

/** An object of an object's methods, its prototype's too. */
function bound<T extends object>(of: T): T {
  const names = new Set([...Object.keys(of), ...Object.getOwnPropertyNames(Object.getPrototypeOf(of))]);
  const methods = [...names].map((name) => [name, Reflect.get(of, name)] as const);
  return Object.fromEntries(
    methods.map(([name, value]) => [name, typeof value === "function" ? value.bind(of) : value]),
  ) as T;
}

describe("the node file system", () => {
  test("follows no link if told so, and knows each kind", async () => {
    const dir = temporaryDirectory();
    writeFileSync(join(dir, "file"), "x");
    symlinkSync(join(dir, "file"), join(dir, "link"));
    symlinkSync(join(dir, "nowhere"), join(dir, "dangling"));
    mkdirSync(join(dir, "folder"));
    const link = join(dir, "link");
    expect(() => nodeFileSystem.open(link, "readNoFollow")).toThrow(
      expect.objectContaining({ code: "ELOOP" }),
    );
    await expect(nodeFileSystem.openAsync(link, "readNoFollow")).rejects.toMatchObject({ code: "ELOOP" });
    nodeFileSystem.open(link, "read")?.close();
    const kinds = ["file", "link", "dangling", "folder", "nothing"].map(
      (name) => nodeFileSystem.lstat(join(dir, name))?.kind,
    );
    expect(kinds).toEqual(["file", "link", "link", "directory", undefined]);
    expect((await nodeFileSystem.lstatExact(link)).kind).toBe("link");
    expect(nodeFileSystem.stat(link)?.kind).toBe("file");
    expect(await nodeFileSystem.realpath(link)).toBe(await nodeFileSystem.realpath(join(dir, "file")));
  });

  test("waits for no writer of a FIFO", async () => {
    const path = join(temporaryDirectory(), "fifo");
    execFileSync("mkfifo", [path]);
    for (const file of [
      nodeFileSystem.open(path, "readNoFollow"),
      await nodeFileSystem.openAsync(path, "read"),
    ]) {
      expect(file?.stat().kind).toBe("FIFO");
      file?.close();
    }
  });

  test("creates files that nobody can write later, if told so", () => {
    const path = join(temporaryDirectory(), "file");
    nodeFileSystem.open(path, "createReadOnly")?.close();
    expect(statSync(path).mode & 0o333).toBe(0);
    expect(readFileSync(path, "utf8")).toBe("");
  });

  test("tells two writes apart that are a nanosecond from each other", async () => {
    const path = join(temporaryDirectory(), "file");
    writeFileSync(path, "x");
    utimesSync(path, 1000, 1000);
    truncateSync(path, 1);
    const { mtimeNs } = await nodeFileSystem.lstatExact(path);
    expect(mtimeNs).toBe(statSync(path, { bigint: true }).mtimeNs);
  });
});
