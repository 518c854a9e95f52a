import { mkdirSync, readdirSync, readlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { userMessage } from "sessile";
import { fileSessionStore } from "sessile/node";
import { expect, test } from "vitest";
import { temporaryDirectory } from "../session/node/temporary-directory.js";

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
