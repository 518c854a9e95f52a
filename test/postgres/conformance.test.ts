import { PGlite } from "@electric-sql/pglite";
import { postgresSessionBackend } from "sessile/postgres";
import { sessionStore } from "sessile/session";
import { type ConformanceFixture, sessionStoreConformance } from "sessile/session/conformance";
import { afterAll, beforeAll, describe, test } from "vitest";

const maxLineBytes = 2 * 1024 * 1024;

/** One server and one schema for all cases, since a server takes a second to start. Each case empties it. */
let db: PGlite;
const backend = () => postgresSessionBackend({ db });

beforeAll(async () => {
  db = await PGlite.create();
  await backend().migrate();
}, 60_000);
afterAll(() => db.close());

async function fixture(): Promise<ConformanceFixture> {
  await db.query("delete from sessile.session");
  return {
    open: () => sessionStore(backend(), { maxLineBytes }),
    maxLineBytes,
    async put(id, lines) {
      const { log, position } = await backend().create({
        partition: "",
        cwd: "/work",
        id,
        timestamp: "2026-01-01T00:00:00.000Z",
      });
      await log.append(
        lines.map((line) => new TextEncoder().encode(`${line}\n`)),
        position,
      );
      await log.close();
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
