import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { SessileError } from "sessile/errors";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import {
  appendFully,
  appendFullyAsync,
  DurableDirectories,
  errnoCode,
  type FileSystem,
  type OpenFile,
  publishExclusive,
  readFully,
  readFullySync,
  storageError,
  writeNewFile,
} from "../../../src/core/node/file-system.js";
import { createNodeFileSystem, nodeFileSystem, SyncPacer } from "../../../src/core/node/node-file-system.js";
import { isAlive, ownIdentity } from "../../../src/core/node/process-identity.js";
import { temporaryDirectory } from "../../session/node/temporary-directory.js";
import { hookedFileSystem, systemError } from "../../support/hooked-file-system.js";
import { SimulatedDisk } from "../../support/simulated-disk.js";

describe("the file system", () => {
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
        await expect(writeNewFile(each, join(dir, "a"), [bytes("xyz")])).rejects.toMatchObject({
          code: "EIO",
        });
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
});

describe("its errors", () => {
  describe("storageError", () => {
    test("keeps the system's code, and leaves what is no system error alone", () => {
      const cause = Object.assign(new Error("no space"), { code: "ENOSPC" });
      expect(errnoCode(cause)).toBe("ENOSPC");
      const error = storageError("append to", "/a", cause);
      expect(error).toMatchObject({
        code: "STORAGE_FAILED",
        details: { operation: "append to", path: "/a", errno: "ENOSPC" },
        cause,
      });
      const known = new SessileError("SESSION_NOT_FOUND", "gone", { details: { id: "a" } });
      for (const other of [
        known,
        new TypeError("x"),
        Object.assign(new Error(""), { code: "ERR_X" }),
        "text",
        null,
      ]) {
        expect(storageError("read", "/a", other)).toBe(other);
      }
      expect(errnoCode(null)).toBeUndefined();
      expect(errnoCode({ code: 5 })).toBeUndefined();
    });

    test.each([
      [-122, "EDQUOT"],
      [-116, "ESTALE"],
      [-117, "EUCLEAN"],
      [-4095, "ERRNO_4095"],
    ])("gives a code to the number %d, for which Node has no name", (errno, name) => {
      for (const code of [`Unknown system error ${errno}`, "UNKNOWN", undefined]) {
        const cause = Object.assign(new Error("unknown"), { errno, ...(code === undefined ? {} : { code }) });
        expect(storageError("append to", "/a", cause)).toMatchObject({
          code: "STORAGE_FAILED",
          message: `append to /a: ${name}`,
          details: { errno: name },
        });
      }
    });
  });
});

describe("pacing fsync", () => {
  let clock = 0;
  beforeEach(() => {
    clock = 0;
    vi.spyOn(performance, "now").mockImplementation(() => clock);
  });
  afterEach(() => {
    vi.restoreAllMocks();
  });

  /** Runs a call that takes so long, and says where it was made. */
  async function where(pace: SyncPacer, ms: number): Promise<"here" | "pool"> {
    let made: "here" | "pool" = "pool";
    await pace.run(
      async () => {
        clock += ms;
      },
      () => {
        made = "here";
        clock += ms;
      },
    );
    return made;
  }

  describe("a call that waits for the device", () => {
    test("is made in the pool first, and here while such calls are short", async () => {
      const pace = new SyncPacer();
      expect(await where(pace, 0.3)).toBe("pool");
      for (let i = 0; i < 20; i++) expect(await where(pace, 0.5)).toBe("here");
    });

    test("goes to the pool when the device becomes slow, and comes back when it is quick again", async () => {
      const pace = new SyncPacer();
      await where(pace, 0.3);
      expect(await where(pace, 30)).toBe("here");
      for (let i = 0; i < 5; i++) expect(await where(pace, 30)).toBe("pool");
      const turns: string[] = [];
      for (let i = 0; i < 60; i++) turns.push(await where(pace, 0.2));
      expect(turns[0]).toBe("pool");
      expect(turns.at(-1)).toBe("here");
    });

    test("is made in the pool while another is there, so that both run at once", async () => {
      const pace = new SyncPacer();
      let end = () => {};
      const first = pace.run(
        () =>
          new Promise<void>((resolve) => {
            end = resolve;
          }),
        () => undefined,
      );
      for (let i = 0; i < 3; i++) expect(await where(pace, 0.1)).toBe("pool");
      end();
      await first;
      expect(await where(pace, 0.1)).toBe("here");
    });

    test("may fail in either place", async () => {
      const pace = new SyncPacer();
      const fail = () => {
        throw new RangeError("EIO");
      };
      await expect(pace.run(async () => fail(), fail)).rejects.toThrow("EIO");
      await where(pace, 0.1);
      await expect(pace.run(async () => fail(), fail)).rejects.toThrow("EIO");
    });
  });
});

describe("durable directories", () => {
  /** A disk that notes which directories are synced. */
  function noting(): { readonly disk: SimulatedDisk; taken(): readonly string[] } {
    const disk = new SimulatedDisk();
    const synced: string[] = [];
    const sync = disk.syncDirectory.bind(disk);
    disk.syncDirectory = (path) => {
      synced.push(path);
      return sync(path);
    };
    return { disk, taken: () => synced.splice(0) };
  }

  test("directories within a store are synced each time, those above it once, and again where one was made anew", async () => {
    const { disk, taken } = noting();
    const names = new DurableDirectories(disk, "/a/b/store", { everyTime: true });
    names.create("/a/b/store/--p--");
    await names.sync("/a/b/store/--p--");
    expect(taken()).toEqual(["/a/b/store/--p--", "/a/b/store", "/a/b", "/a", "/"]);
    await names.sync("/a/b/store/--p--");
    expect(taken()).toEqual(["/a/b/store/--p--", "/a/b/store"]);
    disk.rename("/a/b", "/a/c");
    names.create("/a/b/store/--q--");
    await names.sync("/a/b/store/--q--");
    expect(taken()).toEqual(["/a/b/store/--q--", "/a/b/store", "/a/b", "/a"]);
  });

  test("a directory above the store that may not be read is another's, and one that fails is not passed over", async () => {
    const { disk } = noting();
    const names = new DurableDirectories(disk, "/a/store", { everyTime: true });
    names.create("/a/store");
    disk.failNext("syncDirectory", "EACCES", (path) => path === "/a");
    await names.sync("/a/store");
    disk.failNext("syncDirectory", "EACCES", (path) => path === "/a/store");
    await expect(names.sync("/a/store")).rejects.toMatchObject({ code: "EACCES" });
    const others = new DurableDirectories(disk, "/a/store", { everyTime: true });
    disk.failNext("syncDirectory", "EIO", (path) => path === "/a");
    await expect(others.sync("/a/store")).rejects.toMatchObject({ code: "EIO" });
  });
});

describe("exclusive publish", () => {
  const linkFails = (errno: string) =>
    hookedFileSystem(({ name }) => {
      if (name === "link") throw systemError(errno);
    });

  const supports: readonly [string, FileSystem][] = [
    ["with hard links", nodeFileSystem],
    ["without hard links", linkFails("EPERM")],
    ["that calls them an operation of no name", linkFails("ENOSYS")],
  ];

  test.each(supports)(
    "publishes a file under a free name and replaces none, on a file system %s",
    (_, files) => {
      const dir = temporaryDirectory();
      const [from, to] = [join(dir, "from"), join(dir, "to")];
      writeFileSync(from, "new");
      expect(publishExclusive(files, from, to)).toBe(true);
      expect(readFileSync(to, "utf8")).toBe("new");
      nodeFileSystem.unlink(from);
      writeFileSync(from, "newer");
      expect(publishExclusive(files, from, to)).toBe(false);
      expect([readFileSync(from, "utf8"), readFileSync(to, "utf8")]).toEqual(["newer", "new"]);
    },
  );

  test("fails as the system does otherwise, and leaves the file", () => {
    const dir = temporaryDirectory();
    const [from, to] = [join(dir, "from"), join(dir, "to")];
    writeFileSync(from, "new");
    expect(() => publishExclusive(linkFails("EIO"), from, to)).toThrow("EIO");
    expect([existsSync(from), existsSync(to)]).toEqual([true, false]);
    expect(() => publishExclusive(nodeFileSystem, join(dir, "none"), to)).toThrow("ENOENT");
    expect(existsSync(to)).toBe(false);
  });
});

describe("process identity", () => {
  // The kernel's word on when a process started, and on its state, is found there on Linux alone.
  const hasProc = existsSync("/proc/self/stat");

  function child(command: string, ...args: string[]): ChildProcess {
    const process = spawn(command, args, { stdio: ["ignore", "pipe", "ignore"] });
    onTestFinished(() => void process.kill("SIGKILL"));
    return process;
  }

  test("this process is itself, and alive", () => {
    const own = ownIdentity();
    expect(own).toMatchObject({ pid: process.pid, host: expect.stringContaining(hostname()) });
    expect(ownIdentity()).toEqual(own);
    expect(isAlive(own)).toBe(true);
  });

  test.runIf(hasProc)("identity tells boots and starts apart on Linux", () => {
    const { bootId, startTime, host } = ownIdentity();
    expect(bootId).toMatch(/^[0-9a-f-]{36}$/);
    expect(startTime).toMatch(/^\d+$/);
    expect(host).toMatch(/\/pid:\[\d+\]$/);
  });

  test("a process that ended is not alive", () => {
    const { pid } = spawnSync(process.execPath, ["-e", ""]);
    expect(isAlive({ ...ownIdentity(), pid, startTime: "" })).toBe(false);
  });

  test.runIf(hasProc)(
    "another process with a process id that is used again is not the one that had it",
    () => {
      const own = ownIdentity();
      expect(isAlive({ ...own, startTime: String(Number(own.startTime) - 1) })).toBe(false);
      // Where either start is not known, the process id has to do.
      expect(isAlive({ ...own, startTime: "" })).toBe(true);
    },
  );

  test("a stopped process is alive", async () => {
    const { pid = 0 } = child("sleep", "30");
    process.kill(pid, "SIGSTOP");
    expect(isAlive({ ...ownIdentity(), pid, startTime: "" })).toBe(true);
  });

  test.runIf(hasProc)("a process that ended and whose parent has not looked is not alive", async () => {
    // The shell becomes a program that never asks for its child.
    const parent = child("sh", "-c", "sleep 30 & echo $!; exec sleep 30");
    const pid = await new Promise<number>((resolve) => {
      parent.stdout?.once("data", (data) => resolve(Number(String(data))));
    });
    const poll = { timeout: 30_000, interval: 5 };
    await vi.waitFor(() => expect(readFileSync(`/proc/${parent.pid}/comm`, "utf8")).toBe("sleep\n"), poll);
    expect(isAlive({ ...ownIdentity(), pid, startTime: "" })).toBe(true);
    process.kill(pid, "SIGKILL");
    await vi.waitFor(() => expect(isAlive({ ...ownIdentity(), pid, startTime: "" })).toBe(false), poll);
    expect(existsSync(`/proc/${pid}`)).toBe(true);
  });
});
