import { Pool } from "pg";
import { blobStore, collectGarbage } from "sessile";
import { postgresBlobQuotas } from "sessile/postgres";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { memoryBlobBackend } from "../../src/blobs/memory.js";
import { type PostgresServer, startPostgres, withoutPostgres } from "../support/postgres.js";

let server: PostgresServer;
const pools: Pool[] = [];

function pool(): Pool {
  const made = new Pool({ connectionString: server.url, max: 8 });
  made.on("error", () => undefined);
  pools.push(made);
  return made;
}

beforeAll(async () => {
  if (withoutPostgres === undefined) server = await startPostgres();
});
afterEach(async () => {
  for (const made of pools.splice(0)) await made.end();
});
afterAll(() => server?.[Symbol.asyncDispose]());

describe.skipIf(withoutPostgres !== undefined)("quotas on a PostgreSQL server", () => {
  test("of two pools that race for a partition, one that collects beside them, none exceeds it", async () => {
    await Promise.all([1, 2].map(() => postgresBlobQuotas({ db: pool() }).migrate()));
    const backend = memoryBlobBackend();
    const quota = 10_000;
    const stores = [1, 2].map(() =>
      blobStore(backend, { quota, quotas: postgresBlobQuotas({ db: pool() }) }),
    );
    const bytesIn = async () => {
      let bytes = 0;
      for await (const { size } of backend.list()) bytes += size;
      return bytes;
    };
    let refused = 0;
    for (let round = 0; round < 8; round++) {
      const puts = Array.from({ length: 40 }, async (_, index) => {
        const bytes = new Uint8Array(400 + index).fill(round);
        const store = stores[index % 2] as (typeof stores)[0];
        // The same bytes from both, too.
        await store.put(index % 5 === 0 ? new Uint8Array(300).fill(round) : bytes).catch((error: unknown) => {
          refused++;
          expect(error).toMatchObject({ code: "QUOTA_EXCEEDED" });
        });
      });
      const now = () => Date.now() + 60_000;
      const marks = [{ root: "none", refs: [], complete: true }];
      const options = { marks, graceMs: 0, trashMs: 0, now };
      const collecting = collectGarbage(stores[round % 2] as (typeof stores)[0], options);
      await Promise.all([...puts, collecting]);
      expect(await bytesIn()).toBeLessThanOrEqual(quota);
    }
    expect(refused).toBeGreaterThan(0);
    for await (const _ of (stores[0] as (typeof stores)[0]).list());
    const { used } = await postgresBlobQuotas({ db: pool() }).usage("");
    expect(used).toBe(await bytesIn());
  });
});
