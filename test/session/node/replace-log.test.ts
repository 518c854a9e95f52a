import { execFileSync } from "node:child_process";
import {
  chmodSync,
  closeSync,
  existsSync,
  ftruncateSync,
  openSync,
  readFileSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { OpenFile } from "../../../src/core/node/file-system.js";
import { nodeFileSystem } from "../../../src/core/node/node-file-system.js";
import { tornLineTerminator } from "../../../src/log/internal.js";
import { tornTailEnding } from "../../../src/storage/files/file-log.js";
import { copyLog, saveCopy } from "../../../src/storage/files/replace-log.js";
import { SimulatedDisk } from "../../support/simulated-disk.js";
import { temporaryDirectory } from "./temporary-directory.js";

const encoder = new TextEncoder();

/** Copies `/log` up to an offset to `/copy`; what that has then. */
async function copied(disk: SimulatedDisk, end: number, first: string): Promise<string | undefined> {
  const file = disk.open("/log", "read") as OpenFile;
  const done = await copyLog(disk, { file, path: "/log", end }, "/copy", encoder.encode(first));
  return done ? new TextDecoder().decode(disk.bytes("/copy")) : undefined;
}

function diskOf(text: string): SimulatedDisk {
  const disk = new SimulatedDisk();
  disk.put("/log", text);
  return disk;
}

test("the copy is another first line, with more or fewer spaces behind it, and the rest as it is", async () => {
  const lines = fc.array(fc.stringMatching(/^[a-z\r ]{0,30}$/), { minLength: 1, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(lines, fc.nat(), fc.nat(40), fc.nat(40), async (lines, pick, length, room) => {
      const text = lines.map((line) => `${line}\n`).join("");
      const ends = [...text.matchAll(/\n/g)].map(({ index }) => index + 1);
      const end = ends[pick % ends.length] as number;
      const disk = diskOf(text);
      const copy = (await copied(disk, end, `${"H".repeat(length)}${" ".repeat(room)}\n`)) as string;
      const [header = "", ...rest] = copy.split("\n");
      expect(header.trimEnd()).toBe("H".repeat(length));
      expect(rest.join("\n")).toBe(text.slice(ends[0], end));
      const isCloned = length < (ends[0] as number) && 2 * end >= text.length;
      expect(disk.counts.clone).toBe(isCloned ? 1 : 0);
      expect(header.length).toBe(isCloned ? (ends[0] as number) - 1 : length + room);
      expect(new TextDecoder().decode(disk.bytes("/log"))).toBe(text);
    }),
  );
});

test("lines longer than a step of reading are copied too", async () => {
  const text = `${"h".repeat(10_000)}\n${"x".repeat(3 << 20)}\n`;
  for (const [first, clones] of [
    ["H\n", 1],
    [`${"H".repeat(20_000)}\n`, 0],
  ] as const) {
    const disk = diskOf(text);
    const copy = (await copied(disk, text.length, first)) as string;
    expect([copy.trimEnd().endsWith("x".repeat(3 << 20)), disk.counts.clone]).toEqual([true, clones]);
  }
});

describe("a copy of a file that", () => {
  const text = "header\none\ntwo\n";

  test("is no longer as long, there is no copy", async () => {
    for (const first of ["H\n", "longer than before\n"]) {
      expect(await copied(diskOf(text), text.length + 1, first)).toBeUndefined();
    }
    expect(await copied(diskOf("header"), 6, "H\n")).toBeUndefined();
    expect(await copied(diskOf(text), 3, "H\n")).toBeUndefined();
  });

  test("has lost its name, before or meanwhile, the copy is of the file itself", async () => {
    for (const when of ["before", "meanwhile", "to none"]) {
      const disk = diskOf(text);
      const file = disk.open("/log", "read") as OpenFile;
      disk.put("/other", "HEADER\nnot this\nfile\n");
      const clone = disk.clone.bind(disk);
      disk.clone = (...args) => {
        if (when === "meanwhile") disk.rename("/other", "/log");
        return clone(...args);
      };
      if (when === "before") disk.rename("/other", "/log");
      if (when === "to none") disk.unlink("/log");
      const source = { file, path: "/log", end: text.length };
      expect(await copyLog(disk, source, "/copy", encoder.encode("H\n"))).toBe(true);
      // What else has the name is not even opened, where that was seen.
      expect(disk.counts.clone).toBe(when === "meanwhile" ? 1 : 0);
      expect(new TextDecoder().decode(disk.bytes("/copy"))).toBe("H\none\ntwo\n");
    }
  });

  test("is written to meanwhile, the copy ends where it was to", async () => {
    const disk = diskOf(text);
    const clone = disk.clone.bind(disk);
    disk.clone = (...args) => {
      disk.open("/log", "append")?.append(encoder.encode("three\nfo"));
      return clone(...args);
    };
    expect(await copied(disk, text.length, "H\n")).toBe("H     \none\ntwo\n");
  });
});

test("a file that cannot be cloned is copied, and nothing is left of the attempt", async () => {
  for (const when of ["before", "after"]) {
    const disk = diskOf("header\none\ntwo\n");
    const clone = disk.clone.bind(disk);
    disk.clone = async (...args) => {
      if (when === "after") await clone(...args);
      throw new Error("not supported");
    };
    expect(await copied(disk, 11, "H\n")).toBe("H\none\n");
    expect(disk.paths()).toEqual(["/log", "/copy"]);
  }
});

test.each([
  ["takes nothing", () => 0, "a write took no bytes"],
  ["takes less than it says", (bytes: Uint8Array) => bytes.length, "were written"],
])("a disk that %s ends the copy", async (_, append, message) => {
  const disk = diskOf("header\none\n");
  const open = disk.open.bind(disk);
  disk.open = (path, mode) => {
    const file = open(path, mode);
    if (file !== undefined && mode === "create") file.append = append;
    return file;
  };
  await expect(copied(disk, 11, "longer than before\n")).rejects.toThrow(message);
});

test("a copy of a real file is its owner's alone, though the file be read-only or open to all", async () => {
  for (const mode of [0o444, 0o666]) {
    const directory = temporaryDirectory();
    const path = join(directory, "log");
    const to = join(directory, "copy");
    writeFileSync(path, "header\none\ntwo\nthree\n");
    chmodSync(path, mode);
    const file = nodeFileSystem.open(path, "read") as OpenFile;
    expect(await copyLog(nodeFileSystem, { file, path, end: 15 }, to, encoder.encode("H\n"))).toBe(true);
    file.close();
    // With spaces where the file system shares blocks.
    expect(readFileSync(to, "utf8")).toMatch(/^H *\none\ntwo\n$/);
    if (process.platform !== "win32") expect(statSync(to).mode & 0o777).toBe(0o600);
    expect(readFileSync(path, "utf8")).toBe("header\none\ntwo\nthree\n");
  }
});

/** It says that it has 4096 bytes and has fewer, as a file has that is cut while it is copied. */
const shorter = "/sys/kernel/mm/transparent_hugepage/enabled";

test.runIf(existsSync(shorter))("a clone waits for no bytes that a file has lost", async () => {
  const to = join(temporaryDirectory(), "copy");
  await expect(nodeFileSystem.clone(shorter, to, encoder.encode("H\n"), 2)).rejects.toThrow("copyfile");
  expect(existsSync(to)).toBe(false);
});

describe("the repair of a torn tail", () => {
  const header = '{"type":"session","version":3,"id":"a","timestamp":"","cwd":"/"}\n';
  const line = '{"type":"message","id":"0badc0de","parentId":null,"timestamp":"","message":{}}';

  async function endingOf(text: string | Uint8Array, maxLineBytes = 1 << 20): Promise<string | undefined> {
    const disk = new SimulatedDisk();
    disk.put("/log.jsonl", text);
    const file = disk.open("/log.jsonl", "append") as OpenFile;
    const ending = await tornTailEnding(file, maxLineBytes);
    expect(disk.counts.write).toBe(0);
    return ending && new TextDecoder().decode(ending);
  }

  test("a log that ends with a line feed, or is empty, needs none", async () => {
    for (const text of ["", "\n", header, `${header + line}\n`, `${header}torn\n`])
      expect(await endingOf(text)).toBeUndefined();
  });

  test("a whole last line needs its line feed, whatever version it is of", async () => {
    const first = '{"type":"message","timestamp":"","message":{"role":"user","content":"of version 1"}}';
    for (const last of [line, first, `${line}\r`, "{}", ` ${line} `, `${line}${" ".repeat(200_000)}`])
      expect(await endingOf(header + last)).toBe("\n");
    expect(await endingOf(`{"text":"${"x".repeat(300_000)}"}`)).toBe("\n");
  });

  // @covers durability:torn-tail
  test("anything else is ended by a tab too, by which a reader knows it", async () => {
    const torn = [
      "{",
      line.slice(0, -1),
      `${line}\0\0\0`,
      "\0\0\0\0",
      '"text"',
      "42",
      "null",
      "[]",
      "   ",
      '{"a":}',
    ];
    for (const last of [...torn, `{"text":"${"x".repeat(300_000)}`, '{"a":"\xff', '{"a":"\xff"}'])
      expect(await endingOf(Buffer.from(header + last, "latin1"))).toBe("\t\n");
    expect(new TextDecoder().decode(tornLineTerminator)).toBe("\t\n");
  });

  test("a last line over the limit is not read", async () => {
    expect(await endingOf(`${header}{"text":"${"x".repeat(3000)}"}`, 2000)).toBe("\t\n");
    expect(await endingOf(`${header}{"text":"${"x".repeat(300_000)}"}`, 2000)).toBe("\t\n");
  });

  test("a copy that cannot be made whole is not left there", async () => {
    const disk = new SimulatedDisk();
    disk.put("/log", "0123456789");
    await saveCopy(disk, "/log", "/copy");
    expect(Buffer.from(disk.bytes("/copy") ?? []).toString()).toBe("0123456789");
    await expect(saveCopy(disk, "/log", "/copy")).rejects.toThrow("/copy is there already");
    disk.failNext("sync", "EIO");
    await expect(saveCopy(disk, "/log", "/second")).rejects.toMatchObject({ code: "EIO" });
    expect(disk.paths().sort()).toEqual(["/copy", "/log"]);
  });

  // @covers durability:nul-tail
  test("a copy of a sparse file is sparse, and has the same bytes", async () => {
    const dir = temporaryDirectory();
    const path = join(dir, "log");
    writeFileSync(path, `${header}{"text":"`);
    const fd = openSync(path, "a");
    ftruncateSync(fd, 64 << 20);
    writeSync(fd, '"}\n');
    closeSync(fd);
    const file = nodeFileSystem.open(path, "read") as OpenFile;
    const { size } = file.stat();
    await saveCopy(nodeFileSystem, path, join(dir, "saved"));
    const noClone = { ...nodeFileSystem, clone: () => Promise.reject(new Error("no")) };
    const first = new TextEncoder().encode(header);
    expect(await copyLog(noClone, { file, path, end: size }, join(dir, "copied"), first)).toBe(true);
    file.close();
    for (const name of ["saved", "copied"]) {
      execFileSync("cmp", [path, join(dir, name)]);
      // In blocks of 512 bytes.
      expect(statSync(join(dir, name)).blocks).toBeLessThan((8 << 20) / 512);
    }
  });
});
