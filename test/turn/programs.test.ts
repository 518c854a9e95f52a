import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { memorySessionStore, type SessionBackend } from "sessile";
import { fileSessionStore } from "sessile/node";
import { databaseDriver, sqliteSessionBackend } from "sessile/sqlite";
import { afterAll, describe, test } from "vitest";
import { closeDatabases, memoryDatabase } from "../sqlite/databases.js";
import { rounds } from "../support/rounds.js";
import { SimulatedDisk } from "../support/simulated-disk.js";
import { runTurnProgram, turnPrograms } from "../support/turn-programs.js";

const scratch = mkdtempSync(join(tmpdir(), "sessile-turns-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
afterAll(closeDatabases);

interface Place {
  readonly open: () => Promise<SessionBackend>;
  /** Steps of a program at most. */
  readonly steps: number;
  readonly few: number;
  readonly many: number;
  /** Whether timers are real, since the backend waits for more than this process. */
  readonly isReal?: true;
}

/** CI runs 10,000 in memory, and a fifth of the others; `SESSILE_FAULT_ROUNDS=1000000` runs a million. */
const places: Readonly<Record<string, Place>> = {
  memory: { open: async () => memorySessionStore().backend, steps: 2, few: 25, many: 1_000_000 },
  "memory, long": { open: async () => memorySessionStore().backend, steps: 8, few: 3, many: 1000 },
  "simulated files": {
    open: async () => new SimulatedDisk().sessions({ dir: "/sessions", durability: "os" }).backend,
    steps: 4,
    few: 5,
    many: 2500,
  },
  files: {
    open: async () => fileSessionStore({ dir: scratch, durability: "os" }).backend,
    steps: 8,
    few: 2,
    many: 250,
    isReal: true,
  },
  SQLite: {
    open: async () => {
      const backend = sqliteSessionBackend({ driver: databaseDriver(memoryDatabase()) });
      await backend.migrate();
      return backend;
    },
    steps: 6,
    few: 3,
    many: 500,
  },
};

let sessions = 0;

describe("turns of random programs, whose processes end and stand still at any step", () => {
  test.each(Object.entries(places))(
    "keep what they promise, in %s",
    async (_name, { open, steps, few, many, isReal }) => {
      await fc.assert(
        fc.asyncProperty(turnPrograms(steps), async (program) => {
          await runTurnProgram(program, await open(), `s${sessions++}`, isReal);
        }),
        { numRuns: rounds(few, many) },
      );
    },
    0,
  );
});
