import { sessionStore } from "sessile/session";
import { type ConformanceFixture, sessionStoreConformance } from "sessile/session/conformance";
import { databaseDriver, sqliteSessionBackend } from "sessile/sqlite";
import { afterEach, describe, test } from "vitest";
import { closeDatabases, FaultyDriver, lostConnection, memoryDatabase, writesLines } from "./databases.js";

afterEach(closeDatabases);

const maxLineBytes = 2 * 1024 * 1024;

async function fixture(): Promise<ConformanceFixture> {
  const database = memoryDatabase();
  const driver = new FaultyDriver(databaseDriver(database));
  const backend = () => sqliteSessionBackend({ driver });
  await backend().migrate();
  return {
    open: () => sessionStore(backend(), { maxLineBytes }),
    maxLineBytes,
    async put(id, lines) {
      const session = { partition: "", cwd: "/work", id, timestamp: "2026-01-01T00:00:00.000Z" };
      const { log, position } = await backend().create(session);
      const bytes = lines.map((line) => new TextEncoder().encode(`${line}\n`));
      await log.append(bytes, position);
      await log.close();
    },
    async *contents() {
      yield database.contents();
    },
    loseAnswer() {
      driver.after = (statements) => {
        if (!writesLines(statements)) return;
        driver.after = undefined;
        throw lostConnection();
      };
    },
  };
}

// Synchronous drivers run the suite on Node 24, Bun and workerd: `npm run test:runtimes`.
describe("a store in SQLite over a network", () => {
  for (const { name, run } of sessionStoreConformance) {
    test(name, { timeout: 30_000 }, async ({ skip }) => {
      const result = await run(await fixture());
      if (result !== undefined) skip(result.skipped);
    });
  }
});
