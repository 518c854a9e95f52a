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
import { TurnPrograms, turnProgram } from "../support/turn-programs.js";

const scratch = mkdtempSync(join(tmpdir(), "sessile-turns-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
afterAll(closeDatabases);

let sessions = 0;
const backends: readonly [string, number, number, () => Promise<SessionBackend>][] = [
  ["memory", 25, 1000, async () => memorySessionStore().backend],
  ["files", 3, 20, async () => fileSessionStore({ dir: scratch, durability: "os" }).backend],
  [
    "SQLite",
    5,
    40,
    async () => {
      const backend = sqliteSessionBackend({ driver: databaseDriver(memoryDatabase()) });
      await backend.migrate();
      return backend;
    },
  ],
];

describe("turns of random programs, whose processes end at any step", () => {
  test.each(backends)("keep what they promise, in %s", async (_name, few, many, open) => {
    await fc.assert(
      fc.asyncProperty(turnProgram, async (program) => {
        await new TurnPrograms(await open(), `s${sessions++}`).run(program);
      }),
      { numRuns: rounds(few, many) },
    );
  });
});
