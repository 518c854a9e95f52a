import { execFileSync } from "node:child_process";
import { closeSync, ftruncateSync, openSync, statSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { OpenFile } from "../../../src/internal/node/file-system.js";
import { nodeFileSystem } from "../../../src/internal/node/node-file-system.js";
import { tornLineTerminator } from "../../../src/session/api/diagnostics.js";
import { tornTailEnding } from "../../../src/session/node/repair-torn-tail.js";
import { copyLog, saveCopy } from "../../../src/session/node/replace-log.js";
import { SimulatedDisk } from "../../support/simulated-disk.js";
import { temporaryDirectory } from "./temporary-directory.js";

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
