import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { SimulatedDisk } from "../support/simulated-disk.js";
import { entriesOn, type Model, message, programs, type Real } from "./tree-model.js";

/** More programs by hand, by SESSILE_FAULT_ROUNDS. */
const rounds = Number(process.env.SESSILE_FAULT_ROUNDS ?? 1);
vi.setConfig({ testTimeout: 300_000 * rounds });

// A machine that comes back has another boot id, and what was locked before is not locked any more.
const boot = vi.hoisted(() => ({ number: 0 }));
vi.mock("../../src/core/node/process-identity.js", async (original) => {
  const actual = await original<typeof import("../../src/core/node/process-identity.js")>();
  return { ...actual, ownIdentity: () => ({ ...actual.ownIdentity(), bootId: `boot ${boot.number}` }) };
});
afterEach(() => {
  boot.number = 0;
});

const storeOn = (disk: SimulatedDisk) => disk.sessions({ dir: "/sessions", lockWaitMs: 1000 });

/** A session with one message, and a handle of it. */
async function begun(): Promise<{ model: Model; real: Real }> {
  const disk = new SimulatedDisk();
  const session = await storeOn(disk).create({ cwd: "/work", id: "first" });
  await session.append([message("one")]);
  const log = { id: "first", entries: [...entriesOn(disk, "first")], lasting: 1 };
  expect(log.entries).toHaveLength(1);
  return {
    model: { logs: [log], handles: [{ log, leaf: session.leafId, staged: [], seen: 1 }] },
    real: { disk, sessions: [session], storeOn, reboot: () => void boot.number++, made: 0 },
  };
}

describe("row 18: the tree against a model, with crash and reopen", () => {
  // @covers durability:any-order
  test("handles, branches, labels, forks and crashes in any order keep what was acknowledged, and no more than was begun", async () => {
    await fc.assert(
      fc.asyncProperty(programs, async (commands) => {
        const { model, real } = await begun();
        await fc.asyncModelRun(() => ({ model, real }), commands);
        for (const session of real.sessions) await session.close();
      }),
      { numRuns: 60 * rounds },
    );
  });
});
