import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { turnClient } from "../../../examples/apps/turn-endpoint/client.js";
import { RawHttp } from "./turn-endpoint/raw-http.js";
import { type ServerProcess, spawnServer } from "./turn-endpoint/spawn-server.js";

const MiB = 2 ** 20;
const timeout = 600_000;
let dir: string;
let server: ServerProcess;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "sessile-turn-memory-"));
  server = await spawnServer(dir);
  // Loading and compiling at the start are not a cost of its clients.
  const client = turnClient(server);
  await client.upload("warm.txt", Buffer.alloc(9 * MiB, "a"));
  await client.turn("Warm up.");
}, timeout);
afterEach(async () => {
  await server[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true, force: true });
}, timeout);

function head(method: string, path: string, ...lines: readonly string[]): readonly string[] {
  const { port, token } = server;
  return [
    `${method} ${path} HTTP/1.1`,
    `Host: localhost:${port}`,
    `Authorization: Bearer ${token}`,
    ...lines,
    "",
    "",
  ];
}

/** The growth of the peak memory. */
async function usageCost(attack: () => Promise<void>): Promise<number> {
  const { now, most } = server.memory();
  await attack();
  return server.memory().most - Math.max(now, most);
}

// Without /proc the memory of a process cannot be measured.
describe.skipIf(!existsSync("/proc/self/status"))("bounded memory", { timeout }, () => {
  it("for clients that upload without an end: 8 at once, and nothing is left on the disk", async () => {
    const chunk = Buffer.from(`10000\r\n${"x".repeat(0x10000)}\r\n`);
    const cost = await usageCost(async () => {
      const statuses = await Promise.all(
        Array.from({ length: 8 }, async (_, at) => {
          using raw = await RawHttp.open(server.port);
          raw.write(...head("POST", `/api/harness/files?name=${at}.txt`, "Transfer-Encoding: chunked"));
          for (let sent = 0; !raw.closed && sent < 128 * MiB; sent += 0x10000) {
            if (raw.socket.write(chunk)) await setTimeout(0);
            else
              await Promise.race([new Promise((done) => raw.socket.once("drain", done)), raw.untilClosed()]);
          }
          await raw.untilClosed();
          return raw.status;
        }),
      );
      expect(statuses).toEqual(Array(8).fill(413));
    });
    expect(cost).toBeLessThan(64 * MiB);
    expect(readdirSync(join(dir, "uploads"))).toHaveLength(1);
  });

  it("for a client that does not read what a turn says: its stream is cut off, and the turn goes on", async () => {
    const client = turnClient(server);
    const body = JSON.stringify({ message: "Now flood." });
    const cost = await usageCost(async () => {
      using raw = await RawHttp.open(server.port);
      raw.socket.pause();
      const type = "Content-Type: application/json";
      raw.write(...head("POST", "/api/harness/turn", type, `Content-Length: ${body.length}`));
      raw.write(body);
      await client.until(({ running, entries }) => entries.length === 4 && !running);
      raw.socket.resume();
      await raw.untilClosed();
      // 64 MiB were streamed.
      expect(raw.received.length).toBeLessThan(24 * MiB);
      expect(raw.received).not.toContain("event: done");
    });
    expect(cost).toBeLessThan(48 * MiB);
    expect((await client.session()).entries.at(-1)?.text).toBe("That is all.");
  });

  it("for clients that do not read an attachment: 32 at once, of 9 MiB", async () => {
    const client = turnClient(server);
    const file = await client.upload("large.txt", Buffer.alloc(9 * MiB, "b"));
    const [user] = await client.turn("", [file.path]);
    const path = `/api/harness/blobs/${user?.data.resources?.[0]?.blob}`;
    await (await client.send("GET", path)).arrayBuffer();
    const cost = await usageCost(async () => {
      const open: RawHttp[] = [];
      for (let at = 0; at < 32; at++) {
        const raw = await RawHttp.open(server.port);
        open.push(raw);
        // The beginning, so that the rest is under way.
        raw.socket.once("data", () => raw.socket.pause());
        raw.write(...head("GET", path));
      }
      for (const raw of open) expect(await raw.untilStatus()).toBe(200);
      await setTimeout(200);
      for (const raw of open) raw.socket.destroy();
    });
    // In memory as a whole they would be 288 MiB.
    expect(cost).toBeLessThan(144 * MiB);
  });
});
