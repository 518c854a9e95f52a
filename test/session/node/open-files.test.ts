import { mkdirSync, readdirSync, readFileSync, readlinkSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { userMessage } from "../../../src/content/index.js";
import type { FileSystem } from "../../../src/internal/node/file-system.js";
import { nodeFileSystem } from "../../../src/internal/node/node-file-system.js";
import { sessionStoreConformance } from "../../../src/session/conformance.js";
import {
  type DescriptorHolder,
  DescriptorPool,
  descriptorPoolOf,
} from "../../../src/session/node/file-descriptors.js";
import { fileSessionStore, fileSessionStoreOn } from "../../../src/session/node/file-store.js";
import { temporaryDirectory } from "./temporary-directory.js";

/** A disk of which so many sessions keep their files open. */
function diskOf(max: number): FileSystem {
  const disk = { ...nodeFileSystem };
  descriptorPoolOf(disk, max);
  return disk;
}

const descriptors = (dir: string) =>
  readdirSync("/proc/self/fd").filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(dir);
    } catch {
      return false;
    }
  }).length;

// @covers durability:closed-file
test.runIf(process.platform === "linux")(
  "a thousand open sessions of any number of stores need 256 descriptors",
  {
    timeout: 120_000,
  },
  async () => {
    const dir = temporaryDirectory();
    const header = (id: string) =>
      `{"type":"session","version":3,"id":"${id}","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}\n`;
    const open = [];
    for (let at = 0; at < 1000; at++) {
      const id = `s${at}`;
      const dirOfStore = join(dir, `${at % 10}`);
      const path = join(dirOfStore, "--p--", `2026-01-01T00-00-00-000Z_${id}.jsonl`);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, header(id));
      const session = await fileSessionStore({ dir: dirOfStore, durability: "os" }).open(id, {
        mode: "write",
      });
      await session.appendMessage(userMessage(id));
      open.push(session);
    }
    expect(descriptors(dir)).toBeGreaterThan(100);
    expect(descriptors(dir)).toBeLessThanOrEqual(256);
    // Each goes on, those that were opened first too, and many at once.
    await Promise.all(open.map((session) => session.appendMessage(userMessage("more"))));
    for (const session of open) {
      expect((await session.context()).items.length).toBe(2);
      expect((await session.diagnose()).length).toBe(0);
    }
    expect(descriptors(dir)).toBeLessThanOrEqual(256);
    await Promise.all(open.map((session) => session.close()));
    expect(descriptors(dir)).toBe(0);
  },
);

// @covers durability:closed-file
test("a session whose file was closed reads no other file's lines when that has its name, or even its number", async () => {
  const dir = temporaryDirectory();
  const disk = diskOf(0);
  const store = fileSessionStoreOn(disk, { dir });
  const session = await store.create({ cwd: "/p", id: "a" });
  const { id } = await session.appendMessage(userMessage("of the old file"));
  const reader = await store.open("a");
  const path = session.location as string;
  const text = readFileSync(path, "utf8");
  writeFileSync(`${path}.new`, text.replace("of the old file", "of the new file"));
  renameSync(`${path}.new`, path);
  expect(await reader.entry(id)).toBeUndefined();
  await reader.context();
  expect(reader.diagnostics.map(({ code }) => code)).toEqual(["LOG_REPLACED"]);
  await reader.refresh();
  expect(JSON.stringify(await reader.entry(id))).toContain("of the new file");
  // The same file, rewritten in its place.
  writeFileSync(path, text.replace("of the old file", "shorter"));
  const again = await store.open("a");
  writeFileSync(path, text.replace("of the old file", "another"));
  expect(await again.entry(id)).toBeUndefined();
  for (const each of [session, reader, again]) await each.close();
});

test("those used last stay open, and those in use do", () => {
  const pool = new DescriptorPool(2);
  const released: string[] = [];
  const holder = (name: string) => ({ releaseDescriptors: () => void released.push(name) });
  const [a, b, c, d] = [holder("a"), holder("b"), holder("c"), holder("d")];
  const use = (each: DescriptorHolder) => {
    pool.acquire(each);
    pool.release(each);
  };
  pool.acquire(a);
  for (const each of [b, c]) use(each);
  expect(released).toEqual(["b"]);
  use(b);
  expect(released).toEqual(["b", "c"]);
  use(b);
  pool.remove(b);
  use(d);
  expect(released).toEqual(["b", "c"]);
  pool.acquire(a);
  pool.release(a);
  for (const each of [b, c, d]) use(each);
  expect(released).toEqual(["b", "c", "d", "b", "c"]);
  pool.release(a);
  use(b);
  expect(released.at(-1)).toBe("a");
});

describe("a store that closes every file at once", () => {
  test.each(sessionStoreConformance.map((one) => [one.name, one] as const))("%s", async (_, one) => {
    const dir = temporaryDirectory();
    await one.run({ open: () => fileSessionStoreOn(diskOf(0), { dir, durability: "os" }) });
  });
});
