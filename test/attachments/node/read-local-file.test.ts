import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  realpathSync,
  renameSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import fc from "fast-check";
import { SessileError } from "sessile/errors";
import { readLocalFile } from "sessile/node";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { ExactFileStat, FileSystem, OpenFile } from "../../../src/core/node/file-system.js";
import { nodeFileSystem } from "../../../src/core/node/node-file-system.js";
import { readOpenFile, readWith } from "../../../src/storage/files/attachments/read-local-file.js";
import { temporaryDirectory } from "../../session/node/temporary-directory.js";
import { withMethods } from "../../support/hooked-file-system.js";

let dir: string;
/** A root with a file, a directory outside with a secret, and a directory whose name begins as the root's does. */
let root: string;
let outside: string;
beforeEach(() => {
  dir = realpathSync(temporaryDirectory());
  root = join(dir, "allowed");
  outside = join(dir, "outside");
  for (const folder of [root, outside, join(dir, "allowed_evil"), join(root, "sub")]) mkdirSync(folder);
  writeFileSync(join(root, "a.txt"), "hello");
  writeFileSync(join(outside, "secret.txt"), "secret");
});

/** The code of the failure and its reason or kind. */
async function failure(reading: Promise<unknown>): Promise<unknown> {
  const error = await reading.then(
    () => expect.fail("it was read"),
    (error: unknown) => error,
  );
  if (!(error instanceof SessileError)) throw error;
  const details: { reason?: string; kind?: string } = error.details;
  return [error.code, details.reason ?? details.kind].filter((part) => part !== undefined).join(" ");
}

describe("readLocalFile", () => {
  test("gives the bytes and the name", async () => {
    const bytes = new TextEncoder().encode("hello");
    expect(await readLocalFile(join(root, "a.txt"))).toEqual({ bytes, name: "a.txt" });
    expect(await readLocalFile(join(root, "a.txt"), { roots: [root], links: "refuse" })).toEqual({
      bytes,
      name: "a.txt",
    });
  });

  test("takes a file URL, as text or as a URL", async () => {
    writeFileSync(join(root, "größe #1?.txt"), "x");
    const url = pathToFileURL(join(root, "größe #1?.txt"));
    for (const input of [url, url.href, url.href.replace("file:", "FILE:")]) {
      expect((await readLocalFile(input, { roots: [root] })).name).toBe("größe #1?.txt");
    }
  });

  test.each([
    ["", "malformed"],
    ["a.txt", "relative"],
    ["/a\0.txt", "malformed"],
    [`/${"a".repeat(5000)}`, "malformed"],
    ["https://example.com/a", "url"],
    ["file://evil.host/x", "url"],
    ["file:///ws/report#final.pdf", "url"],
    ["file:///ws/report.pdf?v=2", "url"],
    ["file:///a%00b", "url"],
    ["file:///a%2Fb", "url"],
  ])("refuses %j as %s", async (path, reason) => {
    expect(await failure(readLocalFile(path))).toBe(`FILE_REFUSED ${reason}`);
  });

  test("refuses a URL of another scheme, and what is neither string nor URL", async () => {
    expect(await failure(readLocalFile(new URL("https://example.com/a")))).toBe("FILE_REFUSED url");
    for (const input of [undefined, 5, null, { href: "file:///a" }, ["/a"]]) {
      await expect(readLocalFile(input as never)).rejects.toThrow(TypeError);
    }
  });

  test("takes only options that make sense", async () => {
    const path = join(root, "a.txt");
    await expect(readLocalFile(path, { maxBytes: 0 })).rejects.toThrow(RangeError);
    await expect(readLocalFile(path, { roots: ["relative"] })).rejects.toThrow("roots[0]");
    await expect(readLocalFile(path, { roots: root as never })).rejects.toThrow(TypeError);
    await expect(readLocalFile(path, { links: "maybe" as never })).rejects.toThrow("links");
  });

  test("says what is missing, and what may not be read", async () => {
    expect(await failure(readLocalFile(join(root, "none")))).toBe("FILE_REFUSED missing");
    expect(await failure(readLocalFile(join(root, "a.txt", "b")))).toBe("FILE_REFUSED missing");
    expect(await failure(readLocalFile(join(root, "a".repeat(300))))).toBe("FILE_REFUSED malformed");
  });

  test.skipIf(process.getuid?.() === 0)("says what may not be read (skipped for root, who may)", async () => {
    chmodSync(join(root, "a.txt"), 0);
    expect(await failure(readLocalFile(join(root, "a.txt")))).toBe("FILE_REFUSED unreadable");
  });

  test("does not repeat a path of any length", async () => {
    const error = await readLocalFile(`/${"a".repeat(1_000_000)}`).catch((error: unknown) => error);
    expect(JSON.stringify(error).length).toBeLessThan(1000);
  });

  test("reads exactly the limit, and not one byte more", async () => {
    expect((await readLocalFile(join(root, "a.txt"), { maxBytes: 5 })).bytes).toHaveLength(5);
    const error = await readLocalFile(join(root, "a.txt"), { maxBytes: 4 }).catch((error: unknown) => error);
    expect(SessileError.is(error, "FILE_TOO_LARGE") && error.details).toMatchObject({
      bytes: 5,
      maxBytes: 4,
    });
  });

  test("does not read a terabyte that is not there", async () => {
    truncateSync(join(root, "a.txt"), 2 ** 40);
    expect(await failure(readLocalFile(join(root, "a.txt")))).toBe("FILE_TOO_LARGE");
  });

  test("stops when it is told to", async () => {
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(readLocalFile(join(root, "a.txt"), { signal })).rejects.toThrow("enough");
  });

  test("gives back what was written, byte for byte", async () => {
    const path = join(root, "bytes");
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 2000 }), async (bytes) => {
        writeFileSync(path, bytes);
        expect(Buffer.compare((await readLocalFile(path, { roots: [root] })).bytes, bytes)).toBe(0);
      }),
      { numRuns: 30 },
    );
  });
});

describe("readLocalFile, what is no regular file", () => {
  test("names a directory", async () => {
    expect(await failure(readLocalFile(root))).toBe("NOT_A_FILE directory");
    mkdirSync(join(root, "dir.txt"));
    expect(await failure(readLocalFile(join(root, "dir.txt")))).toBe("NOT_A_FILE directory");
  });

  test("does not wait for the writer of a FIFO, five times over", async () => {
    const fifo = join(root, "fifo");
    execFileSync("mkfifo", [fifo]);
    for (let i = 0; i < 5; i++) expect(await failure(readLocalFile(fifo))).toBe("NOT_A_FILE FIFO");
    // And the pool of threads still works.
    expect((await readLocalFile(join(root, "a.txt"))).bytes).toHaveLength(5);
  });

  test("does not wait for a FIFO that takes the place of a file", async () => {
    const path = join(root, "a.txt");
    const swapping = hooked({
      beforeOpen() {
        renameSync(path, join(root, "moved"));
        execFileSync("mkfifo", [path]);
      },
    });
    expect(await failure(readWith(swapping, path, { roots: [root] }))).toBe("CHANGED_DURING_READ");
  });

  test("names a socket", async () => {
    const path = join(dir, "s");
    const server = createServer();
    await new Promise<void>((ready) => server.listen(path, ready));
    onTestFinished(() => void server.close());
    expect(await failure(readLocalFile(path))).toBe("NOT_A_FILE socket");
  });

  test.each(["/dev/zero", "/dev/null", "/proc/self/environ", "/proc/self/mem", "/sys/kernel/notes"])(
    "refuses %s before it opens anything",
    async (path) => {
      const opened: string[] = [];
      const watching = hooked({ beforeOpen: (path) => void opened.push(path) });
      expect(await failure(readWith(watching, path, {}))).toBe("FILE_REFUSED system");
      expect(opened).toEqual([]);
    },
  );

  test("refuses what leads to them", async () => {
    symlinkSync("/proc/self", join(root, "me"));
    expect(await failure(readLocalFile(join(root, "me", "environ")))).toBe(
      existsSync("/proc/self/environ") ? "FILE_REFUSED system" : "FILE_REFUSED missing",
    );
  });
});

describe("readLocalFile, links and roots", () => {
  test("reads a hard link to a file outside, which is the same file by another name", async () => {
    linkSync(join(outside, "secret.txt"), join(root, "hard.txt"));
    const { bytes, name } = await readLocalFile(join(root, "hard.txt"), { roots: [root] });
    expect([Buffer.from(bytes).toString(), name]).toEqual(["secret", "hard.txt"]);
  });

  test("refuses a link in the place of the file, wherever it leads", async () => {
    symlinkSync(join(root, "a.txt"), join(root, "inside"));
    symlinkSync(join(outside, "secret.txt"), join(root, "out"));
    expect(await failure(readLocalFile(join(root, "inside")))).toBe("FILE_REFUSED link");
    expect(await failure(readLocalFile(join(root, "inside"), { roots: [root] }))).toBe("FILE_REFUSED link");
    expect(await failure(readLocalFile(join(root, "out"), { roots: [root] }))).toBe(
      "FILE_REFUSED outsideRoots",
    );
  });

  test("follows a link in the middle as long as it stays in the roots", async () => {
    symlinkSync(root, join(root, "sub", "up"));
    symlinkSync(outside, join(root, "leave"));
    const inside = join(root, "sub", "up", "a.txt");
    expect((await readLocalFile(inside, { roots: [root] })).bytes).toHaveLength(5);
    expect(await failure(readLocalFile(inside, { roots: [root], links: "refuse" }))).toBe(
      "FILE_REFUSED link",
    );
    expect(await failure(readLocalFile(inside, { links: "refuse" }))).toBe("FILE_REFUSED link");
    const left = join(root, "leave", "secret.txt");
    expect(await failure(readLocalFile(left, { roots: [root] }))).toBe("FILE_REFUSED outsideRoots");
    expect((await readLocalFile(left, { roots: [root, outside] })).bytes).toHaveLength(6);
    expect((await readLocalFile(left)).bytes).toHaveLength(6);
  });

  test("takes a root that is reached through a link", async () => {
    symlinkSync(root, join(dir, "alias"));
    const roots = [join(dir, "alias")];
    for (const path of [join(dir, "alias", "a.txt"), join(root, "a.txt")]) {
      expect((await readLocalFile(path, { roots, links: "refuse" })).bytes).toHaveLength(5);
    }
  });

  test("is not taken in by names", async () => {
    writeFileSync(join(dir, "allowed_evil", "a.txt"), "evil");
    writeFileSync(join(root, "..x"), "fine");
    const refused = (path: string) => failure(readLocalFile(path, { roots: [root] }));
    expect(await refused(join(dir, "allowed_evil", "a.txt"))).toBe("FILE_REFUSED outsideRoots");
    expect(await refused(`${root}/../outside/secret.txt`)).toBe("FILE_REFUSED outsideRoots");
    expect(await refused("/etc/hostname")).toBe("FILE_REFUSED outsideRoots");
    expect((await readLocalFile(join(root, "..x"), { roots: [root] })).name).toBe("..x");
    expect((await readLocalFile(`${root}/sub/../a.txt`, { roots: [root] })).name).toBe("a.txt");
  });

  test("goes up from where a link leads, as the system does", async () => {
    symlinkSync(join(outside), join(root, "leave"));
    mkdirSync(join(dir, "outside", "deep"));
    symlinkSync(join(outside, "deep"), join(root, "deep"));
    const path = `${root}/deep/../secret.txt`;
    expect(await failure(readLocalFile(path, { roots: [root] }))).toBe("FILE_REFUSED outsideRoots");
  });

  // @covers security:local-paths
  test("does not say what exists outside", async () => {
    const refused = (path: string) => failure(readLocalFile(path, { roots: [root] }));
    expect(await refused(join(outside, "none"))).toBe(await refused(join(outside, "secret.txt")));
    expect(await refused(outside)).toBe("FILE_REFUSED outsideRoots");
    expect(await refused(join(root, "none"))).toBe("FILE_REFUSED missing");
  });

  test("allows nothing where there are no roots, or none that exist", async () => {
    const path = join(root, "a.txt");
    expect(await failure(readLocalFile(path, { roots: [] }))).toBe("FILE_REFUSED outsideRoots");
    expect(await failure(readLocalFile(path, { roots: [join(dir, "gone")] }))).toBe(
      "FILE_REFUSED outsideRoots",
    );
  });

  test("ends where links lead in a circle", async () => {
    symlinkSync(join(root, "y"), join(root, "x"));
    symlinkSync(join(root, "x"), join(root, "y"));
    expect(await failure(readLocalFile(join(root, "x", "a"), { roots: [root] }))).toBe("FILE_REFUSED link");
  });
});

/** This machine's files, with something done to them at a chosen moment. */
function hooked(hooks: {
  beforeOpen?(path: string): void;
  afterOpen?(path: string): void;
  afterRead?(path: string): void;
}): FileSystem {
  return {
    ...nodeFileSystem,
    async openAsync(path, mode) {
      hooks.beforeOpen?.(path);
      const file = await nodeFileSystem.openAsync(path, mode);
      hooks.afterOpen?.(path);
      let first = true;
      return (
        file &&
        withMethods(file, {
          async read(into, at) {
            const count = await file.read(into, at);
            if (first) hooks.afterRead?.(path);
            first = false;
            return count;
          },
        })
      );
    },
  };
}

describe("readLocalFile, what changes under its hands", () => {
  const attempt = (files: FileSystem) => failure(readWith(files, join(root, "a.txt"), { roots: [root] }));

  test("notices a file that grows", async () => {
    expect(await attempt(hooked({ afterRead: (path) => appendFileSync(path, "more") }))).toBe(
      "CHANGED_DURING_READ",
    );
  });

  test("notices a file that is cut, or written over", async () => {
    expect(await attempt(hooked({ afterRead: (path) => truncateSync(path, 1) }))).toBe("CHANGED_DURING_READ");
    writeFileSync(join(root, "a.txt"), "hello");
    utimesSync(join(root, "a.txt"), 1, 1);
    expect(await attempt(hooked({ afterRead: (path) => writeFileSync(path, "HELLO") }))).toBe(
      "CHANGED_DURING_READ",
    );
  });

  test("notices another file in its place", async () => {
    const swap = () => {
      renameSync(join(root, "a.txt"), join(root, "old"));
      writeFileSync(join(root, "a.txt"), "other");
    };
    expect(await attempt(hooked({ beforeOpen: swap }))).toBe("CHANGED_DURING_READ");
  });

  test("does not open a link that takes the place of the file", async () => {
    const swap = () => {
      renameSync(join(root, "a.txt"), join(root, "old"));
      symlinkSync(join(outside, "secret.txt"), join(root, "a.txt"));
    };
    expect(await attempt(hooked({ beforeOpen: swap }))).toBe("FILE_REFUSED link");
  });

  // @covers security:local-paths
  test.each(["beforeOpen", "afterOpen"] as const)(
    "is not led out by a directory that becomes a link: %s",
    async (moment) => {
      writeFileSync(join(root, "sub", "secret.txt"), "mine");
      const swap = () => {
        renameSync(join(root, "sub"), join(root, "gone"));
        symlinkSync(outside, join(root, "sub"));
      };
      const path = join(root, "sub", "secret.txt");
      const reading = readWith(hooked({ [moment]: swap }), path, { roots: [root] });
      expect(await failure(reading)).toMatch(/^(?:FILE_REFUSED outsideRoots|CHANGED_DURING_READ)$/);
    },
  );

  test.skipIf(process.platform !== "linux")(
    "asks the system where the open file lies (skipped where it does not say: not Linux)",
    async () => {
      const lying: FileSystem = {
        ...nodeFileSystem,
        // A directory that was swapped and swapped back looks as before by its path.
        openAsync: (_, mode) => nodeFileSystem.openAsync(join(outside, "secret.txt"), mode),
        lstatExact: () => nodeFileSystem.lstatExact(join(outside, "secret.txt")),
      };
      expect(await attempt(lying)).toBe("FILE_REFUSED outsideRoots");
    },
  );

  test.skipIf(process.platform !== "linux")(
    "is not led into /proc by a directory that is a link for a moment, also without roots (skipped: not Linux)",
    async () => {
      const sub = join(root, "sub");
      writeFileSync(join(sub, "environ"), "mine");
      const swapped: FileSystem = {
        ...nodeFileSystem,
        lstatExact(path) {
          renameSync(sub, join(root, "gone"));
          symlinkSync("/proc/self", sub);
          return nodeFileSystem.lstatExact(path);
        },
        async openAsync(path, mode) {
          const file = await nodeFileSystem.openAsync(path, mode);
          unlinkSync(sub);
          renameSync(join(root, "gone"), sub);
          return file;
        },
      };
      expect(await failure(readWith(swapped, join(sub, "environ"), {}))).toBe("FILE_REFUSED system");
    },
  );

  test.skipIf(process.platform !== "linux")(
    "notices that another file was opened than the path names (skipped: not Linux)",
    async () => {
      const lying: FileSystem = {
        ...nodeFileSystem,
        openAsync: (_, mode) => nodeFileSystem.openAsync(join(outside, "secret.txt"), mode),
        lstatExact: () => nodeFileSystem.lstatExact(join(outside, "secret.txt")),
      };
      expect(await failure(readWith(lying, join(root, "a.txt"), {}))).toBe("CHANGED_DURING_READ");
    },
  );

  test("closes what it opened, whatever happens", async () => {
    let open = 0;
    const counting = (inner: FileSystem): FileSystem => ({
      ...inner,
      async openAsync(path, mode) {
        const file = await inner.openAsync(path, mode);
        open++;
        const close = () => {
          open--;
          file?.close();
        };
        return file && withMethods(file, { close });
      },
    });
    await readWith(counting(nodeFileSystem), join(root, "a.txt"), {});
    await attempt(counting(hooked({ afterRead: (path) => appendFileSync(path, "more") })));
    await readWith(counting(nodeFileSystem), join(root, "a.txt"), { maxBytes: 1 }).catch(() => undefined);
    expect(open).toBe(0);
  });

  test("passes on what else the system says, with its name", async () => {
    const failing: FileSystem = {
      ...nodeFileSystem,
      openAsync: () => Promise.reject(Object.assign(new Error("EIO: i/o error"), { code: "EIO" })),
    };
    const error = await readWith(failing, join(root, "a.txt"), {}).catch((error: unknown) => error);
    expect(SessileError.is(error, "STORAGE_FAILED") && error.details).toMatchObject({ errno: "EIO" });
    expect(basename(String((error as SessileError<"STORAGE_FAILED">).details.path))).toBe("a.txt");
  });
});

type ReadFile = Pick<OpenFile, "read" | "statExact">;

interface Script {
  readonly bytes: Uint8Array;
  /** What the file says of its size, before and after. */
  readonly said: readonly [bigint, bigint];
  /** Most bytes that one read gives. */
  readonly most?: number;
  readonly later?: bigint;
}

const facts = (size: bigint, mtimeNs = 0n): ExactFileStat => ({
  kind: "file",
  dev: 1n,
  ino: 1n,
  size,
  mtimeNs,
});

/** A file that does what the script says, and counts what was taken from it. */
function scripted({ bytes, said, most = Number.POSITIVE_INFINITY, later = 0n }: Script) {
  let at = 0;
  const file: ReadFile = {
    statExact: async () => facts(said[1], later),
    async read(into) {
      const count = Math.min(into.length, most, bytes.length - at);
      into.set(bytes.subarray(at, at + count));
      at += count;
      return count;
    },
  };
  return { file, opened: facts(said[0]), taken: () => at };
}

const bytesOf = (length: number) => Uint8Array.from({ length }, (_, index) => index % 251);

describe("readOpenFile", () => {
  test("gives the bytes of a file that stays as it is, however they come", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 300 }),
        fc.integer({ min: 1, max: 64 }),
        fc.boolean(),
        async (bytes, most, lies) => {
          const size = lies ? 0n : BigInt(bytes.length);
          const { file, opened } = scripted({ bytes, said: [size, size], most });
          const outcome = await readOpenFile(file, opened, Math.max(1, bytes.length), undefined);
          expect(outcome).toEqual({ status: "read", bytes });
        },
      ),
    );
  });

  test("takes at most one byte more than allowed, whatever the size says", async () => {
    for (const said of [0n, 10n, 100n]) {
      const { file, opened, taken } = scripted({ bytes: bytesOf(1_000_000), said: [said, said] });
      const outcome = await readOpenFile(file, opened, 100, undefined);
      expect(outcome).toEqual({ status: "tooLarge", bytes: 101 });
      expect(taken()).toBe(101);
    }
  });

  test("does not begin to read what says that it is too large", async () => {
    const { file, opened, taken } = scripted({ bytes: bytesOf(10), said: [101n, 101n] });
    expect(await readOpenFile(file, opened, 100, undefined)).toEqual({ status: "tooLarge", bytes: 101 });
    expect(taken()).toBe(0);
  });

  test.each<[string, Script]>([
    ["it grew before the end was read", { bytes: bytesOf(20), said: [10n, 20n] }],
    ["it grew after the end was read", { bytes: bytesOf(10), said: [10n, 20n] }],
    ["it was cut", { bytes: bytesOf(5), said: [10n, 5n] }],
    ["it was written over", { bytes: bytesOf(10), said: [10n, 10n], later: 1n }],
    ["it gave fewer bytes than it has", { bytes: bytesOf(5), said: [10n, 10n] }],
  ])("notices that %s", async (_, script) => {
    const { file, opened } = scripted(script);
    expect(await readOpenFile(file, opened, 100, undefined)).toEqual({ status: "changed" });
  });

  test("reads a file that says 0 far beyond the first guess", async () => {
    const bytes = bytesOf(300_000);
    const { file, opened } = scripted({ bytes, said: [0n, 0n] });
    const outcome = await readOpenFile(file, opened, 1 << 20, undefined);
    expect(outcome.status === "read" && Buffer.compare(outcome.bytes, bytes)).toBe(0);
  });

  test("stops between two reads", async () => {
    const stop = new AbortController();
    const { file, opened } = scripted({ bytes: bytesOf(10), said: [10n, 10n], most: 1 });
    const read = file.read;
    const stopping: ReadFile = {
      ...file,
      read(into, at) {
        stop.abort(new Error("enough"));
        return read(into, at);
      },
    };
    await expect(readOpenFile(stopping, opened, 100, stop.signal)).rejects.toThrow("enough");
  });
});
