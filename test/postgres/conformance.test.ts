import { postgresSessionBackend } from "sessile/postgres";
import { sessionStore } from "sessile/session";
import { type ConformanceFixture, sessionStoreConformance } from "sessile/session/conformance";
import { beforeAll, describe, test } from "vitest";
import { emptyStore, FaultyDriver, lostConnection, pglite, startMs, writesLines } from "./pglite.js";

const maxLineBytes = 2 * 1024 * 1024;
const schema = "conformance";

beforeAll(async () => {
  await emptyStore(schema);
}, startMs);

async function fixture(search = false): Promise<ConformanceFixture> {
  const server = await pglite();
  await server.query(`delete from ${schema}.session`);
  const db = new FaultyDriver(server);
  const backend = () => postgresSessionBackend({ db, schema, search });
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
      for (const table of ["session", "entry", "blob_ref"]) {
        const { rows } = await server.query<{ row: string }>(
          `select t::text as row from ${schema}.${table} t`,
        );
        for (const { row } of rows) {
          yield new TextEncoder().encode(row);
          for (const [, digits = ""] of row.matchAll(/\\x([0-9a-f]+)/g)) yield Buffer.from(digits, "hex");
        }
      }
    },
    loseAnswer() {
      db.after = (text) => {
        if (!writesLines(text)) return;
        db.after = undefined;
        throw lostConnection();
      };
    },
  };
}

describe("a store in PGlite", () => {
  for (const { name, run } of sessionStoreConformance) {
    test(name, { timeout: 30_000 }, async ({ skip }) => {
      const result = await run(await fixture());
      if (result !== undefined) skip(result.skipped);
    });
  }
});

describe("a store in PGlite with an index of words", () => {
  beforeAll(async () => {
    await postgresSessionBackend({ db: await pglite(), schema, search: true }).migrate();
  });

  for (const { name, run } of sessionStoreConformance) {
    // The others write with these statements too; those of copies and migrations are in these.
    if (!/^search|fork up to|whose answer/.test(name)) continue;
    test(name, { timeout: 30_000 }, async ({ skip }) => {
      const result = await run(await fixture(true));
      if (result !== undefined) skip(result.skipped);
    });
  }
});
