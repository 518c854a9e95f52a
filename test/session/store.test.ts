import {
  memorySessionStore,
  type Resource,
  type SessionBackend,
  type SessionStore,
  sessionStore,
  userMessage,
} from "sessile";
import { SessileError } from "sessile/errors";
import { describe, expect, test } from "vitest";
import { hookedBackend, hookedMemory, type LogHooks } from "./hooked-backend.js";

async function stored(store: SessionStore, id: string, text = "hello", cwd = "/p"): Promise<void> {
  const session = await store.create({ cwd, id });
  await session.appendMessage(userMessage(text));
  await session.close();
}

async function ids(store: SessionStore, query?: Parameters<SessionStore["list"]>[0]): Promise<string[]> {
  const found: string[] = [];
  for await (const { id } of store.list(query)) found.push(id);
  return found;
}

describe("arguments", () => {
  test.each([
    [{ maxDepth: 7 }, "maxDepth: expected an integer >= 8, got 7"],
    [{ maxLineBytes: 1023 }, "maxLineBytes: expected an integer >= 1024, got 1023"],
    [{ maxLineBytes: Number.POSITIVE_INFINITY }, "maxLineBytes"],
  ])("a store refuses %j", (options, message) => {
    expect(() => memorySessionStore(options)).toThrow(RangeError);
    expect(() => memorySessionStore(options)).toThrow(message);
  });

  test("each call names what is wrong with its own", async () => {
    const store = memorySessionStore();
    const wrong: [() => Promise<unknown>, string][] = [
      [() => store.create({ cwd: "" }), "cwd: expected a non-empty string"],
      [() => store.create({ cwd: "/p", id: "-x" }), "id: expected"],
      [() => store.create({ cwd: "/p", partition: "a/b" }), "partition: expected"],
      [() => store.open(""), "id: expected a non-empty string"],
      [() => store.open("x", { mode: "rw" as never }), 'mode: expected "read" or "write", got rw'],
      [() => store.open("x", { partition: ".." }), "partition: expected"],
      [() => ids(store, { limit: 0 }), "limit: expected an integer >= 1, got 0"],
      [() => ids(store, { after: "nonsense" }), "after: expected a cursor of a list, got nonsense"],
    ];
    for (const [act, message] of wrong) await expect(act()).rejects.toThrow(message);
    expect(await ids(store)).toEqual([]);
  });

  test("clocks and ids can be given", async () => {
    const store = memorySessionStore({
      now: () => Date.UTC(2026, 0, 2),
      newSessionId: (now) => `at-${now}`,
      newEntryId: () => "0badc0de",
      checksum: false,
    });
    const session = await store.create({ cwd: "/p", parentSession: "another" });
    const entry = await session.appendMessage(userMessage("a"));
    expect(session.header).toEqual({
      type: "session",
      version: 3,
      id: `at-${Date.UTC(2026, 0, 2)}`,
      timestamp: "2026-01-02T00:00:00.000Z",
      cwd: "/p",
      parentSession: "another",
      sessile: 1,
    });
    expect(entry).toMatchObject({ id: "0badc0de", timestamp: "2026-01-02T00:00:00.000Z" });
    expect(new TextDecoder().decode(await session.raw("0badc0de"))).not.toContain("crc");
    expect(session.info).toMatchObject({ parentSession: "another", version: 3 });
    expect((await store.create({ cwd: "/p", id: "b" })).id).toBe("b");
  });

  test("the unnamed partition has two names", async () => {
    const store = memorySessionStore();
    const session = await store.create({ cwd: "/p", id: "a", partition: "" });
    await session.appendMessage(userMessage("x"));
    expect(await ids(store)).toEqual(["a"]);
    expect(await ids(store, { partition: "" })).toEqual(["a"]);
  });
});

describe("events", () => {
  test("of a store tell what was done through it, and end when they are told to", async () => {
    const backend = hookedMemory();
    const store = sessionStore(backend);
    const told: string[] = [];
    const undo = [
      store.on("created", ({ id }) => told.push(`created ${id}`)),
      store.on("updated", ({ id, info }) => told.push(`updated ${id} ${info.title}`)),
      store.on("deleted", ({ id }) => told.push(`deleted ${id}`)),
    ];
    const session = await store.create({ cwd: "/p", id: "a" });
    expect(told).toEqual([]);
    await session.appendMessage(userMessage("x"));
    await session.updateInfo({ title: "t" });
    await session.extract(undefined, { id: "b" });
    await store.fork("a", { id: "c" });
    await store.archive("a");
    await store.delete("b");
    expect(told.splice(0)).toEqual([
      "created a",
      "updated a t",
      "created b",
      "created c",
      "updated c t (fork #1)",
      "updated a t",
      "deleted b",
    ]);
    await sessionStore(backend).delete("c");
    for (const off of undo) off();
    await store.delete("a");
    expect(told).toEqual([]);
  });

  test("of a deletion reach every handle that is open in the partition, and none that was closed", async () => {
    const store = memorySessionStore();
    const told: string[] = [];
    for (const partition of ["", "other"]) {
      const session = await store.create({ cwd: "/p", id: "a", partition });
      session.on("deleted", () => told.push(`writer in ${partition}`));
      await session.appendMessage(userMessage("x"));
    }
    const reader = await store.open("a");
    reader.on("deleted", () => told.push("reader"));
    const closed = await store.open("a");
    closed.on("deleted", () => told.push("closed"));
    await closed.close();
    expect(await store.delete("a")).toBe(true);
    expect(told).toEqual(["writer in ", "reader"]);
    expect(await store.delete("a")).toBe(false);
    expect(await ids(store, { partition: "other" })).toEqual(["a"]);
  });
});

describe("open and copy", () => {
  test("let the log go where they fail", async () => {
    const hooks: LogHooks = {};
    let closes = 0;
    hooks.close = () => closes++;
    const backend = hookedMemory();
    const store = sessionStore(hookedBackend(backend, hooks));
    const { log, position } = await backend.create({ id: "bad", partition: "", cwd: "/p", timestamp: "" });
    await log.append([new TextEncoder().encode("{}\n")], position);
    await expect(store.open("bad")).rejects.toMatchObject({ code: "NO_HEADER", details: { lines: 1 } });
    expect(closes).toBe(1);
    await stored(store, "good");
    closes = 0;
    const refused = new SessileError("STORAGE_FAILED", "no", {
      details: { operation: "", path: "", errno: "EIO" },
    });
    hooks.append = () => Promise.reject(refused);
    await expect(store.fork("good")).rejects.toBe(refused);
    // The source, and what was to be the copy.
    expect(closes).toBe(2);
    await expect(store.archive("good")).rejects.toBe(refused);
    expect(closes).toBe(3);
    hooks.read = () => {
      throw refused;
    };
    await expect(store.open("good")).rejects.toBe(refused);
    expect(closes).toBe(4);
  });

  test("of a session that is gone say so", async () => {
    const store = memorySessionStore();
    const notFound = { code: "SESSION_NOT_FOUND", details: { id: "none" } };
    await expect(store.open("none")).rejects.toMatchObject(notFound);
    await expect(store.fork("none")).rejects.toMatchObject(notFound);
    await expect(store.archive("none")).rejects.toMatchObject(notFound);
    expect(await store.delete("none")).toBe(false);
    expect(await store.latest()).toBeUndefined();
  });

  test("of an older version in a backend that cannot migrate it are for reading only", async () => {
    const backend = hookedMemory();
    const without: SessionBackend = {
      ...backend,
      async open(id, options) {
        const log = await backend.open(id, options);
        if (log === undefined) return undefined;
        const { append, read, readAt, close } = log;
        return {
          append: append.bind(log),
          read: read.bind(log),
          readAt: readAt.bind(log),
          close: close.bind(log),
        };
      },
    };
    const { log, position } = await backend.create({ id: "old", partition: "", cwd: "/p", timestamp: "" });
    const lines = [
      { type: "session", id: "old", timestamp: "", cwd: "/p" },
      { type: "message", timestamp: "", message: { role: "user", content: "x", timestamp: 1 } },
    ];
    await log.append(
      lines.map((line) => new TextEncoder().encode(`${JSON.stringify(line)}\n`)),
      position,
    );
    const session = await sessionStore(without).open("old", { mode: "write" });
    expect((await session.context()).items.length).toBe(1);
    expect(session.writable).toBe(false);
    await expect(session.appendMessage(userMessage("y"))).rejects.toMatchObject({
      code: "SESSION_READ_ONLY",
      details: { reason: "version" },
      message: expect.stringContaining("older version"),
    });
  });
});

describe("a fork's title", () => {
  test.each([
    [{ title: "T" }, { title: "T (fork #1)" }],
    [
      { title: "T (fork #9)", name: "n" },
      { title: "T (fork #10)", name: "n (fork #1)" },
    ],
    [{ name: "n" }, { title: "n (fork #1)", name: "n (fork #1)" }],
    [{}, { title: "the first message (fork #1)" }],
  ])("of %j is %j", async (info, expected) => {
    const store = memorySessionStore();
    const session = await store.create({ cwd: "/p", id: "a" });
    await session.appendMessage(userMessage("  the first\n message  "));
    if (Object.keys(info).length > 0) await session.updateInfo(info);
    const fork = await store.fork("a");
    expect(fork.info).toMatchObject(expected);
    expect(fork.writable).toBe(true);
  });

  test("of a session without a word in it says as much", async () => {
    const store = memorySessionStore();
    const session = await store.create({ cwd: "/p", id: "a" });
    await session.append([{ type: "custom", customType: "c" }]);
    expect((await store.fork("a")).info.title).toBe("Session (fork #1)");
    await session.appendMessage(userMessage("x".repeat(100)));
    expect((await store.fork("a")).info.title).toBe(`${"x".repeat(60)} (fork #1)`);
  });

  // @covers R151
  test("is what a person wrote, or the names of attachments, cut between characters", async () => {
    const store = memorySessionStore();
    const session = await store.create({ cwd: "/p", id: "a" });
    const link: Resource = {
      resourceId: "res_0123456789abcdef",
      kind: "link",
      source: "link",
      name: "holiday.png",
      uri: "https://example.com/a",
    };
    await session.appendMessage(userMessage(link));
    expect((await store.fork("a")).info.title).toBe("holiday.png (fork #1)");
    const other = await store.create({ cwd: "/p", id: "b" });
    await other.appendMessage(userMessage(link, `x${"🙂".repeat(99)}`));
    expect((await store.fork("b")).info.title).toBe(`x${"🙂".repeat(59)} (fork #1)`);
  });
});

describe("list", () => {
  test("counts what is there, when it is asked to", async () => {
    const store = memorySessionStore();
    await stored(store, "a");
    const session = await store.open("a", { mode: "write" });
    await session.append([{ type: "label", targetId: session.leafId ?? "", label: "l" }]);
    for await (const summary of store.list({ stats: true }))
      expect(summary.counts).toEqual({ entries: 2, messages: 1 });
    for await (const summary of store.list()) expect(summary.counts).toBeUndefined();
  });

  // @covers R136
  test("leaves out what has no header, and gives the newest that is not archived as the latest", async () => {
    let now = 1000;
    const backend = hookedMemory({}, () => now);
    const store = sessionStore(backend, { now: () => now });
    const { log, position } = await backend.create({ id: "bad", partition: "", cwd: "/p", timestamp: "" });
    await log.append([new TextEncoder().encode("{}\n")], position);
    for (const id of ["a", "b", "c"]) {
      now += 1000;
      await stored(store, id, id, id === "c" ? "/q" : "/p");
    }
    expect(await ids(store)).toEqual(["c", "b", "a"]);
    now += 1000;
    expect((await store.archive("c")).time.archived).toBe(new Date(now).toISOString());
    expect((await store.latest())?.id).toBe("b");
    expect((await store.latest({ archived: true }))?.id).toBe("c");
    expect((await store.latest({ cwd: "/q" }))?.id).toBeUndefined();
    now += 1000;
    expect((await store.archive("c", { archived: false })).time.archived).toBeUndefined();
    expect((await store.latest())?.id).toBe("c");
    expect(await ids(store, { since: new Date(2000), until: new Date(4000) })).toEqual(["b", "a"]);
  });

  test("stops at its limit, behind a cursor, and when its signal is aborted", async () => {
    const store = memorySessionStore({ now: () => 5 });
    for (const id of ["a", "b", "c"]) await stored(store, id);
    const first: string[] = [];
    let after = "";
    for await (const { id, cursor } of store.list({ limit: 2 })) {
      first.push(id);
      after = cursor;
    }
    expect(first).toEqual(["c", "b"]);
    expect(await ids(store, { after })).toEqual(["a"]);
    const controller = new AbortController();
    const reading = (async () => {
      for await (const _ of store.list({ signal: controller.signal })) controller.abort("enough");
    })();
    await expect(reading).rejects.toBe("enough");
  });
});
