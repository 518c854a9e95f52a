import {
  eraseEntries,
  parseSession,
  type Session,
  type SessionStore,
  sessionStore,
  userMessage,
} from "sessile";
import { SessileError } from "sessile/errors";
import { copySessions, mergeSessions, syncSessions } from "sessile/sync";
import { describe, expect, test } from "vitest";
import { canary } from "../support/canary.js";
import { bytesOf, memoryStore, put, viewOf } from "./stores.js";

let clock = Date.UTC(2026, 0, 1);
const now = () => clock++;
const reason = "a request";
const apply = { erasures: "apply" } as const;

/** Two stores with a session whose first and third messages have the canary, and its title. */
async function twoStores(): Promise<{ a: SessionStore; b: SessionStore; inA: Session; inB: Session }> {
  const [a, b] = [memoryStore(now), memoryStore(now)];
  const inA = await a.create({ cwd: "/p", id: "s" });
  await inA.append([
    { type: "message", message: userMessage(`first ${canary}`), id: "e0000001" },
    { type: "message", message: userMessage("second"), id: "e0000002" },
    { type: "message", message: userMessage(`third ${canary}`), id: "e0000003" },
  ]);
  await inA.updateInfo({ title: canary });
  await syncSessions(a, b, apply);
  return { a, b, inA, inB: await b.open("s", { mode: "write" }) };
}

const textOf = async (store: SessionStore) => Buffer.from(await bytesOf(store, "s")).toString();

describe("a sync with tombstones", () => {
  test.each(["a", "b"] as const)(
    "erases the other store's entries, %s with the tombstones",
    async (where) => {
      const stores = await twoStores();
      await eraseEntries(stores[where], "s", ["e0000001", "e0000003"], { reason });
      const report = await syncSessions(stores.a, stores.b, apply);
      expect(report.erased.map(({ entryId }) => entryId)).toEqual(
        expect.arrayContaining(["e0000001", "e0000003"]),
      );
      expect(report).toMatchObject({ differing: [], collisions: [], changed: 1 });
      for (const store of [stores.a, stores.b]) expect(await textOf(store)).not.toContain(canary);
      expect(viewOf(await bytesOf(stores.a, "s"))).toEqual(viewOf(await bytesOf(stores.b, "s")));
      expect(await syncSessions(stores.a, stores.b, apply)).toMatchObject({
        erased: [],
        differing: [],
        changed: 0,
      });
    },
  );

  test("of one entry is made again after another writer, and ends with any other failure", async () => {
    const { a, b } = await twoStores();
    await eraseEntries(a, "s", ["e0000002"], { reason });
    const failures = [
      new SessileError("STORAGE_FAILED", "full", { details: { operation: "x", path: "s", errno: "ENOSPC" } }),
      new SessileError("LOG_CHANGED", "changed", { details: { id: "s" } }),
    ];
    let erasures = 0;
    const open = b.backend.open.bind(b.backend);
    b.backend.open = async (...given) => {
      const log = await open(...given);
      const erase = log?.erase?.bind(log);
      if (log === undefined || erase === undefined) return log;
      return Object.assign(log, {
        erase: (...changes: Parameters<typeof erase>) => {
          const failure = failures[erasures++];
          return failure === undefined ? erase(...changes) : Promise.reject(failure);
        },
      });
    };
    await expect(syncSessions(a, b, apply)).rejects.toBe(failures[0]);
    expect(erasures).toBe(1);
    const report = await syncSessions(a, b, apply);
    expect(report).toMatchObject({ changed: 1, erased: [{ entryId: "e0000002" }], differing: [] });
    expect(erasures).toBe(3);
  });

  test("brings no edit, label or title back that the other store wrote before it knew", async () => {
    const { a, b, inB } = await twoStores();
    await inB.append([
      { type: "context_edit", targetId: "e0000001", replacement: { content: canary } },
      { type: "label", targetId: "e0000003", label: canary },
    ]);
    await inB.updateInfo({ title: `${canary} again` });
    await eraseEntries(a, "s", ["e0000001", "e0000003"], { reason });
    await syncSessions(a, b, apply);
    for (const store of [a, b]) {
      expect(await textOf(store)).not.toContain(canary);
      const session = parseSession(await bytesOf(store, "s"));
      expect(session.diagnostics).toEqual([]);
      expect(session.entries).toHaveLength(7);
    }
  });

  /** Two stores with a title and a share link that are made of the first message. */
  async function sharedStores(): Promise<{ a: SessionStore; b: SessionStore }> {
    const { a, b, inA } = await twoStores();
    const share = { url: "https://share.example/s" };
    await inA.append([{ type: "session_info", title: canary, share, id: "e0000009" }]);
    await syncSessions(a, b, apply);
    return { a, b };
  }

  const linesOf = async (store: SessionStore, id: string) =>
    (await textOf(store)).split("\n").filter((line) => line.includes(`"id":"${id}"`));

  test.each(["a", "b"] as const)("erases names alone if the first message went, from %s", async (where) => {
    const stores = await sharedStores();
    await eraseEntries(stores[where], "s", ["e0000001"], { reason });
    await syncSessions(stores.a, stores.b, apply);
    const info = await linesOf(stores.a, "e0000009");
    expect(info).toEqual([expect.stringMatching(/"share":\{"url".*"erased":/)]);
    expect(await linesOf(stores.b, "e0000009")).toEqual(info);
    for (const store of [stores.a, stores.b]) expect((await store.open("s")).info).toHaveProperty("share");
    expect(await syncSessions(stores.a, stores.b, apply)).toMatchObject({
      erased: [],
      differing: [],
      changed: 0,
    });
  });

  test.each(["a", "b"] as const)("erases all of an entry that %s erased as a whole", async (where) => {
    const stores = await sharedStores();
    const other = where === "a" ? stores.b : stores.a;
    await eraseEntries(other, "s", ["e0000001"], { reason });
    await eraseEntries(stores[where], "s", ["e0000001", "e0000009"], { reason: "all of it" });
    await syncSessions(stores.a, stores.b, apply);
    const info = await linesOf(stores.a, "e0000009");
    expect(info).toEqual([expect.not.stringContaining("share")]);
    expect(await linesOf(stores.b, "e0000009")).toEqual(info);
    expect(await syncSessions(stores.a, stores.b, apply)).toMatchObject({ erased: [], changed: 0 });
  });

  test("erases an entry that only says that it was erased", async () => {
    const [a, b] = [memoryStore(now), memoryStore(now)];
    const session = await a.create({ cwd: "/p", id: "s" });
    await session.append([{ type: "message", message: userMessage(canary), id: "e0000001" }]);
    await syncSessions(a, b, apply);
    const erased = { at: "2026-01-01T00:00:00.000Z", reason: "" };
    const line = JSON.parse((await linesOf(a, "e0000001"))[0] ?? "");
    const said = JSON.stringify({ ...line, erased });
    const [header] = (await textOf(a)).split("\n");
    const c = memoryStore(now);
    await put(c, "s", `${header}\n${said}\n`);
    await eraseEntries(b, "s", ["e0000001"], { reason });
    await syncSessions(c, b, apply);
    expect(await textOf(c)).not.toContain(canary);
  });

  test("leaves tombstones of two erasures as they are", async () => {
    const { a, b } = await twoStores();
    await eraseEntries(a, "s", ["e0000001"], { reason: "one" });
    await eraseEntries(b, "s", ["e0000001"], { reason: "other" });
    expect(await syncSessions(a, b, apply)).toMatchObject({ erased: [], differing: [], changed: 0 });
  });

  test.each(["first", "second"])(
    "writes nothing of it into the %s store if the other cannot erase",
    async (place) => {
      const { a, b } = await twoStores();
      await eraseEntries(a, "s", ["e0000001", "e0000003"], { reason });
      const { backend } = b;
      const open: typeof backend.open = async (id, options) => {
        const log = await backend.open(id, options);
        return log && (Object.assign(log, { erase: undefined }) as typeof log);
      };
      const other = sessionStore({ ...backend, open }, { now });
      await (await other.open("s", { mode: "write" })).appendMessage(userMessage("more"));
      const report =
        place === "first" ? await syncSessions(a, other, apply) : await syncSessions(other, a, apply);
      expect(report).toMatchObject({ erased: [], differing: [] });
      expect(await textOf(a)).toContain("more");
      expect(await textOf(a)).not.toContain(canary);
    },
  );

  test("a copy is refused, in either direction", async () => {
    const { a, b } = await twoStores();
    await eraseEntries(a, "s", ["e0000001"], { reason });
    for (const [from, to] of [
      [a, b],
      [b, a],
    ] as const) {
      const { skipped } = await copySessions(from, to);
      expect(skipped).toMatchObject([{ error: { code: "SESSION_EXISTS" } }]);
    }
    expect(await textOf(a)).not.toContain(`first ${canary}`);
  });
});

describe("a merge with tombstones", () => {
  test("has the tombstone, whatever copy and base have", async () => {
    const { a, b, inB } = await twoStores();
    const base = await bytesOf(b, "s");
    await inB.append([{ type: "context_edit", targetId: "e0000001", replacement: { content: canary } }]);
    const [kept] = await inB.append([{ type: "message", message: userMessage("written meanwhile") }]);
    await eraseEntries(a, "s", ["e0000001", "e0000003"], { reason });
    const copies = [await bytesOf(a, "s"), await bytesOf(b, "s")] as const;
    const merged = await mergeSessions(base, ...copies, apply);
    const text = Buffer.from(merged.bytes).toString();
    expect(text).not.toContain(canary);
    expect(parseSession(merged.bytes).entries).toContainEqual(kept);
    expect(merged.differing).toEqual([]);
    expect(parseSession(merged.bytes).diagnostics).toEqual([]);
    const [one, two] = copies;
    for (const other of [
      await mergeSessions(undefined, one, two, apply),
      await mergeSessions(base, two, one, apply),
      await mergeSessions(one, two, merged.bytes, apply),
    ]) {
      expect(Buffer.from(other.bytes).toString()).not.toContain(canary);
      expect(parseSession(other.bytes).entries).toContainEqual(kept);
    }
  });
});

describe("a tombstone that nobody confirmed", () => {
  /** A line of a store by another one with the same id, as another program may write it. */
  async function forge(store: SessionStore, id: string): Promise<void> {
    const lines = (await textOf(store)).split("\n").map((line) => {
      if (!line.includes(`"id":"${id}"`)) return line;
      const { crc: _crc, ...entry } = JSON.parse(line);
      const message = { role: "user", content: "[erased]", timestamp: entry.message.timestamp };
      const erased = { at: "2026-01-01T00:00:00.000Z", reason: "forged" };
      return JSON.stringify({ ...entry, message, erased });
    });
    await store.delete("s");
    await put(store, "s", lines.join("\n"));
  }

  test.each(["a", "b"] as const)(
    "in %s loses nothing, brings nothing back, and is reported",
    async (where) => {
      const stores = await twoStores();
      const { a, b } = stores;
      await forge(stores[where], "e0000001");
      const other = where === "a" ? b : a;
      const session = await other.open("s", { mode: "write" });
      await session.append([
        { type: "context_edit", id: "e0000007", targetId: "e0000001", replacement: { content: canary } },
      ]);
      await session.close();
      const before = [await textOf(a), await textOf(b)];
      for (const options of [undefined, { erasures: "report" }] as const) {
        const report = await syncSessions(a, b, options);
        expect(report).toMatchObject({ changed: 0, entries: 0, erased: [], differing: [] });
        expect(report.skipped).toMatchObject([{ id: "s", error: { code: "ERASURE_PENDING" } }]);
        const store = where === "a" ? "b" : "a";
        const found = report.pendingErasures.map(({ entryId }) => entryId);
        expect(found).toEqual(expect.arrayContaining(["e0000001", "e0000007"]));
        expect(report.pendingErasures).toContainEqual({
          ...{ partition: "", id: "s", entryId: "e0000001", store },
          erased: { at: "2026-01-01T00:00:00.000Z", reason: "forged" },
        });
        expect([await textOf(a), await textOf(b)]).toEqual(before);
      }
    },
  );

  test("holds back its session alone; what is reported is what an applied one erases", async () => {
    const { a, b } = await twoStores();
    const other = await a.create({ cwd: "/p", id: "other" });
    await other.appendMessage(userMessage("kept"));
    await other.close();
    await eraseEntries(a, "s", ["e0000001"], { reason });
    const reported = await syncSessions(a, b);
    expect(reported).toMatchObject({ changed: 1, skipped: [{ id: "s" }] });
    const old = parseSession(await bytesOf(b, "s")).entries;
    const applied = await syncSessions(a, b, { ids: ["s"], erasures: "apply" });
    expect(applied).toMatchObject({ changed: 1, skipped: [], pendingErasures: [] });
    const now = parseSession(await bytesOf(b, "s")).entries;
    const changed = old.filter(
      ({ id }, at) => JSON.stringify(now[at]) !== JSON.stringify(old[at]) && id !== "",
    );
    expect(reported.pendingErasures.map(({ entryId }) => entryId).sort()).toEqual(
      changed.map(({ id }) => id).sort(),
    );
    expect(await syncSessions(a, b)).toMatchObject({ changed: 0, skipped: [], pendingErasures: [] });
  });

  test("refuses a merge, and other words are refused", async () => {
    const { a, b } = await twoStores();
    await forge(a, "e0000003");
    const copies = [await bytesOf(a, "s"), await bytesOf(b, "s")] as const;
    await expect(mergeSessions(undefined, ...copies)).rejects.toMatchObject({
      code: "ERASURE_PENDING",
      details: { id: "s", entryIds: expect.arrayContaining(["e0000003"]) },
    });
    const { bytes } = await mergeSessions(undefined, ...copies, { erasures: "apply" });
    expect(parseSession(bytes).entries.find(({ id }) => id === "e0000003")).toHaveProperty("erased");
    await expect(syncSessions(a, b, { erasures: "none" as never })).rejects.toThrow(TypeError);
  });

  test("keeps what its entry knew of the log", async () => {
    const { inA, a } = await twoStores();
    await inA.branch("e0000001");
    const { id, prior } = await inA.appendMessage(userMessage("beside"));
    expect(prior).toEqual(expect.any(String));
    await eraseEntries(a, "s", [id], { reason });
    expect(parseSession(await bytesOf(a, "s")).entries.at(-1)).toMatchObject({
      id,
      prior,
      erased: { reason },
    });
  });

  test.each([
    ["without a text", { role: "user", content: "", timestamp: 1 }],
    ["with members of its own", { role: "user", content: "[erased]", timestamp: 1, note: "x" }],
  ])("is refused for a forged tombstone %s", async (_, message) => {
    const { a } = await twoStores();
    const base = await bytesOf(a, "s");
    const forged = Buffer.from(base)
      .toString()
      .split("\n")
      .map((line) => {
        if (!line.includes("e0000001") || !line.includes(`first ${canary}`)) return line;
        const { crc: _crc, ...entry } = JSON.parse(line);
        return JSON.stringify({ ...entry, message, erased: { at: "2026-01-01T00:00:00.000Z", reason } });
      })
      .join("\n");
    const copy = Buffer.from(forged);
    for (const [one, two] of [
      [base, copy],
      [copy, base],
    ] as const)
      await expect(mergeSessions(base, one, two)).rejects.toMatchObject({
        code: "ERASURE_PENDING",
        details: { entryIds: ["e0000001"] },
      });
    expect(await mergeSessions(base, base, copy, apply)).toMatchObject({ differing: ["e0000001"] });
  });
});
