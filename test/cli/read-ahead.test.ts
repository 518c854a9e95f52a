import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { readAhead } from "../../src/cli/read-ahead.js";
import { call } from "./call.js";

const dir = mkdtempSync(join(tmpdir(), "sessile-ahead-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

it("lists a thousand sessions, of which threads read the files too", async () => {
  mkdirSync(join(dir, "--work--"));
  const entry = { type: "message", id: "m0", parentId: null, timestamp: "2026-01-01T00:00:00.000Z" };
  for (let number = 0; number < 1_000; number++) {
    const id = `session-${String(number).padStart(4, "0")}`;
    const header = { type: "session", version: 3, id, timestamp: entry.timestamp, cwd: "/work" };
    const message = { ...entry, message: { role: "user", content: `Question ${number}`, timestamp: 1 } };
    const text = `${JSON.stringify(header)}\n${JSON.stringify(message)}\n`;
    writeFileSync(join(dir, "--work--", `2026-01-01T00-00-00-000Z_${id}.jsonl`), text);
  }
  const { json, code } = await call(["ls", "--dir", dir, "--json"], { cwd: dir });
  expect([code, json.length]).toEqual([0, 1_000]);
  expect(new Set(json.map(({ title }) => title)).size).toBe(1_000);
});

it("reads nothing of a directory that is absent", async () => {
  await readAhead(join(dir, "absent"))();
});
