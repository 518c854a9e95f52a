import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { OpenFile } from "../../../src/internal/node/file-system.js";
import { nodeFileSystem } from "../../../src/internal/node/node-file-system.js";
import { copyLog } from "../../../src/session/node/replace-log.js";
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

describe("where the file", () => {
  const text = "header\none\ntwo\n";

  test("is no longer as long, there is no copy", async () => {
    for (const first of ["H\n", "longer than before\n"]) {
      expect(await copied(diskOf(text), text.length + 1, first)).toBeUndefined();
    }
    expect(await copied(diskOf("header"), 6, "H\n")).toBeUndefined();
    expect(await copied(diskOf(text), 3, "H\n")).toBeUndefined();
  });

  test("has lost its name, to another one or to none, before or meanwhile, the copy is of the file itself", async () => {
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

test("what cannot be cloned is copied, and nothing is left of the attempt", async () => {
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
