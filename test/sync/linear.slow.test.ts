import { once } from "node:events";
import { createWriteStream, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type SessionStore, sessionStore } from "sessile";
import { fileSessionStore } from "sessile/node";
import { mergeSessions, syncSessions } from "sessile/sync";
import { expect, test } from "vitest";
import { hookedBackend, type LogHooks } from "../session/hooked-backend.js";
import { maxExponent } from "../support/growth.js";
import { bytesOf, memoryStore, put } from "./stores.js";

const header = '{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}\n';
const timestamp = "2026-01-01T00:00:00.000Z";
const line = (side: string, at: number, data = ""): string => {
  const id = (number: number) => `${side}${number.toString(16).padStart(7, "0")}`;
  const parentId = at === 0 ? null : id(at - 1);
  return `${JSON.stringify({ type: "custom", id: id(at), parentId, timestamp, customType: "c", data })}\n`;
};
const lines = (side: string, count: number, data = ""): string =>
  Array.from({ length: count }, (_, at) => line(side, at, data)).join("");

/** The power of the size that the processor's time grows with, of the fastest of three runs each. */
async function exponentOf(sizes: readonly number[], work: (size: number) => Promise<() => Promise<unknown>>) {
  const points: (readonly [number, number])[] = [];
  for (const size of sizes) {
    let least = Number.POSITIVE_INFINITY;
    for (let run = 0; run < 3; run++) {
      const act = await work(size);
      const started = process.cpuUsage();
      await act();
      const { user, system } = process.cpuUsage(started);
      least = Math.min(least, user + system);
    }
    points.push([Math.log(size), Math.log(least)]);
  }
  const [[x0, y0], [x1, y1]] = [points[0], points.at(-1)] as [(typeof points)[0], (typeof points)[0]];
  return (y1 - y0) / (x1 - x0);
}

const copies = (size: number) => ["a", "b"].map((side) => header + lines("c", size) + lines(side, size));

test("a sync takes time in proportion to the entries", async () => {
  const exponent = await exponentOf([4_000, 12_000, 36_000], async (size) => {
    const [a, b] = [memoryStore(), memoryStore()];
    const [one = "", two = ""] = copies(size);
    await put(a, "s", one);
    await put(b, "s", two);
    return () => syncSessions(a, b);
  });
  expect(exponent).toBeLessThan(maxExponent);
});

test("a merge takes time in proportion to the entries", async () => {
  const exponent = await exponentOf([4_000, 12_000, 36_000], async (size) => {
    const [one, two] = copies(size).map((text) => Buffer.from(text)) as [Buffer, Buffer];
    return () => mergeSessions(undefined, one, two);
  });
  expect(exponent).toBeLessThan(maxExponent);
});

test("a merge of copies whose lines are damaged takes time in proportion to the lines", async () => {
  const exponent = await exponentOf([8_000, 24_000], async (size) => {
    // Their prefixes are intact, so that they have rows.
    const message = { role: "user", content: "", timestamp: 1 };
    const damaged = (side: string) =>
      lines(side, size)
        .replaceAll('"custom"', '"message"')
        .replaceAll('"customType":"c","data":""', `"message":${JSON.stringify(message)}`)
        .replaceAll('"content":""', '"content":#');
    const [one, two] = ["a", "b"].map((side) => Buffer.from(header + line("c", 0) + damaged(side)));
    return () => mergeSessions(undefined, one as Buffer, two as Buffer);
  });
  expect(exponent).toBeLessThan(maxExponent);
});

test("a sync of 100,000 entries holds their places, and bodies of 2 MiB at most", async () => {
  const dir = mkdtempSync(join(tmpdir(), "sessile-sync-"));
  try {
    const data = "x".repeat(1500);
    const stores: SessionStore[] = [];
    let largest = 0;
    const hooks: LogHooks = {
      append(batch, _expected, append) {
        largest = Math.max(
          largest,
          batch.reduce((sum, { length }) => sum + length, 0),
        );
        return append();
      },
      readAt(places) {
        largest = Math.max(
          largest,
          places.reduce((sum, { length }) => sum + length, 0),
        );
      },
    };
    for (const side of ["a", "b"]) {
      const folder = join(dir, side, "--p--");
      mkdirSync(folder, { recursive: true });
      const path = join(folder, "2026-01-01T00-00-00-000Z_s.jsonl");
      const file = createWriteStream(path);
      file.write(header);
      for (const [name, count] of [
        ["c", 50_000],
        [side, 25_000],
      ] as const)
        for (let at = 0; at < count; at++) if (!file.write(line(name, at, data))) await once(file, "drain");
      file.end();
      await once(file, "close");
      expect(statSync(path).size).toBeGreaterThan(100_000_000);
      const { backend } = fileSessionStore({ dir: join(dir, side), durability: "os" });
      const bound = {
        create: backend.create.bind(backend),
        open: backend.open.bind(backend),
        list: backend.list.bind(backend),
        delete: backend.delete.bind(backend),
      };
      stores.push(sessionStore(hookedBackend(bound, hooks)));
    }
    const [a, b] = stores as [SessionStore, SessionStore];
    const before = process.memoryUsage();
    let peak = 0;
    const timer = setInterval(() => {
      const { heapUsed, arrayBuffers } = process.memoryUsage();
      peak = Math.max(peak, heapUsed + arrayBuffers - before.heapUsed - before.arrayBuffers);
    }, 5);
    expect(await syncSessions(a, b)).toMatchObject({ changed: 1, skipped: [] });
    clearInterval(timer);
    expect(largest).toBeLessThan(2 << 20);
    expect(peak).toBeLessThan(100_000_000);
    expect((await syncSessions(b, a)).entries).toBe(0);
    expect((await bytesOf(a, "s")).length).toBe((await bytesOf(b, "s")).length);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});
