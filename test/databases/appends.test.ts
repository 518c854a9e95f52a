import { type LogPosition, type Session, type SessionLog, userMessage } from "sessile";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { checkBatchBytes, cwdKey, eachLine, termKey } from "../../src/session/internal.js";
import { pglite, startMs } from "../postgres/pglite.js";
import { closeDatabases } from "../sqlite/databases.js";
import { type Backend, type Call, engines, storeOf, type Tables } from "./subjects.js";

beforeAll(async () => {
  await pglite();
}, startMs);
afterEach(closeDatabases);

const say = (text: string) => userMessage(text);

describe.each(engines)("an append to $name", ({ start, lostConnection, busy, full }) => {
  let tables: Tables;
  beforeEach(async () => {
    tables = await start();
  });

  const storeWith = (retryMs = 2000) => storeOf(tables.backend({ retryMs }));

  async function begun(retryMs?: number): Promise<Session> {
    const session = await storeWith(retryMs).create({ cwd: "/work" });
    await session.appendMessage(say("start"));
    tables.faults.calls.length = 0;
    return session;
  }

  /** The texts of a session as another handle reads them. */
  async function textsOf(id: string): Promise<readonly unknown[]> {
    const session = await storeOf(tables.direct()).open(id);
    const { items } = await session.context();
    return items.map(({ message }) => (message.role === "user" ? message.content : message.role));
  }

  /** Fails some calls: with `error` in place of each call, or of its answer. */
  function fail(
    which: "before" | "after",
    times: number,
    error: () => Error,
    isMeant: (call: Call) => boolean = ({ isWrite }) => isWrite,
  ): void {
    let left = times;
    tables.faults[which] = (call) => {
      if (!isMeant(call) || left-- <= 0) return;
      throw error();
    };
  }

  it("is one call, the first one too, and those that wait are one together", async () => {
    const session = await storeWith().create({ cwd: "/work" });
    const { calls } = tables.faults;
    calls.length = 0;
    await session.appendMessage(say("one"));
    expect(calls).toHaveLength(1);
    await session.appendMessage(say("two"));
    expect(calls).toHaveLength(2);
    // A list shows the first message alone.
    expect(calls.map(({ texts }) => texts.join().includes("preview"))).toEqual([true, false]);
    await Promise.all(Array.from({ length: 20 }, (_, index) => session.appendMessage(say(`${index}`))));
    expect(calls).toHaveLength(3);
    await session.updateInfo({ title: "title" });
    expect(calls).toHaveLength(4);
  });

  it("is made again if the database is busy, as nothing was done", async () => {
    const session = await begun();
    fail("before", 3, busy);
    await session.appendMessage(say("next"));
    expect(await textsOf(session.id)).toEqual(["start", "next"]);
    expect(tables.faults.calls).toHaveLength(4);
  });

  it("fails if the database is busy for too long or full, and may be made again", async () => {
    for (const [error, times] of [
      [busy, Number.POSITIVE_INFINITY],
      [full, 1],
    ] as const) {
      const session = await begun(60);
      fail("before", times, error);
      await expect(session.appendMessage(say("lost"))).rejects.toMatchObject({
        code: "STORAGE_FAILED",
        details: {
          operation: "append to",
          path: session.id,
          errno: (error() as { readonly code?: unknown }).code,
        },
      });
      tables.faults.before = undefined;
      await session.appendMessage(say("next"));
      expect(await textsOf(session.id)).toEqual(["start", "next"]);
    }
  });

  /** Row 21 of the faults: the connection ends in an append. */
  describe("whose connection is lost", () => {
    it.each(["before", "after"] as const)("%s the commit: the entry is there once", async (which) => {
      const session = await begun();
      fail(which, 1, lostConnection);
      await session.appendMessage(say("next"));
      await session.appendMessage(say("last"));
      expect(await textsOf(session.id)).toEqual(["start", "next", "last"]);
    });

    it.each(["before", "after"] as const)("%s the commit of the first append: one session", async (which) => {
      const session = await storeWith().create({ cwd: "/work" });
      fail(which, 1, lostConnection);
      await session.appendMessage(say("first"));
      expect(await textsOf(session.id)).toEqual(["first"]);
    });

    it("while the server still runs it, which commits before the next attempt", async () => {
      const session = await begun();
      const other = await storeWith().open(session.id, { mode: "write" });
      const held = tables.unsent.hold();
      let writes = 0;
      tables.faults.before = async ({ isWrite }) => {
        if (isWrite && ++writes === 2) await held.run();
      };
      await other.appendMessage(say("next"));
      expect(writes).toBe(2);
      expect(await textsOf(session.id)).toEqual(["start", "next"]);
    });

    it("several times, with the questions for the outcome: the entry is there once", async () => {
      const session = await begun();
      let calls = 0;
      tables.faults.after = () => {
        if (++calls <= 3) throw lostConnection();
      };
      await session.appendMessage(say("next"));
      expect(calls).toBe(4);
      tables.faults.after = undefined;
      await session.appendMessage(say("last"));
      expect(await textsOf(session.id)).toEqual(["start", "next", "last"]);
    });

    it("beside another writer that came first: a conflict, and nothing is written", async () => {
      const session = await begun();
      const other = await storeOf(tables.direct()).open(session.id, { mode: "write" });
      await other.appendMessage(say("other"));
      fail("before", 1, lostConnection);
      await expect(session.appendMessage(say("next"))).rejects.toMatchObject({ code: "CONCURRENT_WRITER" });
      expect(await textsOf(session.id)).toEqual(["start", "other"]);
    });

    it("beside another writer that came after: acknowledged, and the next append sees the other", async () => {
      const session = await begun();
      const other = await storeOf(tables.direct()).open(session.id, { mode: "write" });
      tables.faults.after = async ({ isWrite }) => {
        if (!isWrite) return;
        tables.faults.after = undefined;
        await other.refresh();
        await other.branch([...(await other.tree()).walk()].at(-1)?.node.id ?? null);
        await other.appendMessage(say("other"));
        throw lostConnection();
      };
      await session.appendMessage(say("next"));
      expect(await textsOf(session.id)).toEqual(["start", "next", "other"]);
      await expect(session.appendMessage(say("late"))).rejects.toMatchObject({ code: "CONCURRENT_WRITER" });
    });

    it("for longer than the bound: the handle is poisoned, and opened again it is as the log", async () => {
      for (const which of ["before", "after"] as const) {
        const session = await begun(50);
        fail(which, Number.POSITIVE_INFINITY, lostConnection, () => true);
        await expect(session.appendMessage(say("next"))).rejects.toMatchObject({ code: "WRITER_POISONED" });
        tables.faults[which] = undefined;
        await expect(session.appendMessage(say("again"))).rejects.toMatchObject({ code: "WRITER_POISONED" });
        const again = await storeWith().open(session.id, { mode: "write" });
        await again.appendMessage(say("last"));
        const expected = which === "before" ? ["start", "last"] : ["start", "next", "last"];
        expect(await textsOf(session.id)).toEqual(expected);
      }
    });

    it("in a delete, after its commit: the session existed", async () => {
      const session = await begun();
      fail("after", 1, lostConnection, ({ isDelete }) => isDelete);
      const store = storeWith();
      expect(await store.delete(session.id)).toBe(true);
      expect(await store.delete(session.id)).toBe(false);
    });

    it("in a fork, after its commit: one copy", async () => {
      const session = await begun();
      fail("after", 1, lostConnection);
      const copy = await storeWith().fork(session.id);
      expect(await textsOf(copy.id)).toEqual(["start"]);
    });

    it("in reads: they are made again", async () => {
      const session = await begun();
      let calls = 0;
      tables.faults.before = () => {
        if (++calls % 2 === 1) throw lostConnection();
      };
      const back = await storeWith().open(session.id);
      expect((await back.context()).items).toHaveLength(1);
      for await (const { id } of storeWith().list()) expect(typeof id).toBe("string");
      expect(calls).toBeGreaterThan(5);
    });
  });
});

describe.each(engines)("in $name, a write that another one precedes", ({ name: engine, start }) => {
  const at = "2026-01-01T00:00:00.000Z";
  const encode = (...lines: readonly string[]) => lines.map((line) => new TextEncoder().encode(`${line}\n`));
  const header = (id: string) => `{"type":"session","version":3,"id":"${id}","timestamp":"${at}","cwd":"/"}`;
  const entry = (id: string, type = "custom", rest = `"customType":"apple"`) =>
    `{"type":"${type}","id":"${id}","parentId":null,"timestamp":"${at}",${rest}}`;
  const name = entry("e0000009", "session_info", `"name":"late"`);

  /** A session of three lines, of which the first ones were replaced. */
  async function put(backend: Backend, id: string, partition = "") {
    const { log, position } = await backend.create({ id, partition, cwd: "/", timestamp: at });
    const { position: end } = await log.append(encode(header(id), entry("e0000000")), position);
    const next = (await log.replace?.(encode(header(id), entry("e0000001")), end)) as LogPosition;
    const appended = await log.append(encode(entry("e0000002", "message", said("first"))), next);
    return { log, ...appended };
  }
  const said = (content: string) => `"message":{"role":"user","content":"${content}","timestamp":1}`;

  /** All rows of the tables, and the candidates of a search. */
  async function stateOf(tables: Tables): Promise<unknown> {
    const found: unknown[] = [];
    for (const partition of ["", "other"])
      for await (const each of tables.direct().search?.({ partition, anyOf: [["first"]] }) ?? [])
        found.push({ ...each, at: [...(each.at ?? [])].sort() });
    const rows = [await tables.rows("select * from session"), await tables.rows("select * from entry")];
    return [...rows.map((some) => some.map((row) => JSON.stringify(row, bigints)).sort()), found];
  }
  const bigints = (_: string, value: unknown) => (typeof value === "bigint" ? `${value}` : value);

  type Written = Awaited<ReturnType<typeof put>>;
  const writes: Readonly<Record<string, (written: Written) => Promise<unknown> | undefined>> = {
    "an append of a line": ({ log, position }) => log.append(encode(entry("e0000003")), position),
    "an append of lines": ({ log, position }) =>
      log.append(encode(entry("e0000003"), entry("e0000004")), position),
    "an append that a list shows": ({ log, position }) => log.append(encode(name), position),
    "a replacement": ({ log, position }) => log.replace?.(encode(header("s"), entry("e0000003")), position),
    "an erasure": ({ log, position, at: [place = 0] }) => {
      const length = entry("e0000002", "message", said("first")).length;
      const [line = new Uint8Array()] = encode(entry("e0000002", "message", said("gone")));
      return log.erase?.([{ at: place, length, line }], position);
    },
  };
  const others: Readonly<Record<string, readonly [string, (backend: Backend) => Promise<unknown>]>> = {
    "an append": [
      "CONCURRENT_WRITER",
      async (backend) => {
        const log = (await backend.open("s", { partition: "", mode: "write" })) as SessionLog;
        let end = "" as LogPosition;
        for await (const { next } of log.read(undefined)) end = next;
        await log.append(encode(entry("e0000005")), end);
      },
    ],
    "a session of the same name and lines": [
      "SESSION_NOT_FOUND",
      async (backend) => {
        await backend.delete("s", { partition: "" });
        await put(backend, "s");
      },
    ],
  };
  for (const [other, [code, act]] of Object.entries(others))
    it.each(Object.entries(writes))(`${other} before %s: nothing changes`, async (_, write) => {
      const tables = await start({ search: true });
      const written = await put(tables.backend(), "s");
      await put(tables.direct(), "s", "other");
      await put(tables.direct(), "t");
      let before: unknown;
      tables.faults.before = async ({ isWrite }) => {
        if (!isWrite || before !== undefined) return;
        before = "under way";
        await act(tables.direct());
        before = await stateOf(tables);
      };
      await expect(write(written)).rejects.toMatchObject({ code });
      expect(before).toHaveLength(3);
      expect(await stateOf(tables)).toEqual(before);
    });

  /** The lines of a log in its order, from its start and from its end. */
  async function linesOf(log: SessionLog) {
    const found = { forwards: [] as string[], backwards: [] as string[] };
    const textsIn = (batch: Parameters<typeof eachLine>[0]) => {
      const texts: string[] = [];
      const line = (bytes: Uint8Array, _: number, from: number, to: number) =>
        texts.push(new TextDecoder().decode(bytes.subarray(from, to)));
      eachLine(batch, { line, tooLong: () => undefined });
      return texts;
    };
    for await (const batch of log.read(undefined)) found.forwards.push(...textsIn(batch));
    for await (const batch of log.readBackwards?.(undefined) ?? [])
      found.backwards.unshift(...textsIn({ ...batch, next: "" as LogPosition }));
    return found;
  }

  it.each(Object.entries(writes))("without one, %s concerns its own session alone", async (_, write) => {
    const tables = await start({ search: true });
    const before = await put(tables.direct(), "s", "other");
    const written = await put(tables.backend(), "s");
    const after = await put(tables.direct(), "t");
    const bystanders = async () => {
      const [, , found] = (await stateOf(tables)) as [unknown, unknown, readonly { readonly id: string }[]];
      const candidates = found.filter(({ id }, index) => id === "t" || index === found.length - 1);
      return [candidates, await linesOf(before.log), await linesOf(after.log)];
    };
    const known = await bystanders();
    expect(known[0]).toHaveLength(2);
    await write(written);
    expect(await bystanders()).toEqual(known);
    expect(await tables.direct().delete("s", { partition: "" })).toBe(true);
    expect(await bystanders()).toEqual(known);
    expect(await tables.rows("select 1 as n from entry")).toHaveLength(10);
  });

  it.each(Object.entries(writes))(
    "%s grows the time of its session, also if a clock was set back",
    async (_, write) => {
      const modified = async (tables: Tables) => {
        for await (const { modifiedAt } of tables.direct().list({ partition: "" })) return modifiedAt;
        return 0;
      };
      for (const sign of ["+", "-"]) {
        const tables = await start({ search: true });
        const hour = engine === "SQLite" ? "3600000" : "interval '1 hour'";
        const written = await put(tables.backend(), "s");
        await tables.rows(`update session set modified_at = modified_at ${sign} ${hour}`);
        const before = await modified(tables);
        await write(written);
        if (sign === "+") expect(await modified(tables)).toBe(before);
        else expect(await modified(tables)).toBeGreaterThan(before);
      }
    },
  );

  it("reads show the lines in force alone, and none of a session that has the name by now", async () => {
    const tables = await start();
    const { log } = await put(tables.direct(), "s");
    const lines = [header("s"), entry("e0000001"), entry("e0000002", "message", said("first"))];
    expect(await linesOf(log)).toEqual({ forwards: lines, backwards: lines });
    const long = entry("e0000003", "custom", `"customType":"x","data":"${"x".repeat(1_100_000)}"`);
    const append = async (to: SessionLog) => {
      let end = "" as LogPosition;
      for await (const { next } of to.read(undefined)) end = next;
      const { at: places } = await to.append(encode(long, entry("e0000004")), end);
      return places.map((place, index) => ({ at: place, length: index === 0 ? long.length : 100 }));
    };
    const places = await append(log);
    expect((await log.readAt(places)).map((line) => line?.length)).toEqual([
      long.length,
      entry("e0000004").length,
    ]);
    await tables.direct().delete("s", { partition: "" });
    await append((await put(tables.direct(), "s")).log);
    expect(await log.readAt(places)).toEqual([undefined, undefined]);
    for (const reading of [log.read(undefined), log.readBackwards?.(undefined) as AsyncIterable<unknown>])
      await expect(reading[Symbol.asyncIterator]().next()).rejects.toMatchObject({
        code: "SESSION_NOT_FOUND",
      });
  });

  it("a position of another session is of a deleted one", async () => {
    const tables = await start();
    const [{ log }, other] = [await put(tables.direct(), "s"), await put(tables.direct(), "t")];
    for (const act of [
      () => log.append(encode(entry("e0000003")), other.position),
      () => log.read(other.position)[Symbol.asyncIterator]().next(),
    ])
      await expect(act()).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
  });

  it("a first append finds a session that came first, and a deletion one of the same name", async () => {
    const tables = await start();
    const made = { id: "s", partition: "", cwd: "/", timestamp: at };
    const { log, position } = await tables.backend().create(made);
    await put(tables.direct(), "s");
    const before = await stateOf(tables);
    await expect(log.append(encode(header("s")), position)).rejects.toMatchObject({ code: "SESSION_EXISTS" });
    expect(await stateOf(tables)).toEqual(before);
    let other: unknown;
    tables.faults.before = async ({ isDelete }) => {
      if (!isDelete || other !== undefined) return;
      other = "under way";
      await others["a session of the same name and lines"]?.[1](tables.direct());
      other = await stateOf(tables);
    };
    expect(await tables.backend().delete("s", { partition: "" })).toBe(false);
    expect(other).toHaveLength(3);
    expect(await stateOf(tables)).toEqual(other);
  });

  it("an erasure tells of the lines from before a replacement, which it removes too", async () => {
    const tables = await start();
    const erased = await writes["an erasure"]?.(await put(tables.direct(), "s"));
    expect(erased).toMatchObject({ removed: [expect.stringMatching(/ from before a replacement$/)] });
    expect(await tables.rows("select 1 as n from entry")).toHaveLength(3);
  });

  it("old lines are not said to be removed if they are not", async () => {
    const tables = await start();
    const { log, position } = await put(tables.backend(), "s");
    let isLate = false;
    tables.faults.before = async ({ isDelete }) => {
      if (!isDelete || isLate) return;
      isLate = true;
      await others["an append"]?.[1](tables.direct());
    };
    const erased = await log.erase?.([], position).catch((error: unknown) => error);
    const [row] = await tables.rows("select count(*) as n from entry");
    expect(isLate).toBe(true);
    if (erased instanceof Error) expect([erased, row]).toMatchObject([{ code: "CONCURRENT_WRITER" }, {}]);
    else expect(Number(row?.n)).toBe(4);
  });

  const sources: Readonly<Record<string, readonly [boolean, (backend: Backend) => Promise<unknown>]>> = {
    "gets another line": [true, others["an append"]?.[1] as (backend: Backend) => Promise<unknown>],
    "becomes another one": [false, others["a session of the same name and lines"]?.[1] as never],
    "is replaced": [
      false,
      async (backend) => {
        const log = (await backend.open("s", { partition: "", mode: "write" })) as SessionLog;
        let end = "" as LogPosition;
        for await (const { next } of log.read(undefined)) end = next;
        await log.replace?.(
          encode(header("s"), entry("e0000001"), entry("e0000002"), entry("e0000003")),
          end,
        );
      },
    ],
  };
  it.each(Object.entries(sources))(
    "a copy of a session that %s has its lines or none",
    async (_, [isDone, act]) => {
      const tables = await start({ search: true });
      const source = await put(tables.backend(), "s");
      const { log } = await tables.backend().create({ id: "copy", partition: "", cwd: "/", timestamp: at });
      const first = encode(header("copy"))[0] as Uint8Array;
      const beyond = { at: 1_000_000, length: 1 };
      expect(await log.copy?.(source.log, first, source.position, beyond)).toBe(false);
      let before: unknown;
      tables.faults.before = async ({ isWrite }) => {
        if (!isWrite || before !== undefined) return;
        before = "under way";
        await act(tables.direct());
        before = await stateOf(tables);
      };
      expect(await log.copy?.(source.log, first, source.position)).toBe(isDone);
      expect(before).toHaveLength(3);
      if (!isDone) return expect(await stateOf(tables)).toEqual(before);
      const session = await storeOf(tables.direct()).open("copy");
      expect([...(await session.tree()).walk()].map(({ node }) => node.id)).toEqual(["e0000001", "e0000002"]);
      // No line of the source is where the next one goes.
      await (await storeOf(tables.direct()).open("copy", { mode: "write" })).appendMessage(say("next"));
    },
  );
});

it("an append has at most 256 MiB, a directory is known by its start, and a partition by a checksum", () => {
  expect(() => checkBatchBytes(2 ** 28)).not.toThrow();
  expect(() => checkBatchBytes(2 ** 28 + 1)).toThrow(/an append of 268435457 bytes, at most 268435456/);
  expect(cwdKey(`/a\0${"b".repeat(600)}`)).toBe(`/a\ufffd${"b".repeat(497)}`);
  expect([termKey(""), termKey("acme")]).toEqual(["", expect.stringMatching(/^[0-9a-f]{8}$/)]);
});
