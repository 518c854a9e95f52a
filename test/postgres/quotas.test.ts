import { type BlobQuotas, blobStore } from "sessile";
import { postgresBlobQuotas } from "sessile/postgres";
import { beforeAll, describe, expect, it } from "vitest";
import { memoryBlobBackend } from "../../src/blobs/memory.js";
import { holdAgainstModel } from "../support/blob-quotas.js";
import { rounds } from "../support/rounds.js";
import { FaultyDriver, lostConnection, pglite, serverError, startMs } from "./pglite.js";

const schema = "quotas";
const refs = { a: `sha256:${"a".repeat(64)}`, b: `sha256:${"b".repeat(64)}` } as const;

beforeAll(async () => {
  const db = await pglite();
  await db.query(`drop schema if exists ${schema} cascade`);
  await postgresBlobQuotas({ db, schema }).migrate();
}, startMs);

async function emptyQuotas(): Promise<{ readonly db: FaultyDriver; readonly quotas: BlobQuotas }> {
  const server = await pglite();
  await server.query(`delete from ${schema}.quota`);
  const db = new FaultyDriver(server);
  return { db, quotas: postgresBlobQuotas({ db, schema, retryMs: 1000 }) };
}

describe("quotas in PGlite", () => {
  it("do what the model does", async () => {
    await holdAgainstModel(async () => (await emptyQuotas()).quotas, rounds(40, 120));
  });

  it("hold for two stores on one storage, one statement an operation", async () => {
    const { db, quotas } = await emptyQuotas();
    const backend = memoryBlobBackend();
    const stores = [1, 2].map(() => blobStore(backend, { quota: 1000, quotas }));
    const puts = Array.from({ length: 20 }, (_, seed) =>
      (stores[seed % 2] as (typeof stores)[0]).put(new Uint8Array(90).fill(seed)),
    );
    const outcomes = await Promise.allSettled(puts);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(11);
    expect(await quotas.usage("")).toEqual({ used: 990, added: 990 });
    db.queries.length = 0;
    await stores[0]?.put(new Uint8Array(10));
    expect(db.queries).toHaveLength(2);
  });

  it("forget a reservation that expired before it had a name, and no other", async () => {
    const { quotas } = await emptyQuotas();
    await quotas.recount("", 0, 0);
    const options = { quota: 100, leaseMs: 0 };
    await quotas.reserve("", { id: "unnamed", bytes: 10 }, options);
    await quotas.reserve("", { id: "named", bytes: 20, ref: refs.a }, options);
    const room = await quotas.reserve("", { id: "last", bytes: 80 }, options);
    const expired = [{ id: "named", bytes: 20, ref: refs.a }];
    expect(room).toEqual({ reserved: true, used: 20, expired });
    expect(await quotas.end("", "unnamed", 10)).toBe(false);
    expect(await quotas.end("", "named", 20)).toBe(true);
    expect((await quotas.usage("")).used).toBe(20);
  });

  it("count nothing too little, and nothing twice, if answers are lost", async () => {
    const { db, quotas } = await emptyQuotas();
    const lose = (which: "before" | "after") => {
      db[which] = () => {
        db[which] = undefined;
        throw lostConnection();
      };
    };
    await quotas.recount("", 0, 0);
    for (const which of ["before", "after"] as const) {
      await quotas.recount("", 100, (await quotas.usage("")).added);
      lose(which);
      const room = await quotas.reserve(
        "",
        { id: which, bytes: 10, ref: refs.a },
        { quota: 110, leaseMs: 1000 },
      );
      expect(room).toEqual({ reserved: true, used: 100, expired: [] });
      lose(which);
      expect(await quotas.end("", which, 10)).toBe(true);
      expect((await quotas.usage("")).used).toBe(110);
      expect(await quotas.end("", which, 10)).toBe(false);
      lose(which);
      await quotas.remove("", refs.b, 30);
      // A removal that may have been done is not made again: too high is corrected by the next recount.
      expect((await quotas.usage("")).used).toBe(which === "before" ? 110 : 80);
    }
    db.before = () => {
      db.before = undefined;
      throw serverError("40001");
    };
    await quotas.remove("", refs.b, 30);
    expect((await quotas.usage("")).used).toBe(50);
  });

  it("count a reservation for its lease, and tell of those alone that it left behind", async () => {
    const { quotas } = await emptyQuotas();
    await quotas.recount("", 0, 0);
    const [past, future] = [0, 60_000].map((leaseMs) => ({ quota: 100, leaseMs }));
    const reserve = (id: string, bytes: number, options = future, ref?: typeof refs.a) =>
      quotas.reserve("", { id, bytes, ...(ref && { ref }) }, options as NonNullable<typeof options>);
    await reserve("expired", 90, past);
    expect(await reserve("unnamed", 40)).toEqual({ reserved: true, used: 0, expired: [] });
    expect(await reserve("named", 40, future, refs.a)).toEqual({ reserved: true, used: 40, expired: [] });
    expect(await reserve("third", 21)).toEqual({ reserved: false, used: 80, expired: [] });
    expect(await reserve("third", 20)).toMatchObject({ reserved: true, used: 80 });
    // A reservation that does not fit leaves the one of the same id.
    await quotas.end("", "third", 0);
    await reserve("again", 10, past);
    expect(await reserve("again", 30, past)).toMatchObject({ reserved: false });
    expect(await quotas.end("", "again", 10)).toBe(true);
  });

  it("end, add and remove in one partition, and keep the count of a ref that is reserved", async () => {
    const { quotas } = await emptyQuotas();
    const options = { quota: 1000, leaseMs: 60_000 };
    for (const partition of ["", "acme"]) {
      await quotas.recount(partition, 100, 0);
      await quotas.reserve(partition, { id: "named", bytes: 10, ref: refs.a }, options);
      await quotas.reserve(partition, { id: "unnamed", bytes: 10 }, options);
    }
    await quotas.remove("", refs.a, 30);
    expect(await quotas.usage("")).toEqual({ used: 100, added: 0 });
    expect(await quotas.end("", "named", 10)).toBe(false);
    expect(await quotas.end("", "unnamed", 10)).toBe(true);
    await quotas.add("", 5);
    await quotas.remove("", refs.b, 1000);
    expect(await quotas.usage("")).toEqual({ used: 0, added: 15 });
    expect(await quotas.usage("acme")).toEqual({ used: 100, added: 0 });
    expect(await quotas.end("acme", "named", 10)).toBe(true);
    expect(await quotas.end("acme", "unnamed", 10)).toBe(true);
  });

  it("fail with the name of the partition, a migration too", async () => {
    const { db, quotas } = await emptyQuotas();
    db.before = () => {
      throw serverError("53100");
    };
    for (const [act, path] of [
      [quotas.usage(""), "quota of the unnamed partition"],
      [quotas.usage("acme"), "quota of acme"],
      [postgresBlobQuotas({ db, schema }).migrate(), schema],
    ] as const)
      await expect(act).rejects.toMatchObject({ code: "STORAGE_FAILED", details: { path } });
  });
});
