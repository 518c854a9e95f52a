import { userMessage } from "sessile";
import { SessileError } from "sessile/errors";
import { afterEach, describe, expect, test, vi } from "vitest";
import { SimulatedDisk } from "../support/simulated-disk.js";

// Each process is another boot of the machine, so that its lock is no hindrance to the next.
const boot = vi.hoisted(() => ({ number: 0 }));
vi.mock("../../src/core/node/process-identity.js", async (original) => {
  const actual = await original<typeof import("../../src/core/node/process-identity.js")>();
  return { ...actual, ownIdentity: () => ({ ...actual.ownIdentity(), bootId: String(boot.number) }) };
});
afterEach(() => {
  boot.number = 0;
});

const id = "s";
const dir = "/home/agent/new/sessions";

/** The disk, with all that no sync has made last yet, after each change that this makes of it. */
async function momentsOf(disk: SimulatedDisk, act: () => Promise<void>): Promise<SimulatedDisk[]> {
  const moments: SimulatedDisk[] = [];
  disk.onChange = () => void moments.push(disk.copy());
  await act();
  disk.onChange = undefined;
  return moments;
}

/** Has another process append to what one left that was killed, then cuts the power; how many appended. */
async function appendThenCut(moments: readonly SimulatedDisk[]): Promise<number> {
  let appended = 0;
  for (const disk of moments) {
    boot.number++;
    const session = await disk
      .sessions({ dir })
      .open(id, { mode: "write" })
      .catch((error: unknown) => {
        // Nothing was written yet.
        if (SessileError.is(error, "SESSION_NOT_FOUND") || SessileError.is(error, "EMPTY")) return undefined;
        throw error;
      });
    if (session === undefined) continue;
    const entry = await session.appendMessage(userMessage("after"));
    appended++;
    boot.number++;
    for (const left of disk.afterPowerCut({ limit: 30 })) {
      const again = await left.sessions({ dir }).open(id);
      expect((await again.tree()).has(entry.id)).toBe(true);
      await again.close();
    }
    await session.close();
  }
  return appended;
}

describe("row 4: names that a process did not come to make last", () => {
  // @covers durability:inherited-name
  test("last when another process says that an entry does", async () => {
    const disk = new SimulatedDisk();
    const moments = await momentsOf(disk, async () => {
      const session = await disk.sessions({ dir }).create({ cwd: "/p", id });
      await session.appendMessage(userMessage("first"));
      await session.close();
    });
    expect(await appendThenCut(moments)).toBeGreaterThan(3);
  });

  // @covers durability:inherited-name
  test("last so after a migration", async () => {
    const disk = new SimulatedDisk();
    const lines = [
      { type: "session", id, timestamp: "2026-01-01T00:00:00.000Z", cwd: "/p" },
      {
        type: "message",
        timestamp: "2026-01-01T00:00:01.000Z",
        message: { role: "user", content: "one", timestamp: 1 },
      },
    ];
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
    disk.put(`${dir}/--p--/2026-01-01T00-00-00-000Z_${id}.jsonl`, text);
    const moments = await momentsOf(disk, async () => {
      const session = await disk.sessions({ dir }).open(id, { mode: "write" });
      await session.appendMessage(userMessage("first"));
      await session.close();
    });
    expect(await appendThenCut(moments)).toBeGreaterThan(6);
  });
});
