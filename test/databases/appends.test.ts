import { userMessage } from "sessile/content";
import type { Session } from "sessile/session";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { pglite, startMs } from "../postgres/pglite.js";
import { closeDatabases } from "../sqlite/databases.js";
import { type Call, engines, storeOf, type Tables } from "./subjects.js";

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
        other.branch([...other.tree.walk()].at(-1)?.node.id ?? null);
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
