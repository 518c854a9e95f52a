import { expect, test } from "vitest";
import type { DiskFile } from "../../../src/session/node/disk.js";
import { mendTail, saveRange } from "../../../src/session/node/tail.js";
import { SimulatedDisk } from "../../support/simulated-disk.js";

const header = '{"type":"session","version":3,"id":"a","timestamp":"","cwd":"/"}\n';
const line = '{"type":"message","id":"0badc0de","parentId":null,"timestamp":"","message":{}}';

async function mend(text: string | Uint8Array, maxLineBytes = 1 << 20) {
  const disk = new SimulatedDisk();
  disk.put("/log.jsonl", text);
  const file = disk.open("/log.jsonl", "append") as DiskFile;
  let syncs = 0;
  const sync = async () => {
    syncs++;
    await file.sync();
  };
  const saved = await mendTail(disk, file, "/log.jsonl", maxLineBytes, "stamp", sync);
  const torn = disk.paths().filter((path) => path !== "/log.jsonl");
  return {
    saved,
    syncs,
    log: Buffer.from(disk.bytes("/log.jsonl") ?? []).toString("latin1"),
    torn: torn.map((path) => [path, Buffer.from(disk.bytes(path) ?? []).toString("latin1")]),
  };
}

test("a log that ends with a line feed, or is empty, is left alone", async () => {
  for (const text of ["", "\n", header, `${header + line}\n`]) {
    expect(await mend(text)).toEqual({ saved: undefined, syncs: 0, log: text, torn: [] });
  }
});

test("a whole last line gets its line feed, whatever version it is of", async () => {
  const first = '{"type":"message","timestamp":"","message":{"role":"user","content":"of version 1"}}';
  for (const last of [line, first, `${line}\r`, "{}", ` ${line} `]) {
    expect(await mend(header + last)).toEqual({
      saved: undefined,
      syncs: 1,
      log: `${header}${last}\n`,
      torn: [],
    });
  }
});

test("anything else is put beside the log, byte for byte", async () => {
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
    '{"a":"\xff',
  ];
  for (const last of torn) {
    const bytes = Buffer.from(header + last, "latin1");
    const { saved, syncs, log, torn: files } = await mend(bytes);
    expect([log, syncs]).toEqual([header, 1]);
    expect(files).toEqual([[saved?.location, last]]);
    expect(saved?.bytes).toBe(last.length);
    expect(saved?.location).toMatch(/^\/log\.jsonl\.torn-stamp-[0-9a-f]{8}$/);
  }
  expect((await mend("torn header")).log).toBe("");
});

test("a long torn end is found and saved in steps", async () => {
  const long = `{"text":"${"x".repeat(300_000)}`;
  const { log, torn } = await mend(header + long);
  expect(log).toBe(header);
  expect(torn[0]?.[1]).toBe(long);
  const whole = `{"text":"${"x".repeat(300_000)}"}`;
  expect((await mend(header + whole)).log).toBe(`${header}${whole}\n`);
});

test("a last line over the limit is put aside unread", async () => {
  const whole = `{"text":"${"x".repeat(3000)}"}`;
  const { log, torn } = await mend(header + whole, 2000);
  expect(log).toBe(header);
  expect(torn[0]?.[1]).toBe(whole);
});

test("a line that another program is in the middle of is not cut off", async () => {
  const disk = new SimulatedDisk();
  disk.put("/log.jsonl", `${header}{"half":`);
  const file = disk.open("/log.jsonl", "append") as DiskFile;
  const open = disk.open.bind(disk);
  disk.open = (path, mode) => {
    // Its write goes on while ours looks: lines longer than a page come in pieces.
    if (mode === "create") file.append(Buffer.from("1}\n"));
    return open(path, mode);
  };
  expect(await mendTail(disk, file, "/log.jsonl", 1 << 20, "stamp", () => file.sync())).toBeUndefined();
  expect(Buffer.from(disk.bytes("/log.jsonl") ?? []).toString()).toBe(`${header}{"half":1}\n`);
  expect(disk.paths()).toEqual(["/log.jsonl"]);
});

test("a copy of a range that cannot be made whole is not left there", async () => {
  const disk = new SimulatedDisk();
  disk.put("/log", "0123456789");
  const file = disk.open("/log", "read") as DiskFile;
  await saveRange(disk, file, 2, 8, "/copy");
  expect(Buffer.from(disk.bytes("/copy") ?? []).toString()).toBe("234567");
  await expect(saveRange(disk, file, 0, 10, "/copy")).rejects.toThrow("/copy is there already");
  disk.failNext("sync", "EIO");
  await expect(saveRange(disk, file, 0, 10, "/second")).rejects.toMatchObject({ code: "EIO" });
  expect(disk.paths().sort()).toEqual(["/copy", "/log"]);
});
