import fc from "fast-check";
import { type LogPosition, type SessionLog, sessionStore, userMessage } from "sessile";
import { type SqliteDriver, type SqliteRow, sqliteSessionBackend } from "sessile/sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LineJoiner, linesBackwards } from "../../src/storage/sql/lines.js";
import { planRewriting } from "../../src/storage/sql/row-statements.js";
import {
  migrationsBetween,
  tablesVersion,
  termsTable,
  versionTable,
} from "../../src/storage/sql/sqlite/tables.js";
import { closeDatabases, FaultyDriver, memoryDriver } from "./databases.js";

afterEach(closeDatabases);

let driver: SqliteDriver;
beforeEach(async () => {
  driver = memoryDriver();
  await sqliteSessionBackend({ driver }).migrate();
});

const rowsOf = (sql: string) => driver.all(sql, []) as readonly SqliteRow[];
const storeOn = (given: SqliteDriver) => sessionStore(sqliteSessionBackend({ driver: given }));
const encode = (lines: readonly string[]) => lines.map((line) => new TextEncoder().encode(`${line}\n`));
const decode = (bytes: Uint8Array | undefined) => bytes && new TextDecoder().decode(bytes);
const header = `{"type":"session","version":3,"id":"x","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}`;
const unnamed = { partition: "", cwd: "/", timestamp: "2026-01-01T00:00:00.000Z" };

describe("migrate", () => {
  const shapeOf = (given: SqliteDriver) =>
    given.all("select type, name, tbl_name, sql from sqlite_master order by name", []);

  it.each(Array.from({ length: tablesVersion + 1 }, (_, version) => version))(
    "brings tables of version %i to this one, with their sessions",
    async (version) => {
      const old = memoryDriver();
      const made = [...versionTable("sessile_"), ...migrationsBetween("sessile_", 0, version)];
      await old.transaction(made.map((sql) => ({ sql, params: [] })));
      const entry = `{"type":"custom","id":"e0000001","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","customType":"x"}`;
      const [first = new Uint8Array(), second = new Uint8Array()] = encode([header, entry]);
      if (version > 0) {
        // As a program of the first version writes.
        const end = first.length + second.length;
        await old.all(
          `insert into sessile_session (no, "partition", id, epoch, base, head, modified_at, cwd, header_at)
          values (7, '', 'x', 'e', 0, ?, 1000, '/', 0)`,
          [end],
        );
        await old.all("insert into sessile_entry values (7 << 36, ?), ((7 << 36) | ?, ?)", [
          first,
          first.length,
          second,
        ]);
      }
      const backend = sqliteSessionBackend({ driver: old });
      await backend.migrate();
      expect(shapeOf(old)).toEqual(shapeOf(driver));
      const store = sessionStore(backend);
      if (version === 0) await store.create({ cwd: "/", id: "x" });
      else {
        const session = await store.open("x", { mode: "write" });
        await session.appendMessage(userMessage("new"));
        expect((await (await store.open("x")).tree()).size).toBe(2);
        // The counts of the first lines are unknown: the list counts.
        for await (const { counts } of store.list({ stats: true }))
          expect(counts).toEqual({ entries: 2, messages: 1 });
      }
    },
  );

  it("changes nothing the second time, by two at once, or in tables of a newer version", async () => {
    const slow = new FaultyDriver(driver);
    const backend = sqliteSessionBackend({ driver: slow });
    const store = sessionStore(backend);
    await (await store.create({ cwd: "/", id: "kept" })).appendMessage(userMessage("kept"));
    await Promise.all([backend.migrate(), backend.migrate()]);
    rowsOf("update sessile_version set version = 1000");
    await backend.migrate();
    expect(rowsOf("select version from sessile_version")).toEqual([{ version: 1000 }]);
    expect((await (await store.open("kept")).tree()).size).toBe(1);
    const fresh = new FaultyDriver(memoryDriver());
    await Promise.all([1, 2].map(() => sqliteSessionBackend({ driver: fresh }).migrate()));
    expect(await fresh.all("select version from sessile_version", [])).toEqual([{ version: tablesVersion }]);
  });

  it("keeps sessions of several prefixes apart", async () => {
    const stores = await Promise.all(
      ["a_", ""].map(async (prefix) => {
        const backend = sqliteSessionBackend({ driver, prefix });
        await backend.migrate();
        return sessionStore(backend);
      }),
    );
    for (const store of stores)
      await (await store.create({ cwd: "/", id: "x" })).appendMessage(userMessage("x"));
    const [first, second] = stores;
    expect(await first?.delete("x")).toBe(true);
    expect((await (await second?.open("x"))?.tree())?.size).toBe(1);
    expect(rowsOf("select count(*) as n from session")).toEqual([{ n: 1 }]);
  });
});

describe("list", () => {
  it("reads its page by an index, and one row a line that it shows", async () => {
    driver.all(
      `with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 2000)
      insert into sessile_session ("partition", id, epoch, base, head, modified_at, cwd, header_at)
      select 'p' || (n % 2), 'session-' || n, 'e', 0, 200, (n / 4) * 1000, '/work/' || (n % 5), 0 from numbers`,
      [],
    );
    driver.all(
      `insert into sessile_entry select no << 36, cast('{"type":"session","version":3,"id":"' || id ||
      '","timestamp":"2026-01-01T00:00:00.000Z","cwd":"' || cwd || '"}' || char(10) as blob) from sessile_session`,
      [],
    );
    driver.all("analyze", []);
    const counting = new FaultyDriver(driver);
    const store = storeOn(counting);
    const ids: string[] = [];
    for await (const { id } of store.list({ partition: "p0", limit: 50 })) ids.push(id);
    expect(ids[0]).toBe("session-2000");
    expect(ids).toHaveLength(50);
    expect(counting.calls).toHaveLength(1);
    for await (const { cwd } of store.list({ partition: "p0", limit: 40, cwd: "/work/2" }))
      expect(cwd).toBe("/work/2");
    const statements = counting.calls.flat();
    expect(statements).toHaveLength(2);
    for (const { sql, params } of statements) {
      const plan = (driver.all(`explain query plan ${sql}`, params) as readonly SqliteRow[]).map(
        ({ detail }) => detail,
      );
      expect(plan.join("\n")).toMatch(/SEARCH s USING INDEX sessile_session_(modified|cwd) /);
      expect(plan.join("\n")).not.toMatch(/SCAN|TEMP B-TREE/);
    }
    const all = new Set<string>();
    for await (const { id } of store.list({ partition: "p1" })) all.add(id);
    expect(all.size).toBe(1000);
    driver.all(termsTable("sessile_"), []);
    const searching = sqliteSessionBackend({ driver, search: true });
    const found: string[] = [];
    for await (const { id } of searching.search?.({ partition: "p1", anyOf: [["x"]] }) ?? []) found.push(id);
    expect(found).toEqual([...all]);
  });

  it("has partitions in order, in any number", async () => {
    driver.all(
      `with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 3000)
      insert into sessile_session ("partition", id, epoch, base, head, modified_at, cwd)
      select case n % 1003 when 0 then '' else 'p' || (n % 1003) end, 'session-' || n, 'e', 0, 1, n, '/' from numbers`,
      [],
    );
    const found: string[] = [];
    for await (const partition of sqliteSessionBackend({ driver }).partitions()) found.push(partition);
    expect(found).toHaveLength(1003);
    expect(found).toEqual([...new Set(found)].sort());
  });

  it("shows a session_info of several rows", async () => {
    const store = storeOn(driver);
    const session = await store.create({ cwd: "/", id: "a" });
    await session.appendMessage(userMessage("one"));
    const title = "é".repeat(700_000);
    await session.updateInfo({ title });
    expect((await store.latest())?.title).toBe(title);
  });
});

describe("lines", () => {
  async function linesOf(log: SessionLog): Promise<readonly (string | number)[]> {
    const found: [number, string | number][] = [];
    for await (const { lines, at, tooLong = [] } of log.read(undefined)) {
      if ("bounds" in lines) throw new Error("expected lines");
      for (const [index, place] of at.entries()) found.push([place, decode(lines[index]) as string]);
      for (const line of tooLong) found.push([line.at, line.length]);
    }
    found.sort(([a], [b]) => a - b);
    let end = 0;
    for (const [at, line] of found) {
      expect(at).toBe(end);
      end = at + 1 + (typeof line === "number" ? line : new TextEncoder().encode(line).length);
    }
    return found.map(([, line]) => line);
  }

  it("are rows that joined are the file, and come in pages of bytes", async () => {
    const counting = new FaultyDriver(driver);
    const backend = sqliteSessionBackend({ driver: counting, maxLineBytes: 1_500_000 });
    const { log, position } = await backend.create({ ...unnamed, id: "x" });
    const lengths = [10, 600_000, 600_000, 0, 1_400_000, 1_048_575, 1_048_576, 1_600_000, 3, 2_500_000, 1];
    const texts = [header, ...lengths.map((length, index) => String.fromCharCode(97 + index).repeat(length))];
    const { at } = await log.append(encode(texts), position);
    const rows = rowsOf("select key & 68719476735 as at, line from sessile_entry order by key");
    const file = Buffer.concat(rows.map(({ line }) => line as Uint8Array)).toString();
    expect(file).toBe(texts.map((line) => `${line}\n`).join(""));
    expect(Math.max(...rows.map(({ line }) => (line as Uint8Array).length))).toBe(1024 * 1024);
    counting.calls.length = 0;
    expect(await linesOf(log)).toEqual(texts.map((line) => (line.length > 1_500_000 ? line.length : line)));
    expect(counting.calls.length).toBeGreaterThan(4);
    expect(counting.calls.length).toBeLessThan(11);
    const places = texts.map((line, index) => ({ at: at[index] as number, length: line.length }));
    expect((await log.readAt(places.toReversed())).map(decode)).toEqual(texts.toReversed());
    expect(await log.readAt([{ at: 5, length: 3 }])).toEqual([undefined]);
  });

  it("of several rows are joined however their bytes are cut (property)", () => {
    const line = fc
      .uint8Array({ maxLength: 40 })
      .map((bytes) => bytes.map((byte) => (byte === 10 ? 11 : byte)));
    fc.assert(
      fc.property(fc.array(line), fc.infiniteStream(fc.integer({ min: 1, max: 15 })), (lines, cuts) => {
        const joiner = new LineJoiner(30);
        const found: unknown[] = [];
        const wanted: unknown[] = [];
        let at = 0;
        for (const bytes of lines) {
          const whole = Uint8Array.from([...bytes, 10]);
          const isLong = bytes.length > 30;
          wanted.push({ at, length: bytes.length, bytes: isLong ? undefined : bytes });
          for (let start = 0; start < whole.length; ) {
            const end = start + (cuts.next().value as number);
            const row = joiner.push({ at: at + start, bytes: whole.subarray(start, end) });
            if (row !== undefined) found.push(row);
            start = end;
          }
          at += whole.length;
        }
        expect(found).toEqual(wanted);
      }),
    );
  });

  it("are the same from the end, in pages of any rows (property)", async () => {
    const line = fc
      .uint8Array({ maxLength: 30 })
      .map((bytes) => bytes.map((byte) => (byte === 10 ? 11 : byte)));
    const cuts = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 9 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(line),
        cuts,
        fc.integer({ min: 12, max: 50 }),
        async (lines, lengths, page) => {
          const base = 100;
          const rows: { at: number; bytes: Uint8Array }[] = [];
          const starts: number[] = [];
          let end = base;
          for (const bytes of lines) {
            const whole = Uint8Array.from([...bytes, 10]);
            starts.push(end);
            for (let start = 0, next = 0; start < whole.length; start = next) {
              next = start + (lengths[rows.length % lengths.length] as number);
              rows.push({ at: end + start, bytes: whole.subarray(start, next) });
            }
            end += whole.length;
          }
          const readBefore = async (stop: number) => ({
            base,
            rows: rows.filter(({ at }) => at < stop && at >= Math.min(stop, end) - page),
          });
          const found: unknown[] = [];
          for await (const { lines: some, at, tooLong = [] } of linesBackwards(1e9, readBefore, 20)) {
            if ("bounds" in some) throw new Error("expected lines");
            const both = [
              ...at.map((place, index) => ({ at: place, bytes: some[index], length: some[index]?.length })),
              ...tooLong.map((place) => ({ ...place, bytes: undefined })),
            ];
            found.unshift(...both.sort((a, b) => a.at - b.at));
          }
          const wanted = lines.map((bytes, index) => ({
            at: starts[index],
            bytes: bytes.length > 20 ? undefined : bytes,
            length: bytes.length,
          }));
          expect(found).toEqual(wanted);
        },
      ),
    );
  });

  it("are read from the end, from any line", async () => {
    const backend = sqliteSessionBackend({ driver });
    const { log, position } = await backend.create({ ...unnamed, id: "x" });
    const texts = [header, "a".repeat(900_000), "b".repeat(2_500_000), "c", "d".repeat(900_000), "e"];
    const { at } = await log.append(encode(texts), position);
    for (let from = texts.length; from >= 0; from--) {
      const found: string[] = [];
      for await (const { lines } of log.readBackwards?.(at[from]) ?? [])
        found.unshift(...(lines as readonly Uint8Array[]).map((bytes) => decode(bytes) as string));
      expect(found.map((text) => text.length)).toEqual(texts.slice(0, from).map(({ length }) => length));
    }
    await backend.delete("x", { partition: "" });
    const gone = log.readBackwards?.(undefined)[Symbol.asyncIterator]().next();
    await expect(gone).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
  });

  it("that a migration replaces stay in the table", async () => {
    const backend = sqliteSessionBackend({ driver });
    const store = sessionStore(backend);
    const old = [
      `{"type":"session","version":1,"id":"x","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}`,
      `{"type":"message","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"hi","timestamp":1}}`,
    ];
    const { log, position } = await backend.create({ ...unnamed, id: "x" });
    await log.append(encode(old), position);
    const size = old.join("").length + 2;
    expect(rowsOf("select entries, head - base as size from sessile_session")).toEqual([
      { entries: null, size },
    ]);
    const session = await store.open("x", { mode: "write" });
    await session.appendMessage(userMessage("new"));
    const kept = rowsOf("select line from sessile_entry order by key").slice(0, 2);
    expect(kept.map(({ line }) => decode(line as Uint8Array))).toEqual(old.map((line) => `${line}\n`));
    expect(rowsOf("select base, entries, messages from sessile_session")).toEqual([
      { base: size, entries: 2, messages: 2 },
    ]);
  });

  it("of an erasure follow each other after the old end, moved in parts", () => {
    const megabyte = 1024 * 1024;
    const [base, head] = [100, 100 + 20 * megabyte];
    const places = [500, 9 * megabyte, 9 * megabyte + 31, head - 41];
    const changes = places.map((at, index) => ({
      at,
      length: index === 3 ? 40 : 30,
      line: encode(["x".repeat(10 * index)])[0] as Uint8Array,
    }));
    const session = { base, head, header_at: 100, preview_at: 531, info_at: head - 41, preview: null };
    const sql = { moveRows: "move" } as Parameters<typeof planRewriting>[2];
    const { end, rows, moves, shown } = planRewriting(session, changes, sql, ["p", "id", "e", head]);
    const parts = rows.map(({ at, bytes }) => [at, at + bytes.length]);
    for (const { params } of moves) {
      const [shift, ...rest] = params as [number, ...unknown[]];
      expect(rest.slice(0, 4)).toEqual(["p", "id", "e", head]);
      const [from, to] = rest.slice(4) as [number, number];
      expect(to - from).toBeLessThanOrEqual(8 * megabyte);
      parts.push([from + shift, to + shift]);
    }
    parts.sort(([a = 0], [b = 0]) => a - b);
    let last = head;
    for (const [from, to = 0] of parts) {
      expect(from).toBe(last);
      last = to;
    }
    expect(end).toBe(last);
    // The lines have 1, 11, 21 and 31 bytes in place of 31, 31, 31 and 41.
    expect(end - head).toBe(head - base - 70);
    expect(moves).toHaveLength(5);
    expect(shown).toEqual([head, head + 431 - 30, null, new Uint8Array()]);
  });

  it("that are replaced while one is read in part are read from the first one on", async () => {
    const backend = sqliteSessionBackend({ driver });
    const { log, position } = await backend.create({ ...unnamed, id: "x" });
    const { position: end } = await log.append(encode([header, "a".repeat(2_500_000)]), position);
    const reading = log.read(undefined)[Symbol.asyncIterator]();
    expect((await reading.next()).value).toMatchObject({ at: [0] });
    await log.replace?.(encode([header, "b"]), end);
    const { lines, restarted } = (await reading.next()).value;
    expect([restarted, lines.map(decode)]).toEqual([true, [header, "b"]]);
    expect(await reading.next()).toMatchObject({ done: true });
  });

  it("of a fork are copied within the database, with what a list shows of them", async () => {
    const backend = sqliteSessionBackend({ driver });
    const store = sessionStore(backend);
    const session = await store.create({ cwd: "/work", id: "a" });
    await session.append([{ type: "thinking_level_change", thinkingLevel: "high" }]);
    await session.updateInfo({ title: "early" });
    const [before] = await session.append([{ type: "custom", customType: "x" }]);
    await session.appendMessage(userMessage("said"));
    await session.updateInfo({ title: "late" });
    const source = (await backend.open("a", { partition: "", mode: "read" })) as SessionLog;
    const all = (await linesOf(source)) as readonly string[];
    const cut = all.findIndex((line) => line.includes(before?.id as string));
    const offset = all.slice(0, cut).join("").length + cut;
    let to = "" as LogPosition;
    for await (const batch of source.read(undefined)) to = batch.next;
    for (const [id, place, lines] of [
      ["part", { at: offset, length: all[cut]?.length as number }, all.slice(1, cut + 1)],
      ["whole", undefined, all.slice(1)],
    ] as const) {
      const { log } = await backend.create({ ...unnamed, id, cwd: "/other", partition: "p" });
      expect(await log.copy?.(source, encode([header])[0] as Uint8Array, to, place)).toBe(true);
      expect(await linesOf(log)).toEqual([header, ...lines]);
      await expect(log.copy?.(source, encode([header])[0] as Uint8Array, to)).rejects.toMatchObject({
        code: "SESSION_EXISTS",
      });
    }
    const shown: Record<string, unknown> = {};
    // The directory is that of the header.
    expect(rowsOf("select distinct cwd from sessile_session where \"partition\" = 'p'")).toEqual([
      { cwd: "/" },
    ]);
    for await (const stored of backend.list({ partition: "p" })) shown[stored.id] = stored.counts;
    expect(shown).toEqual({ part: undefined, whole: { entries: all.length - 1, messages: 1 } });
    const summaries: unknown[] = [];
    for await (const { title, firstMessage } of store.list({ partition: "p" }))
      summaries.push([title, firstMessage]);
    expect(summaries.sort()).toEqual([
      ["early", undefined],
      ["late", "said"],
    ]);
    const counting = new FaultyDriver(driver);
    await storeOn(counting).fork("a", { id: "c" });
    expect(
      counting.calls
        .flat()
        .filter(({ sql }) => /^insert into sessile_entry .*\n *select .*\n *from \(select no/.test(sql)),
    ).toHaveLength(1);
    // Up to the line before the last session_info.
    const late = all.findLastIndex((line) => line.includes('"late"'));
    const length = (all[late - 1] as string).length;
    const early = { at: all.slice(0, late - 1).join("").length + late - 1, length };
    const { log: named } = await backend.create({ ...unnamed, id: "early" });
    expect(await named.copy?.(source, encode([header])[0] as Uint8Array, to, early)).toBe(true);
    for await (const { id, tail } of backend.list({ partition: "" }))
      if (id === "early") expect(tail.map(decode).join()).toContain('"early"');
    const { log } = await backend.create({ ...unnamed, id: "z" });
    await store.delete("a");
    expect(await log.copy?.(source, encode([header])[0] as Uint8Array, to)).toBe(false);
    const wide = await store.create({ cwd: `/${"w".repeat(1_500_000)}`, id: "wide" });
    await wide.appendMessage(userMessage("said"));
    await (await store.fork("wide", { id: "narrow" })).close();
    const narrow = (await backend.open("narrow", { partition: "", mode: "read" })) as SessionLog;
    expect((await linesOf(narrow))[1]).toContain("said");
    const elsewhere = sqliteSessionBackend({ driver: memoryDriver() });
    await elsewhere.migrate();
    const { log: other } = await elsewhere.create({ ...unnamed, id: "x" });
    expect(await other.copy?.(source, encode([header])[0] as Uint8Array, to)).toBe(false);
  });
});

it("a delete leaves no line, also of those before a migration", async () => {
  const store = storeOn(driver);
  for (const id of ["a", "b", "c"])
    await (await store.create({ cwd: "/", id })).appendMessage(userMessage(id));
  await store.delete("b");
  const left = rowsOf("select distinct key >> 36 as no from sessile_entry order by 1");
  expect(left).toEqual(rowsOf("select no from sessile_session order by 1"));
  expect(left).toHaveLength(2);
});
