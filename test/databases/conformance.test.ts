import { sessionStore } from "sessile";
import { type ConformanceFixture, sessionStoreConformance } from "sessile/conformance";
import { afterEach, beforeAll, describe, test } from "vitest";
import { pglite, startMs } from "../postgres/pglite.js";
import { closeDatabases } from "../sqlite/databases.js";
import { rounds } from "../support/rounds.js";
import { type Engine, engines } from "./subjects.js";

const maxLineBytes = 2 * 1024 * 1024;

beforeAll(async () => {
  await pglite();
}, startMs);
afterEach(closeDatabases);

async function fixtureOn({ start, lostConnection }: Engine, search: boolean): Promise<ConformanceFixture> {
  const tables = await start({ search });
  return {
    open: () => sessionStore(tables.backend(), { maxLineBytes }),
    maxLineBytes,
    async put(id, lines) {
      const session = { partition: "", cwd: "/work", id, timestamp: "2026-01-01T00:00:00.000Z" };
      const { log, position } = await tables.backend().create(session);
      const bytes = lines.map((line) => new TextEncoder().encode(`${line}\n`));
      await log.append(bytes, position);
      await log.close();
    },
    contents: () => tables.contents(),
    loseAnswer() {
      tables.faults.after = ({ isWrite }) => {
        if (!isWrite) return;
        tables.faults.after = undefined;
        throw lostConnection();
      };
    },
  };
}

// Synchronous drivers of SQLite run the suite on Node 24, Bun and workerd: `npm run test:runtimes`.
describe.each(engines)("a store in $name, as over a network", (engine) => {
  for (const { name, run } of sessionStoreConformance) {
    test(name, async ({ skip }) => {
      const result = await run(await fixtureOn(engine, false));
      if (result !== undefined) skip(result.skipped);
    });
  }
});

const indexed = rounds(0, 1) === 0 ? [] : engines;

describe.each(indexed)("a store in $name with an index of words", (engine) => {
  for (const { name, run } of sessionStoreConformance) {
    // The others write with these statements too; those of copies, erasures and migrations are in these.
    if (!/^search|eras|fork up to|whose answer|older version/.test(name)) continue;
    test(name, async ({ skip }) => {
      const result = await run(await fixtureOn(engine, true));
      if (result !== undefined) skip(result.skipped);
    });
  }
});
