import fc from "fast-check";
import {
  customEntry,
  type EntryDraft,
  memoryBlobStore,
  memorySessionStore,
  type Session,
  type SessionStore,
} from "sessile";
import { SessileError } from "sessile/errors";
import { describe, expect, it, vi } from "vitest";
import { type AppendPlan, adapterSettings, SessionHandles } from "../../../src/frameworks/shared/handles.js";
import { text } from "../../arbitraries/values.js";

const item = customEntry("sessile.test.item", (data) => data as string);
const place = { partition: "test", key: "a" };

const handlesOn = (sessions: SessionStore, maxOpen = 64) =>
  new SessionHandles("langgraph", { sessions, maxOpen });

/** A plan that appends these items behind the leaf. */
const plan =
  (...items: string[]) =>
  async (): Promise<AppendPlan<number>> => ({
    drafts: items.map((each) => item.draft(each)),
    done: (_, written) => written.length,
  });

async function itemsOf(session: Session | undefined): Promise<(string | undefined)[] | undefined> {
  return (await session?.path())?.map((entry) => item.read(entry));
}

describe("appends", () => {
  it("create the session, with its key as the first entry", async () => {
    const sessions = memorySessionStore();
    const handles = handlesOn(sessions);
    expect(await handles.append({ partition: "test", key: "user/1" }, plan("one", "two"))).toBe(2);
    const session = await sessions.open("x.user_2f1", { partition: "test" });
    const [first, ...rest] = await session.path();
    expect(first).toMatchObject({ customType: "sessile.langgraph.key", data: { key: "user/1" } });
    expect(rest.map((entry) => item.read(entry))).toEqual(["one", "two"]);
    expect((await session.context()).items).toEqual([]);
  });

  it("create nothing for no drafts", async () => {
    const sessions = memorySessionStore();
    expect(await handlesOn(sessions).append(place, plan())).toBe(0);
    expect(await sessions.latest({ partition: "test" })).toBeUndefined();
  });

  it("run one after the other in the order of the calls", async () => {
    const handles = handlesOn(memorySessionStore());
    const wanted = Array.from({ length: 30 }, (_, index) => `${index}`);
    await Promise.all(wanted.map((each) => handles.append(place, plan(each))));
    expect((await handles.read(place, itemsOf))?.slice(1)).toEqual(wanted);
  });

  it("leave out drafts whose ids are there", async () => {
    const handles = handlesOn(memorySessionStore());
    const twice = async (): Promise<AppendPlan<string[]>> => ({
      drafts: [
        { ...item.draft("a"), id: "i.a" },
        { ...item.draft("a"), id: "i.a" },
        { ...item.draft("b"), id: "i.b" },
      ],
      done: (_, written) => written.map(({ id }) => id),
    });
    expect(await handles.append(place, twice)).toEqual(["i.a", "i.b"]);
    await handles.append(place, plan("c"));
    expect(await handles.append(place, twice)).toEqual([]);
    expect((await handles.read(place, itemsOf))?.slice(1)).toEqual(["a", "b", "c"]);
  });

  it("name the entry that they follow", async () => {
    const sessions = memorySessionStore();
    const after: unknown[] = [];
    const handles = handlesOn(hooked(sessions, (_, options) => void after.push(options?.after)));
    await handles.append(place, plan("one"));
    const leaf = await handles.read(place, async (session) => session?.leafId);
    await handles.append(place, plan("two"));
    const branch = async () => ({ ...(await plan("three")()), parent: leaf as string });
    await handles.append(place, branch);
    expect(after).toEqual([null, leaf, leaf]);
    expect((await handles.read(place, itemsOf))?.slice(1)).toEqual(["one", "three"]);
  });
});

describe("another writer", () => {
  it("is followed, not forked, by appends that begin later", async () => {
    const sessions = memorySessionStore();
    const [first, second] = [handlesOn(sessions), handlesOn(sessions)];
    for (let round = 0; round < 5; round++) {
      await first.append(place, plan(`first ${round}`));
      await second.append(place, plan(`second ${round}`));
    }
    expect(await first.read(place, itemsOf)).toHaveLength(11);
    expect(await second.read(place, itemsOf)).toHaveLength(11);
  });

  it("loses nothing and doubles nothing at the same time", async () => {
    const sessions = memorySessionStore();
    const writers = [handlesOn(sessions), handlesOn(sessions), handlesOn(sessions)];
    const names = writers.flatMap((_, writer) => Array.from({ length: 20 }, (_, at) => `${writer}.${at}`));
    await Promise.all(
      writers.map(async (handles, writer) => {
        for (const name of names) if (name.startsWith(`${writer}.`)) await handles.append(place, plan(name));
      }),
    );
    const [, ...items] = (await writers[0]?.read(place, itemsOf)) ?? [];
    expect([...items].sort()).toEqual([...names].sort());
    for (const writer of [0, 1, 2]) {
      const own = items.filter((name) => name?.startsWith(`${writer}.`));
      expect(own).toEqual(names.filter((name) => name.startsWith(`${writer}.`)));
    }
  });

  it("makes the plan anew, from what is there then", async () => {
    const sessions = memorySessionStore();
    const other = handlesOn(sessions);
    let conflicts = 2;
    const handles = handlesOn(
      hooked(sessions, async () => {
        if (conflicts-- > 0) await other.append(place, plan("other"));
      }),
    );
    const counts: number[] = [];
    await handles.append(place, async (session) => {
      counts.push((await session?.tree())?.size ?? 0);
      return plan("own")();
    });
    expect(counts).toEqual([0, 2, 3]);
    expect((await handles.read(place, itemsOf))?.slice(1)).toEqual(["other", "other", "own"]);
  });

  it("leaves no trace of a branch that a conflict prevented", async () => {
    const sessions = memorySessionStore();
    const other = handlesOn(sessions);
    await other.append(place, plan("one"));
    const root = await other.read(place, async (session) => session?.leafId as string);
    await other.append(place, plan("two"));
    let failed = false;
    const handles = handlesOn(
      hooked(sessions, async () => {
        if (!failed) await other.append(place, plan("three"));
        failed = true;
      }),
    );
    const attempts: number[] = [];
    await handles.append(place, async (session) => {
      attempts.push((await session?.tree())?.size ?? 0);
      if (attempts.length === 2) return { drafts: [], done: () => 0 };
      return { ...(await plan("branch")()), parent: root };
    });
    await handles.close();
    expect(attempts).toEqual([3, 4]);
    const session = await sessions.open("a", { partition: "test" });
    expect(await itemsOf(session)).toEqual([undefined, "one", "two", "three"]);
    expect(Array.from((await session.tree()).walk(), ({ node }) => node.type)).not.toContain("leaf");
  });

  it("moves no leaf if an append behind another entry is refused", async () => {
    const sessions = memorySessionStore();
    const handles = handlesOn(sessions);
    await handles.append(place, plan("one"));
    const invalid = { type: "custom", customType: 1 } as unknown as EntryDraft;
    const refused = handles.append(place, async () => ({ drafts: [invalid], parent: null, done: () => 0 }));
    await expect(refused).rejects.toMatchObject({ code: "INVALID_ENTRY" });
    await handles.close();
    expect((await handles.read(place, itemsOf))?.slice(1)).toEqual(["one"]);
  });

  it("is given up after 20 attempts", async () => {
    const sessions = memorySessionStore();
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    try {
      let attempts = 0;
      const handles = handlesOn(
        hooked(sessions, () => {
          attempts++;
          const details = { expected: "a", actual: "b" };
          throw new SessileError("CONCURRENT_WRITER", "another writer", { details });
        }),
      );
      const appended = handles.append(place, plan("one"));
      appended.catch(() => undefined);
      for (let at = 0; at < 100; at++) await vi.advanceTimersByTimeAsync(500);
      await expect(appended).rejects.toMatchObject({ code: "CONCURRENT_WRITER" });
      expect(attempts).toBe(20);
    } finally {
      vi.useRealTimers();
    }
  });

  it("is not waited for if the plan itself reports the conflict", async () => {
    const handles = handlesOn(memorySessionStore());
    let plans = 0;
    const details = { expected: "a", actual: "b" };
    const appended = handles.append(place, async () => {
      plans++;
      throw new SessileError("CONCURRENT_WRITER", "the caller's leaf is another one", { details });
    });
    await expect(appended).rejects.toMatchObject({ code: "CONCURRENT_WRITER", details });
    expect(plans).toBe(1);
  });

  it("may delete the session, which the next append creates again", async () => {
    const sessions = memorySessionStore();
    const handles = handlesOn(sessions);
    await handles.append(place, plan("one"));
    await sessions.delete("a", { partition: "test" });
    expect(await handles.read(place, itemsOf)).toBeUndefined();
    await handles.append(place, plan("two"));
    await handlesOn(sessions).delete(place);
    await handles.append(place, plan("three"));
    expect((await handles.read(place, itemsOf))?.slice(1)).toEqual(["three"]);
  });
});

describe("open sessions", () => {
  it("are at most so many, least recently used first out", async () => {
    const sessions = memorySessionStore();
    const open = new Set<string>();
    let most = 0;
    const handles = handlesOn(
      counted(sessions, open, () => (most = Math.max(most, open.size))),
      3,
    );
    const key = (at: number) => ({ partition: "test", key: `s${at}` });
    await Promise.all(Array.from({ length: 12 }, (_, at) => handles.append(key(at), plan(`${at}`))));
    expect(most).toBe(3);
    for (const at of [0, 1, 2, 0, 3]) await handles.read(key(at), itemsOf);
    expect([...open].sort()).toEqual(["s0", "s2", "s3"]);
    await handles.close();
    expect([...open]).toEqual([]);
    expect((await handles.read(key(7), itemsOf))?.slice(1)).toEqual(["7"]);
  });

  it("are opened again after an error", async () => {
    const sessions = memorySessionStore();
    let fails = true;
    const handles = handlesOn(
      hooked(sessions, () => {
        const details = { id: "a", reason: "test" };
        if (fails) throw new SessileError("WRITER_POISONED", "the end is unknown", { details });
      }),
    );
    await expect(handles.append(place, plan("one"))).rejects.toMatchObject({ code: "WRITER_POISONED" });
    fails = false;
    await handles.append(place, plan("two"));
    expect((await handles.read(place, itemsOf))?.slice(1)).toEqual(["two"]);
  });
});

it("an error of a refresh reaches the caller, and the next call opens the session again", async () => {
  const sessions = memorySessionStore();
  let opened = 0;
  const details = { id: "a", reason: "test" };
  const lost = new SessileError("WRITER_POISONED", "the end is unknown", { details });
  const failing: SessionStore = {
    ...bound(sessions),
    open: async (...call) => {
      const session = await sessions.open(...call);
      if (opened++ === 0) vi.spyOn(session, "refresh").mockRejectedValue(lost);
      return session;
    },
  };
  await handlesOn(sessions).append(place, plan("one"));
  const handles = handlesOn(failing);
  expect(await handles.read(place, itemsOf)).toHaveLength(2);
  await expect(handles.read(place, itemsOf)).rejects.toBe(lost);
  expect(await handles.read(place, itemsOf)).toHaveLength(2);
  expect(opened).toBe(2);
});

describe("lists", () => {
  it("give the keys, also of names that are digests", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(text, { maxLength: 8 }), async (keys) => {
        const handles = handlesOn(memorySessionStore());
        for (const key of keys) await handles.append({ partition: "test", key }, plan("one"));
        const listed: string[] = [];
        for await (const { key } of handles.list("test")) listed.push(key);
        expect(listed.sort()).toEqual([...keys].sort());
      }),
      { numRuns: 50 },
    );
  });
});

describe("options", () => {
  const sessions = memorySessionStore();

  it("have defaults", () => {
    expect(adapterSettings("test", { sessions })).toEqual({
      sessions,
      blobs: undefined,
      partition: "test",
      outOfLine: 4096,
      maxOpen: 64,
    });
  });

  it("are taken as given", () => {
    const given = { sessions, blobs: memoryBlobStore(), partition: "p", outOfLine: 1, maxOpen: 1 };
    expect(adapterSettings("test", given)).toEqual(given);
    expect(() => adapterSettings("test", { sessions, partition: "" })).toThrow(/^partition: /);
  });

  it.each([
    [{}, TypeError],
    [{ sessions, blobs: {} }, TypeError],
    [{ sessions, partition: "a/b" }, TypeError],
    [{ sessions, outOfLine: 0 }, RangeError],
    [{ sessions, maxOpen: 0.5 }, RangeError],
  ])("are checked: %o", (options, error) => {
    expect(() => adapterSettings("test", options as never)).toThrow(error);
  });
});

type Append = Session["append"];

/** A store whose sessions call this before each append. */
function hooked(
  sessions: SessionStore,
  before: (...call: Parameters<Append>) => void | Promise<void>,
): SessionStore {
  const hook = (session: Session): Session =>
    new Proxy(session, {
      get(target, name) {
        const member = Reflect.get(target, name, target);
        if (typeof member !== "function") return member;
        if (name !== "append") return member.bind(target);
        return async (...call: Parameters<Append>) => {
          await before(...call);
          return target.append(...call);
        };
      },
    });
  return {
    ...bound(sessions),
    create: async (options) => hook(await sessions.create(options)),
    open: async (...call) => hook(await sessions.open(...call)),
  };
}

/** A store that keeps the ids of its open sessions. */
function counted(sessions: SessionStore, open: Set<string>, opened: () => void): SessionStore {
  const count = (session: Session): Session => {
    open.add(session.id);
    opened();
    return new Proxy(session, {
      get(target, name) {
        const member = Reflect.get(target, name, target);
        if (typeof member !== "function") return member;
        if (name !== "close") return member.bind(target);
        return async () => {
          await target.close();
          open.delete(target.id);
        };
      },
    });
  };
  return {
    ...bound(sessions),
    create: async (options) => count(await sessions.create(options)),
    open: async (...call) => count(await sessions.open(...call)),
  };
}

function bound(sessions: SessionStore): SessionStore {
  return {
    create: (options) => sessions.create(options),
    open: (...call) => sessions.open(...call),
    list: (query) => sessions.list(query),
    search: (query) => sessions.search(query),
    recent: (...call) => sessions.recent(...call),
    latest: (query) => sessions.latest(query),
    fork: (...call) => sessions.fork(...call),
    delete: (...call) => sessions.delete(...call),
    adopt: (...call) => sessions.adopt(...call),
    archive: (...call) => sessions.archive(...call),
    partitions: () => sessions.partitions(),
    on: (event, listener) => sessions.on(event, listener),
    backend: sessions.backend,
  };
}
