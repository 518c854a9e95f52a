import { eraseEntries, memorySessionStore, type SessionStore, userMessage } from "sessile";
import { copySessions } from "sessile/sync";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { pglite, startMs } from "../postgres/pglite.js";
import { closeDatabases } from "../sqlite/databases.js";
import { engines, storeOf } from "./subjects.js";

beforeAll(async () => {
  await pglite();
}, startMs);
afterEach(closeDatabases);

describe.each(engines)("a list of $name", ({ start }) => {
  it("shows the first message, also if a second writer did not know of it", async () => {
    const store = storeOf((await start()).direct());
    const first = await store.create({ cwd: "/", id: "a" });
    await first.append([{ type: "custom", customType: "x" }]);
    const second = await store.open("a", { mode: "write" });
    await first.appendMessage(userMessage("first"));
    await second.append([{ type: "message", message: userMessage("second") }], { conflict: "branch" });
    expect((await store.latest())?.firstMessage).toBe("first");
    const [
      ,
      {
        node: { id: upTo },
      } = { node: { id: "" } },
    ] = [...(await first.tree()).walk()];
    await (await store.fork("a", { id: "b", upTo })).close();
    expect((await store.latest())?.firstMessage).toBe("first");
  });

  it("counts entries and messages without opening the session", async () => {
    const tables = await start();
    const store = storeOf(tables.direct());
    const session = await store.create({ cwd: "/", id: "a" });
    await session.appendMessage(userMessage("one"));
    await session.append([{ type: "custom", customType: "x" }]);
    await session.append([{ type: "message", message: userMessage("two") }]);
    await store.fork("a", { id: "b" });
    const counted: unknown[] = [];
    for await (const { id, counts } of storeOf(tables.backend()).list({ stats: true }))
      counted.push([id, counts]);
    // A fork has a session_info of its own.
    expect(counted.sort()).toEqual([
      ["a", { entries: 3, messages: 2 }],
      ["b", { entries: 4, messages: 2 }],
    ]);
    expect(tables.faults.calls).toHaveLength(1);
  });

  it("takes directories of any length and with NULs, and cursors of any kind", async () => {
    const backend = (await start()).direct();
    const store = storeOf(backend);
    const cwds = ["/a\0b", `/${"é".repeat(5000)}`, `/${"é".repeat(5000)}x`, "/🙂"];
    const [nul = "", ...paths] = cwds;
    await expect(store.create({ cwd: nul })).rejects.toMatchObject({
      code: "INVALID_ENTRY",
      details: { path: "cwd" },
    });
    for (const [index, cwd] of paths.entries())
      await (await store.create({ cwd, id: `s${index + 1}` })).appendMessage(userMessage("\0 first"));
    // A session of another program: its header is read as it is.
    const timestamp = "2026-01-01T00:00:00.000Z";
    const message = { role: "user", content: "\0 first", timestamp: 0 };
    const lines = [
      { type: "session", version: 3, id: "s0", timestamp, cwd: nul },
      { type: "message", id: "00000001", parentId: null, timestamp, message },
    ].map((line) => new TextEncoder().encode(`${JSON.stringify(line)}\n`));
    const { log, position } = await backend.create({ partition: "", cwd: nul, id: "s0", timestamp });
    await log.append(lines, position);
    for (const [index, cwd] of cwds.entries()) {
      const found: unknown[] = [];
      for await (const { id, firstMessage } of store.list({ cwd })) found.push([id, firstMessage]);
      expect(found).toEqual([[`s${index}`, "\0 first"]]);
    }
    for (const [after, count] of [
      ["99999999999999999999_x", 4],
      ["99999999999999_\0x", 4],
      ["-1_x", 0],
      ["0_x", 0],
      ["0_\0", 0],
    ] as const) {
      let found = 0;
      for await (const _ of store.list({ after })) found++;
      expect(found).toBe(count);
    }
    expect(await store.open("a\0b").catch(({ code }) => code)).toBe("SESSION_NOT_FOUND");
    expect(await store.delete("a\0b")).toBe(false);
  });

  it("shows a replaced log by its new lines, and readers begin again", async () => {
    const tables = await start();
    const backend = tables.direct();
    const store = storeOf(backend);
    const lines = [
      `{"type":"session","version":1,"id":"x","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}\n`,
      `{"type":"message","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"hi","timestamp":1}}\n`,
    ];
    const timestamp = "2026-01-01T00:00:00.000Z";
    const { log, position } = await backend.create({ partition: "", cwd: "/", id: "x", timestamp });
    const { position: end } = await log.append(
      lines.map((line) => new TextEncoder().encode(line)),
      position,
    );
    const reader = await store.open("x");
    const session = await store.open("x", { mode: "write" });
    await session.appendMessage(userMessage("new"));
    const batches = [];
    for await (const batch of log.read(end)) batches.push(batch);
    expect(batches.map(({ restarted }) => restarted)).toEqual([true]);
    await reader.refresh();
    expect((await reader.context()).items.map(({ message }) => message.role)).toEqual(["user", "user"]);
    for await (const { firstMessage, counts } of store.list({ stats: true }))
      expect([firstMessage, counts]).toEqual(["hi", { entries: 2, messages: 2 }]);
    const fork = await store.fork("x");
    expect((await fork.context()).items).toHaveLength(2);
    const late = log.append([new TextEncoder().encode("{}\n")], end);
    await expect(late).rejects.toMatchObject({ code: "CONCURRENT_WRITER" });
  });

  it("shows what the lines say, after erasures, forks up to any entry, and forks of both", {
    timeout: 120_000,
  }, async () => {
    const store = storeOf((await start({ search: true })).direct());
    const session = await store.create({ cwd: "/work", id: "a" });
    const text = (content: string) => ({ type: "message", message: userMessage(content) }) as const;
    await session.append([{ type: "custom", customType: "x" }]);
    await session.updateInfo({ title: "early" });
    await session.append([text("first apple"), text("second")]);
    await session.updateInfo({ title: "late" });
    await session.append([text("last")]);
    await session.updateInfo({ title: "latest" });
    const ids = [...(await session.tree()).walk()].map(({ node }) => node.id);
    for (const [index, id] of ids.entries()) {
      await (await store.fork("a", { id: `fork${index}`, upTo: id })).append([text("own")]);
      await (await store.fork("a", { id: `erased${index}` })).close();
      await eraseEntries(store, `erased${index}`, [id], { reason: "a request" });
      const upTo = ids.at(-3) as string;
      await (await store.fork(`erased${index}`, { id: `both${index}`, upTo })).close();
    }
    // A store in memory reads the lines, instead of what it noted of them.
    const copied = memorySessionStore();
    await copySessions(store, copied);
    const shown = async (from: SessionStore) => {
      const found: Record<string, unknown> = {};
      for await (const { id, title, firstMessage, counts, cwd, size } of from.list({ stats: true }))
        found[id] = { title, firstMessage, counts, cwd, size };
      return found;
    };
    const wanted = await shown(copied);
    expect(Object.keys(wanted)).toHaveLength(1 + 3 * ids.length);
    expect(await shown(store)).toEqual(wanted);
    const hits = async (from: SessionStore) => {
      const found: string[] = [];
      for await (const { sessionId, entryId } of from.search({ text: "apple" }))
        found.push(`${sessionId} ${entryId}`);
      return found.sort();
    };
    expect(await hits(store)).toEqual(await hits(copied));
  });
});
