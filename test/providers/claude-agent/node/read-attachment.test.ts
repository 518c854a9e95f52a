import { execFileSync } from "node:child_process";
import { appendFileSync, chmodSync, mkdirSync, symlinkSync, truncateSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import fc from "fast-check";
import { type ResolveAttachmentsOptions, resolveAttachmentsToContentBlocks } from "sessile/claude-agent";
import { chiralityLimits } from "sessile/limits";
import { mediaTypeOfName } from "sessile/media";
import type { ReadLocalFileOptions } from "sessile/node";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { knownMediaTypes } from "../../../../src/core/media-types.js";
import { nodeFileSystem } from "../../../../src/core/node/node-file-system.js";
import {
  type AttachmentFiles,
  nodeAttachmentFiles,
  resolveWith,
} from "../../../../src/frameworks/claude-agent/node/attachments.js";
import { readWith } from "../../../../src/storage/files/attachments/read-local-file.js";
import { withMethods } from "../../../support/hooked-file-system.js";
import { AttachmentFolder, codes, MiB, named } from "./attachment-files.js";

let folder: AttachmentFolder;
beforeEach(() => {
  folder = new AttachmentFolder();
});

const _small = { width: 20, height: 10 };
const resolve = (paths: readonly string[], options?: ResolveAttachmentsOptions) =>
  resolveAttachmentsToContentBlocks("Hello", paths, options);
/** The code of the only file's error, "taken" without. */
async function outcome(path: string, options?: ResolveAttachmentsOptions): Promise<string> {
  const { errors } = await resolve([path], options);
  return errors[0]?.code ?? "taken";
}

describe("resolveAttachmentsToContentBlocks, each rule", () => {
  // @covers R159
  test.each(["relative.png", "", ".", "file:///a.png", "https://example.com/a.png", "~/a.png"])(
    "refuses %j, which is not absolute",
    async (path) => {
      expect(await outcome(path)).toBe("NOT_ABSOLUTE");
    },
  );

  // @covers R163
  test.each([
    "a.bin",
    "a",
    "a.png.exe",
    ".png",
    "a.svg",
    "a.jfif",
    "a.markdown",
    "a.html",
    "a.png ",
    "a.txt\n",
    "a.txt/",
  ])("refuses the extension of %j, also of a file that is there", async (name) => {
    if (!name.endsWith("/")) folder.write(name, "x");
    expect(await outcome(`${folder.dir}/${name}`)).toBe("UNSUPPORTED_EXTENSION");
  });

  // @covers R163
  test("takes nine extensions in any case, and no other that a file may have", async () => {
    const nine = ["png", "jpg", "jpeg", "gif", "webp", "pdf", "txt", "md", "csv"];
    const others = knownMediaTypes.flatMap(({ extensions }) => extensions);
    const extension = fc
      .oneof(fc.constantFrom(...nine, ...others), fc.stringMatching(/^[a-z0-9]{1,5}$/))
      .chain((name) => fc.constantFrom(name, name.toUpperCase()));
    await fc.assert(
      fc.asyncProperty(extension, async (name) => {
        const isTaken = nine.includes(name.toLowerCase());
        const expected = isTaken ? "NOT_FOUND" : "UNSUPPORTED_EXTENSION";
        expect(await outcome(`${folder.dir}/none.${name}`)).toBe(expected);
      }),
      { numRuns: 1000, examples: [...nine, ...others].map((name) => [name]) },
    );
    const types = new Set(nine.map((name) => mediaTypeOfName(`a.${name}`)));
    expect(new Set(chiralityLimits.fileTypes)).toEqual(types);
  });

  // @covers R167
  test("refuses what is not there, and a link to it", async () => {
    symlinkSync(join(folder.dir, "none.txt"), join(folder.dir, "dangling.txt"));
    for (const name of ["none.txt", "none/a.txt", "dangling.txt"]) {
      expect(await outcome(join(folder.dir, name))).toBe("NOT_FOUND");
    }
  });

  // @covers R167
  test("refuses what may not be read", async () => {
    const path = folder.write("a.txt", "x");
    chmodSync(folder.dir, 0o755);
    chmodSync(path, 0);
    // Root may read everything: for a moment it is nobody.
    const isRoot = process.getuid?.() === 0;
    if (isRoot) process.seteuid?.(65_534);
    try {
      expect(await outcome(path)).toBe("UNREADABLE");
    } finally {
      if (isRoot) process.seteuid?.(0);
    }
  });

  // @covers R164
  test("refuses a symbolic link, but not a directory that is one", async () => {
    const path = folder.write("real.txt", "x");
    symlinkSync(path, join(folder.dir, "link.txt"));
    symlinkSync(folder.dir, join(folder.dir, "there"));
    expect(await outcome(join(folder.dir, "link.txt"))).toBe("SYMLINK");
    expect(await outcome(join(folder.dir, "there", "real.txt"))).toBe("taken");
  });

  // @covers R164
  test("refuses a directory, a FIFO and a socket, and does not wait for them", async () => {
    mkdirSync(join(folder.dir, "dir.txt"));
    execFileSync("mkfifo", [join(folder.dir, "fifo.txt")]);
    const server = createServer().listen(join(folder.dir, "s.txt"));
    onTestFinished(() => void server.close());
    await new Promise((listening) => server.once("listening", listening));
    const { errors } = await resolve(["dir.txt", "fifo.txt", "s.txt"].map((name) => join(folder.dir, name)));
    expect(errors.map(({ code, reason }) => `${code}: ${reason}`)).toEqual([
      "NOT_A_FILE: it is a directory, not a file",
      "NOT_A_FILE: it is a FIFO, not a file",
      "NOT_A_FILE: it is a socket, not a file",
    ]);
  });

  test.skipIf(process.platform !== "linux")(
    "refuses the system's own files (skipped: not Linux)",
    async () => {
      expect(await outcome("/proc/self/environ.txt")).toBe("PATH_REFUSED");
      expect(await outcome("/dev/../proc/version.txt")).toBe("PATH_REFUSED");
    },
  );

  test("refuses what no path can be, and what lies outside the roots, there or not", async () => {
    const path = folder.write("a.txt", "x");
    const roots = [join(folder.dir, "allowed")];
    expect(await outcome("/a\0.txt")).toBe("PATH_REFUSED");
    for (const outside of [path, join(folder.dir, "none.txt"), `${folder.dir}/dir.txt`]) {
      expect(await outcome(outside, { roots })).toBe("PATH_REFUSED");
    }
    expect(await outcome(path, { roots: [folder.dir] })).toBe("taken");
  });

  // @covers R165
  test.each([null, undefined])("takes 10 MiB and not a byte more, with limits: %s", async (limits) => {
    const options = limits === undefined ? {} : { limits };
    expect(await outcome(folder.text("a.txt", 10 * MiB), options)).toBe("taken");
    expect(await outcome(folder.pdf("a.pdf", 10 * MiB), options)).toBe("taken");
    expect(await outcome(folder.text("a.txt", 10 * MiB + 1), options)).toBe("FILE_TOO_LARGE");
    expect(await outcome(folder.pdf("a.pdf", 10 * MiB + 1), options)).toBe("FILE_TOO_LARGE");
  });

  test("does not read a terabyte that is not there", async () => {
    const path = folder.text("a.txt", 1);
    truncateSync(path, 2 ** 40);
    expect(await outcome(path)).toBe("FILE_TOO_LARGE");
  });
});

/** This machine's files, with something done to each after the first read of it. */
function changing(change: (path: string) => void): AttachmentFiles {
  const read = (path: string, options: ReadLocalFileOptions) =>
    readWith(
      {
        ...nodeFileSystem,
        async openAsync(real, mode) {
          const file = await nodeFileSystem.openAsync(real, mode);
          let first = true;
          return (
            file &&
            withMethods(file, {
              async read(into, at) {
                const count = await file.read(into, at);
                if (first) change(real);
                first = false;
                return count;
              },
            })
          );
        },
      },
      path,
      options,
    );
  return { ...nodeAttachmentFiles, read };
}

describe("resolveAttachmentsToContentBlocks, what changes under its hands", () => {
  test("does not take a file that grows or shrinks while it is read", async () => {
    const path = folder.text("a.txt", 1000);
    const growing = changing((real) => appendFileSync(real, "more"));
    expect(codes((await resolveWith(growing, "", [path], {})).errors)).toEqual(["CHANGED_DURING_READ"]);
    const cut = changing((real) => truncateSync(real, 10));
    expect(codes((await resolveWith(cut, "", [path], {})).errors)).toEqual(["CHANGED_DURING_READ"]);
  });

  test("does not read on in a file that grows beyond what a file or the turn may have", async () => {
    const path = folder.text("a.txt", 10 * MiB);
    const growing = changing((real) => appendFileSync(real, Buffer.alloc(MiB, "b")));
    expect(codes((await resolveWith(growing, "", [path], {})).errors)).toEqual(["FILE_TOO_LARGE"]);
    const nine = [folder.text("b.txt", 9 * MiB), folder.text("c.txt", 9 * MiB)];
    const second = changing((real) => real === nine[1] && appendFileSync(real, "b"));
    expect(codes((await resolveWith(second, "", nine, {})).errors)).toEqual(["TURN_BUDGET_EXCEEDED"]);
  });

  test("gives the system's name of any other failure, and goes on", async () => {
    const files: AttachmentFiles = {
      ...nodeAttachmentFiles,
      read: (path, options) =>
        path.endsWith("a.txt")
          ? readWith(
              {
                ...nodeFileSystem,
                openAsync: () => Promise.reject(Object.assign(new Error(), { code: "EIO" })),
              },
              path,
              options,
            )
          : nodeAttachmentFiles.read(path, options),
    };
    const paths = [folder.write("a.txt", "x"), folder.write("b.txt", "x")];
    const { blocks, errors } = await resolveWith(files, "", paths, {});
    expect(errors).toEqual([{ path: paths[0], code: "READ_FAILED", reason: "reading it failed (EIO)" }]);
    expect(named(blocks)).toEqual(["b.txt"]);
  });
});
