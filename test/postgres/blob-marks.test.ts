import type { PGlite } from "@electric-sql/pglite";
import {
  type BlobMark,
  type BlobRef,
  collectGarbage,
  eraseEntries,
  memoryBlobStore,
  sessionBlobRoots,
  userMessage,
} from "sessile";
import { type PostgresMarksOptions, postgresBlobMarks } from "sessile/postgres";
import { beforeAll, describe, expect, test } from "vitest";
import { emptyStore, FaultyDriver, pglite, startMs } from "./pglite.js";

const schema = "marks";
let server: PGlite;
beforeAll(async () => {
  server = await pglite();
}, startMs);

const refOf = (digit: string, algorithm = "sha256") => `${algorithm}:${digit.repeat(64)}` as BlobRef;
const naming = (...refs: readonly string[]) => userMessage(`It names ${refs.join(" and ")}.`);

async function marksOf(options: Partial<PostgresMarksOptions> = {}): Promise<readonly BlobMark[]> {
  const marks: BlobMark[] = [];
  for await (const mark of postgresBlobMarks({ db: server, schema, ...options })) marks.push(mark);
  return marks;
}

/** All refs of complete marks, sorted. */
async function refsOf(options: Partial<PostgresMarksOptions> = {}): Promise<readonly BlobRef[]> {
  const marks = await marksOf(options);
  expect(marks.filter(({ complete }) => !complete)).toEqual([]);
  return [...new Set(marks.flatMap(({ refs }) => [...refs]))].sort();
}

/** Stores lines as another program does. */
async function put(id: string, lines: readonly (string | Uint8Array)[]): Promise<void> {
  const bytes = lines.map((line) => (typeof line === "string" ? new TextEncoder().encode(line) : line));
  const size = bytes.reduce((sum, { length }) => sum + length + 1, 0);
  await server.query(
    `insert into ${schema}.session (partition, id, epoch, cwd, head, size, modified_at, created_at, header)
    values ('', $1, gen_random_uuid(), '/', $2, $3, now(), now(), $4)`,
    [id, lines.length, size, bytes[0]],
  );
  for (const [seq, line] of bytes.entries())
    await server.query(`insert into ${schema}.entry values ('', $1, $2, $3)`, [id, seq, line]);
}

/** The driver, whose statements wait for something that began. */
function delayed(db: FaultyDriver, begun: () => Promise<unknown> | undefined) {
  return {
    async query(text: string, values?: unknown[]) {
      await begun();
      return db.query(text, values);
    },
  };
}

const header = (id: string, rest = "") =>
  `{"type":"session","version":3,"id":"${id}","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"${rest}}`;
const entry = (id: string, data: string) =>
  `{"type":"custom","id":"${id}","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","customType":"x","data":${data}}`;

describe("the references of sessions in PostgreSQL", () => {
  test("are those of the new lines after an erasure", async () => {
    const store = await emptyStore(schema);
    const session = await store.create({ cwd: "/", id: "one" });
    const first = await session.appendMessage(naming(refOf("1"), refOf("2")));
    await session.appendMessage(naming(refOf("2")));
    expect(await refsOf()).toEqual([refOf("1"), refOf("2")]);
    await eraseEntries(store, "one", [first.id], { reason: "a request" });
    expect(await refsOf()).toEqual([refOf("2")]);
    await session.refresh();
    await session.appendMessage(naming(refOf("3")));
    expect(await refsOf()).toEqual([refOf("2"), refOf("3")]);
  });

  test("of lines that were erased, and read by another collection, meanwhile are not kept", async () => {
    const store = await emptyStore(schema);
    const session = await store.create({ cwd: "/", id: "one" });
    const first = await session.appendMessage(naming(refOf("1")));
    const db = new FaultyDriver(server);
    let erased: Promise<unknown> | undefined;
    db.after = (text) => {
      if (!text.includes("string_agg(e.line")) return;
      db.after = undefined;
      erased = eraseEntries(store, "one", [first.id], { reason: "a request" }).then(() => refsOf());
    };
    const marks: BlobMark[] = [];
    for await (const mark of postgresBlobMarks({ db: delayed(db, () => erased), schema })) marks.push(mark);
    await erased;
    expect(erased).toBeDefined();
    expect(await refsOf()).toEqual([]);
  });

  test("that another collection has kept after a replacement are not forgotten by a slower one", async () => {
    const store = await emptyStore(schema);
    const session = await store.create({ cwd: "/", id: "one" });
    const first = await session.appendMessage(naming(refOf("1")));
    expect(await refsOf()).toEqual([refOf("1")]);
    await eraseEntries(store, "one", [first.id], { reason: "a request" });
    await session.refresh();
    const db = new FaultyDriver(server);
    let others: Promise<unknown> | undefined;
    db.after = (text) => {
      if (!text.includes("string_agg(e.line")) return;
      db.after = undefined;
      others = (async () => {
        await refsOf();
        await session.appendMessage(naming(refOf("2")));
        await refsOf();
      })();
    };
    for await (const _ of postgresBlobMarks({ db: delayed(db, () => others), schema }));
    expect(others).toBeDefined();
    expect(await refsOf()).toEqual([refOf("2")]);
  });

  test("are those of all sessions of the partition, and no others", async () => {
    const store = await emptyStore(schema);
    const one = await store.create({ cwd: "/", id: "one" });
    await one.appendMessage(naming(refOf("1"), refOf("2", "blake3")));
    const two = await store.create({ cwd: "/", id: "null" });
    await two.appendMessage(naming(refOf("1"), refOf("3")));
    const other = await store.create({ cwd: "/", id: "one", partition: "acme" });
    await other.appendMessage(naming(refOf("4")));
    expect(await refsOf()).toEqual([refOf("2", "blake3"), refOf("1"), refOf("3")]);
    expect(await refsOf({ partition: "acme" })).toEqual([refOf("4")]);
    expect(await marksOf({ partition: "empty" })).toEqual([]);
    await store.delete("one");
    expect(await refsOf()).toEqual([refOf("1"), refOf("3")]);
    await store.delete("null");
    expect(await marksOf()).toEqual([]);
  });

  test("are also those in escapes, and a session without any is a root", async () => {
    await emptyStore(schema);
    await put("plain", [header("plain")]);
    expect(await marksOf()).toEqual([{ root: "the unnamed partition", refs: [], complete: true }]);
    const escaped = `\\u0073ha256:${"5".repeat(64)}`;
    await put("escaped", [header("escaped"), entry("e0000001", `"${escaped}"`)]);
    expect(await refsOf()).toEqual([refOf("5")]);
  });

  test("of a session are read once, and then only those of its new lines", async () => {
    const store = await emptyStore(schema);
    const session = await store.create({ cwd: "/", id: "one" });
    await session.appendMessage(naming(refOf("1")));
    expect(await refsOf()).toEqual([refOf("1")]);
    const driver = new FaultyDriver(server);
    expect(await refsOf({ db: driver })).toEqual([refOf("1")]);
    expect(driver.queries.filter((text) => text.includes("e.line"))).toEqual([]);
    await session.appendMessage(naming(refOf("2")));
    // The first line is not read again: nobody finds that it changed.
    await server.query(`update ${schema}.entry set line = 'x' where seq = 1`);
    expect(await refsOf()).toEqual([refOf("1"), refOf("2")]);
    await server.query(`delete from ${schema}.blob_scan`);
    expect((await marksOf()).map(({ complete }) => complete)).toContain(false);
  });

  test("of a session that was created again under the id are those of the new one", async () => {
    const store = await emptyStore(schema);
    for (const digit of ["1", "2"]) {
      const session = await store.create({ cwd: "/", id: "one" });
      for (let count = 0; count < 3; count++) await session.appendMessage(naming(refOf(digit)));
      expect(await refsOf()).toEqual([refOf(digit)]);
      await store.delete("one");
    }
    // Between the read of its lines and the write of its references.
    const first = await store.create({ cwd: "/", id: "one" });
    await first.appendMessage(naming(refOf("3")));
    const driver = new FaultyDriver(server);
    let recreated = false;
    const racing = {
      query: async (text: string, values?: unknown[]) => {
        if (!recreated && text.includes("blob_scan as old")) {
          recreated = true;
          await store.delete("one");
          await (await store.create({ cwd: "/", id: "one" })).appendMessage(naming(refOf("4")));
        }
        return driver.query(text, values);
      },
    };
    expect(await refsOf({ db: racing })).toContain(refOf("4"));
    expect(await refsOf()).toEqual([refOf("4")]);
  });

  test("have none of a session that is deleted before its lines are read", async () => {
    const store = await emptyStore(schema);
    await (await store.create({ cwd: "/", id: "gone" })).appendMessage(naming(refOf("1")));
    await (await store.create({ cwd: "/", id: "kept" })).appendMessage(naming(refOf("2")));
    let deleted = false;
    const racing = {
      query: async (text: string, values?: unknown[]) => {
        if (!deleted && text.includes("e.line")) {
          deleted = true;
          await store.delete("gone");
        }
        return server.query<Record<string, unknown>>(text, values);
      },
    };
    expect(await refsOf({ db: racing })).toEqual([refOf("2")]);
    expect(deleted).toBe(true);
    // Lines that are missing are no deletion.
    await put("empty", [header("empty")]);
    await server.query(`delete from ${schema}.entry where id = 'empty'`);
    expect((await marksOf()).find(({ root }) => root === "empty")?.complete).toBe(false);
  });

  test("have those of a fork that was made, and whose source was deleted, in the middle", async () => {
    const store = await emptyStore(schema);
    await (await store.create({ cwd: "/", id: "source" })).appendMessage(naming(refOf("1")));
    await (await store.create({ cwd: "/", id: "zzz" })).appendMessage(naming(refOf("2")));
    let forked = false;
    const racing = {
      query: async (text: string, values?: unknown[]) => {
        if (!forked && text.includes("select distinct ref")) {
          forked = true;
          await (await store.fork("source", { id: "copy" })).close();
          await store.delete("source");
        }
        return server.query<Record<string, unknown>>(text, values);
      },
    };
    expect(await refsOf({ db: racing })).toEqual([refOf("1"), refOf("2")]);
  });

  test("are read in pages of a large session", async () => {
    await emptyStore(schema);
    const filler = "x".repeat(200_000);
    const lines = Array.from({ length: 8 }, (_, n) => entry(`e000000${n}`, `"${filler} ${refOf(`${n}`)}"`));
    await put("large", [header("large"), ...lines]);
    await put("small", [header("small"), entry("e0000001", `"${refOf("9")}"`)]);
    expect(await refsOf()).toHaveLength(9);
    const [mark] = await marksOf();
    expect(mark?.refs).toHaveLength(9);
  });
});

describe("a session that is not read whole", () => {
  const incomplete: Readonly<Record<string, (id: string) => readonly (string | Uint8Array)[]>> = {
    "of a newer version": (id) => [header(id).replace(":3,", ":99,")],
    "of a newer extension": (id) => [header(id, ',"sessile":99')],
    "with a line cut off": (id) => [header(id), entry("e0000001", `"${refOf("1")}"`).slice(0, 140)],
    "with a line that is no text": (id) => [header(id), new Uint8Array([0x7b, 0xff, 0x7d])],
    "without a header": () => [entry("e0000001", "1")],
  };
  test.each(Object.entries(incomplete))("%s, is named by the refusal", async (_, lines) => {
    await emptyStore(schema);
    await put("good", [header("good"), entry("e0000001", `"${refOf("1")}"`)]);
    await put("bad", lines("bad"));
    const bytes = new TextEncoder().encode(
      `${lines("bad")
        .map((line) => (typeof line === "string" ? line : "{\u0000}"))
        .join("\n")}\n`,
    );
    expect((await sessionBlobRoots("bad", bytes)).complete).toBe(false);
    for (let call = 0; call < 2; call++) {
      const marks = (await marksOf()).filter(({ complete }) => !complete);
      expect(new Set(marks.map(({ root }) => root))).toEqual(new Set(["bad"]));
      expect(marks[0]?.reason).toMatch(/^[A-Z_]+/);
    }
    const marks = postgresBlobMarks({ db: server, schema });
    await expect(collectGarbage(memoryBlobStore(), { marks })).rejects.toMatchObject({
      code: "COLLECTION_REFUSED",
      details: { reasons: [{ root: "bad" }] },
    });
  });

  test("any byte of a line changed: it is incomplete, or its reference is known all the same", async () => {
    const store = await emptyStore(schema);
    const session = await store.create({ cwd: "/", id: "one" });
    const appended = await session.appendMessage(naming(refOf("7")));
    const line = (await session.raw(appended.id)) as Uint8Array;
    for (let at = 0; at < line.length; at += 11) {
      const damaged = line.slice();
      damaged[at] = (damaged[at] as number) ^ 1;
      await server.query(`update ${schema}.entry set line = $1 where seq = 1`, [damaged]);
      await server.query(`delete from ${schema}.blob_scan`);
      await server.query(`delete from ${schema}.blob_ref`);
      const marks = await marksOf();
      const isKnown = marks.some(({ refs }) => [...refs].includes(refOf("7")));
      const isRefused = marks.some(({ complete }) => !complete);
      expect([at, isKnown || isRefused]).toEqual([at, true]);
    }
  });
});

describe("a later scan", () => {
  /** Adds a line in a way that leaves the time of the session, which no store does. */
  async function addUnseen(id: string, ref: BlobRef): Promise<void> {
    const line = new TextEncoder().encode(entry("e0000009", `"${ref}"`));
    await server.query(`insert into ${schema}.entry values ('', $1, 1, $2)`, [id, line]);
    await server.query(`update ${schema}.session set head = 2, size = size + $2 where id = $1`, [
      id,
      line.length + 1,
    ]);
  }
  const age = (table: string, column: string, interval: string) =>
    server.query(`update ${schema}.${table} set ${column} = ${column} - $1::text::interval`, [interval]);

  test("looks at sessions of a day before the last scan, and at all of them after a week", async () => {
    await emptyStore(schema);
    await put("old", [header("old")]);
    expect(await refsOf()).toEqual([]);
    await addUnseen("old", refOf("1"));
    // Within the overlap: a change may have waited for its commit.
    await age("session", "modified_at", "23 hours");
    expect(await refsOf()).toEqual([refOf("1")]);

    await put("older", [header("older")]);
    await refsOf();
    await age("session", "modified_at", "3 days");
    await addUnseen("older", refOf("2"));
    expect(await refsOf()).toEqual([refOf("1")]);
    await age("blob_scan_time", "whole_at", "6 days");
    expect(await refsOf()).toEqual([refOf("1")]);
    await age("blob_scan_time", "whole_at", "2 days");
    expect(await refsOf()).toEqual([refOf("1"), refOf("2")]);
  });

  test.each(["scanned_at", "whole_at"])(
    "looks at all of them if %s is not over: a clock was set back",
    async (column) => {
      await emptyStore(schema);
      await put("old", [header("old")]);
      await refsOf();
      await age("session", "modified_at", "3 days");
      await addUnseen("old", refOf("1"));
      expect(await refsOf()).toEqual([]);
      await age("blob_scan_time", column, "-1 hour");
      expect(await refsOf()).toEqual([refOf("1")]);
    },
  );

  test("names an incomplete session again, however old it is, and reads it when it is whole", async () => {
    await emptyStore(schema);
    await put("damaged", [header("damaged"), "{"]);
    await age("session", "modified_at", "30 days");
    for (let round = 0; round < 2; round++)
      expect(await marksOf()).toMatchObject([{ root: "damaged", complete: false }, {}]);
    const line = new TextEncoder().encode(entry("e0000001", `"${refOf("1")}"`));
    await server.query(`update ${schema}.entry set line = $1 where seq = 1`, [line]);
    expect(await refsOf()).toEqual([refOf("1")]);
  });

  test("costs what changed: an index gives the sessions to look at", async () => {
    await emptyStore(schema);
    await server.query(
      `insert into ${schema}.session (partition, id, epoch, cwd, head, size, modified_at, created_at, header)
      select '', 'n' || n, gen_random_uuid(), '/', 0, 0, now() - interval '3 days', now(), ''::bytea
      from generate_series(1, 5000) n`,
    );
    await server.query(`insert into ${schema}.blob_scan select '', id, 0 from ${schema}.session`);
    await refsOf();
    await put("new", [header("new")]);
    await server.query(`analyze ${schema}.session`);
    await server.query(`analyze ${schema}.blob_scan`);
    const asked: { text: string; values: unknown[] }[] = [];
    const db = {
      query(text: string, values: unknown[] = []) {
        asked.push({ text, values });
        return server.query(text, values);
      },
    };
    await refsOf({ db } as Partial<PostgresMarksOptions>);
    const looks = asked.filter(
      ({ text }) => text.includes(`${schema}"`) && text.includes("left join") && text.includes("limit"),
    );
    expect(looks.length).toBeGreaterThan(1);
    for (const { text, values } of looks) {
      const { rows } = await server.query<{ "QUERY PLAN": string }>(
        `explain (analyze, costs off) ${text}`,
        values,
      );
      const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
      expect(plan).toContain("session_minute");
      expect(
        Math.max(...Array.from(plan.matchAll(/rows=(\d+)/g), ([, count]) => Number(count))),
      ).toBeLessThan(10);
    }
  });
});
