import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type BlobStore,
  memoryBlobStore,
  type Session,
  type SessionStore,
  sessionStore,
  userMessage,
} from "sessile";
import { ingest } from "sessile/attachments";
import { fileSessionStore } from "sessile/node";
import { syncSessions } from "sessile/sync";
import { describe, expect, test } from "vitest";
import { hookedBackend, hookedMemory } from "../session/hooked-backend.js";
import { bytesOf, memoryStore, put, textOf, viewOf } from "./stores.js";

/** The line of a message. */
const lineOf = (id: string, parentId: string | null, timestamp = "2026-01-01T00:00:00.000Z") =>
  JSON.stringify({
    type: "message",
    id,
    parentId,
    timestamp,
    message: { role: "user", content: id, timestamp: 1 },
  });

let clock = Date.UTC(2026, 0, 1);
const now = () => clock++;

/** Two stores with copies of one session, and a handle on each. */
async function twoCopies(): Promise<{ a: SessionStore; b: SessionStore; inA: Session; inB: Session }> {
  const [a, b] = [memoryStore(now), memoryStore(now)];
  const inA = await a.create({ cwd: "/p", id: "s" });
  await inA.appendMessage(userMessage("one"));
  await inA.appendMessage(userMessage("two"));
  await syncSessions(a, b);
  return { a, b, inA, inB: await b.open("s", { mode: "write" }) };
}

const texts = async (session: Session) =>
  (await session.context()).items.map(({ message }) => "content" in message && message.content);

/** Both logs after a sync, which must show the same, and a second sync that writes nothing. */
async function expectSame(a: SessionStore, b: SessionStore): Promise<void> {
  expect(viewOf(await bytesOf(a, "s"))).toEqual(viewOf(await bytesOf(b, "s")));
  const before = [await textOf(a, "s"), await textOf(b, "s")];
  for (const [one, other] of [
    [a, b],
    [b, a],
  ] as const)
    expect(await syncSessions(one, other)).toMatchObject({ entries: 0, changed: 0 });
  expect([await textOf(a, "s"), await textOf(b, "s")]).toEqual(before);
}

describe("syncSessions", () => {
  test("copies a session that one store lacks, byte for byte", async () => {
    const { a, b } = await twoCopies();
    expect(await textOf(b, "s")).toBe(await textOf(a, "s"));
    await expectSame(a, b);
  });

  test("fast-forwards the copy that is behind: both logs are then the same bytes", async () => {
    const { a, b, inB } = await twoCopies();
    await inB.appendMessage(userMessage("three"));
    expect(await syncSessions(a, b)).toMatchObject({ sessions: 1, changed: 1, entries: 1, skipped: [] });
    expect(await textOf(a, "s")).toBe(await textOf(b, "s"));
    await expectSame(a, b);
  });

  test("leaves branches where both went on, with the leaf of the newest", async () => {
    const { a, b, inA, inB } = await twoCopies();
    const fork = inA.leafId as string;
    await inB.appendMessage(userMessage("from b"));
    await inA.appendMessage(userMessage("from a"));
    await syncSessions(a, b);
    await expectSame(a, b);
    for (const store of [a, b]) {
      const session = await store.open("s");
      expect(session.diagnostics).toEqual([]);
      expect((await session.tree()).children(fork).filter(({ role }) => role === "user")).toHaveLength(2);
      expect(await texts(session)).toEqual(["one", "two", "from a"]);
    }
  });

  test("a name, a title and a label are those of the latest change on either side", async () => {
    const { a, b, inA, inB } = await twoCopies();
    const first = (await inA.tree()).path(inA.leafId)[0]?.id as string;
    await inB.updateInfo({ title: "older" });
    await inA.append([{ type: "label", targetId: first, label: "old" }]);
    await inA.updateInfo({ title: "newer" });
    await inB.append([{ type: "label", targetId: first, label: "new" }]);
    await inB.appendMessage(userMessage("last"));
    await syncSessions(a, b);
    await expectSame(a, b);
    for (const store of [a, b]) {
      const session = await store.open("s");
      expect(session.info.title).toBe("newer");
      expect((await session.tree()).label(first)).toBe("new");
      expect(await texts(session)).toEqual(["one", "two", "last"]);
    }
  });

  test("a leaf that was moved back stays moved back", async () => {
    const { a, b, inA, inB } = await twoCopies();
    await inB.appendMessage(userMessage("side"));
    await inA.branch((await inA.tree()).path(inA.leafId)[0]?.id as string);
    await inA.append([{ type: "leaf", targetId: inA.leafId }]);
    await syncSessions(a, b);
    await expectSame(a, b);
    expect(await texts(await b.open("s"))).toEqual(["one"]);
  });

  test("a deleted session comes back", async () => {
    const { a, b } = await twoCopies();
    await a.delete("s");
    await syncSessions(a, b);
    await expectSame(a, b);
  });

  test("two entries with one id stay where they are, with all below them, and are reported", async () => {
    const { a, b, inA, inB } = await twoCopies();
    await inA.append([{ type: "message", id: "00000001", message: userMessage("a's") }]);
    await inA.appendMessage(userMessage("below a's"));
    await inB.append([{ type: "message", id: "00000001", message: userMessage("b's") }]);
    const below = await inB.appendMessage(userMessage("below b's"));
    await inB.branch((await inB.tree()).path(inB.leafId)[1]?.id as string);
    const beside = await inB.appendMessage(userMessage("beside"));
    const report = await syncSessions(a, b);
    expect(report.collisions).toEqual([{ partition: "", id: "s", entryId: "00000001" }]);
    const [treeA, treeB] = [await (await a.open("s")).tree(), await (await b.open("s")).tree()];
    expect([treeA.has(below.id), treeA.has(beside.id), treeB.has(below.id)]).toEqual([false, true, true]);
    expect(await syncSessions(a, b)).toMatchObject({ entries: 0, collisions: report.collisions });
  });

  test("an edited line stays edited where it is, is reported, and does not stop the entries below it", async () => {
    const { a, b, inB } = await twoCopies();
    const edited = (await textOf(a, "s")).replace('"two"', '"[redacted]"');
    await a.delete("s");
    await put(a, "s", edited);
    const entryId = inB.leafId as string;
    await inB.appendMessage(userMessage("three"));
    expect(await syncSessions(a, b)).toMatchObject({
      entries: 1,
      differing: [{ id: "s", entryId }],
      collisions: [],
    });
    expect(await texts(await a.open("s"))).toEqual(["one", "[redacted]", "three"]);
    expect(await texts(await b.open("s"))).toEqual(["one", "two", "three"]);
  });

  test("a sync that dies in the middle leaves whole trees, and the next one has the leaf of the newest", async () => {
    const entries = Array.from({ length: 7 }, (_, at) => ({
      type: "custom" as const,
      id: `b${at}`,
      customType: "x",
      data: "long ".repeat(80_000),
    }));
    let clock = Date.UTC(2026, 0, 1);
    let appends = 0;
    const hooked = hookedMemory(
      {
        append(_lines, _expected, append) {
          if (++appends === 3) throw new Error("killed");
          return append();
        },
      },
      now,
    );
    const [a, b] = [sessionStore(hooked, { now: () => clock++ }), memoryStore(() => clock++)];
    const inB = await b.create({ cwd: "/p", id: "s" });
    await inB.appendMessage(userMessage("one"));
    await syncSessions(a, b);
    await inB.append(entries);
    const inA = await a.open("s", { mode: "write" });
    appends = -10;
    const newest = await inA.appendMessage(userMessage("newest"));
    appends = 1;
    await expect(syncSessions(b, a)).rejects.toThrow("killed");
    expect((await (await a.open("s")).tree()).size).toBe(5);
    expect((await a.open("s")).diagnostics).toEqual([]);
    expect((await a.open("s")).leafId).not.toBe(newest.id);
    await syncSessions(a, b);
    await expectSame(a, b);
    expect([(await a.open("s")).leafId, (await b.open("s")).leafId]).toEqual([newest.id, newest.id]);
  });

  test("migrates an older version first, and skips a newer one and another session of that id", async () => {
    const header = (version: number, timestamp = "2026-01-01T00:00:00.000Z") =>
      `${JSON.stringify({ type: "session", version, id: "s", timestamp, cwd: "/p" })}\n`;
    const line =
      '{"type":"message","id":"00000001","parentId":null,"timestamp":"","message":{"role":"user","content":"x"}}\n';
    const lines = async (...texts: string[]) => {
      const stores = [memoryStore(), memoryStore()] as const;
      for (const [at, text] of texts.entries()) await put(stores[at as 0 | 1], "s", text);
      return stores;
    };
    const [old, current] = await lines(
      header(2) + line,
      header(3) + line + line.replace('"00000001"', '"00000002"'),
    );
    expect(await syncSessions(old, current)).toMatchObject({ entries: 1, skipped: [] });
    expect(viewOf(await bytesOf(old, "s"))).toEqual(viewOf(await bytesOf(current, "s")));
    const extended = header(3).replace("}", ',"sessile":99}');
    for (const [known, unknown] of [
      [header(3), header(4)],
      [extended, extended],
    ] as const) {
      const [one, newer] = await lines(
        known + line,
        unknown + line + line.replace('"00000001"', '"00000002"'),
      );
      expect((await syncSessions(one, newer)).skipped).toMatchObject([
        { error: { code: "SESSION_READ_ONLY" } },
      ]);
      expect(await textOf(one, "s")).toBe(known + line);
    }
    const [first, second] = await lines(header(3) + line, header(3, "2020-01-01T00:00:00.000Z") + line);
    expect((await syncSessions(first, second)).skipped).toMatchObject([
      { error: { code: "SESSION_MISMATCH" } },
    ]);
  });

  test("an entry with a time in the future is not the leaf once another one stands below it", async () => {
    const { a, b, inA, inB } = await twoCopies();
    const second = inA.leafId as string;
    const future = `${lineOf("f0000000", second, "2099-01-01T00:00:00.000Z")}\n`;
    for (const store of [a, b]) {
      const text = await textOf(store, "s");
      await store.delete("s");
      await put(store, "s", text + future);
    }
    await inA.close();
    await inB.close();
    const [one, other] = [await a.open("s", { mode: "write" }), await b.open("s", { mode: "write" })];
    await one.appendMessage(userMessage("below it"));
    await other.branch(second);
    const { id } = await other.appendMessage(userMessage("beside it"));
    await syncSessions(a, b);
    await expectSame(a, b);
    expect((await a.open("s")).leafId).toBe(id);
  });

  test("a last line that is damaged is not the leaf, and an added CR is no difference", async () => {
    const { a, b, inA } = await twoCopies();
    const text = await textOf(b, "s");
    const damaged = `${lineOf("dddddddd", inA.leafId).slice(0, -3)}}\n`;
    await b.delete("s");
    await put(b, "s", `${text.replaceAll("\n", "\r\n")}${damaged}`);
    expect(await syncSessions(a, b)).toMatchObject({ entries: 0, changed: 0, damaged: 1 });
    const { id } = await inA.appendMessage(userMessage("three"));
    expect(await syncSessions(a, b)).toMatchObject({ entries: 1, damaged: 1, differing: [] });
    expect([(await a.open("s")).leafId, (await b.open("s")).leafId]).toEqual([id, id]);
    expect(await textOf(b, "s")).not.toContain('"leaf"');
  });

  test("a log that is replaced while it is read is planned again", async () => {
    const backend = hookedMemory({}, now);
    let replace: (() => Promise<void>) | undefined;
    const hooked = hookedBackend(backend, {});
    const b = sessionStore(
      {
        ...hooked,
        async open(id, options) {
          const log = await hooked.open(id, options);
          return (
            log &&
            new Proxy(log, {
              get(target, name) {
                const value: unknown = Reflect.get(target, name, target);
                if (name !== "readAt") return typeof value === "function" ? value.bind(target) : value;
                return async (places: Parameters<typeof target.readAt>[0]) => {
                  await replace?.();
                  return target.readAt(places);
                };
              },
            })
          );
        },
      },
      { now },
    );
    const a = memoryStore(now);
    const header =
      '{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}';
    const lines = [header, lineOf("aaaaaaaa", null), lineOf("bbbbbbbb", "aaaaaaaa")];
    await put(a, "s", `${header}\n`);
    await put(b, "s", `${lines.join("\n")}\n`);
    replace = async () => {
      replace = undefined;
      const log = await backend.open("s", { partition: "", mode: "write" });
      const [, ...others] = [
        header,
        lineOf("cccccccc", null),
        lineOf("aaaaaaaa", "cccccccc"),
        lineOf("bbbbbbbb", null),
      ];
      let position: Parameters<NonNullable<typeof log>["append"]>[1] | undefined;
      for await (const { next } of log?.read(undefined) ?? []) position = next;
      const bytes = [header, ...others].map((each) => Buffer.from(`${each}\n`));
      await log?.replace?.(bytes, position as NonNullable<typeof position>);
    };
    expect(await syncSessions(a, b)).toMatchObject({ skipped: [] });
    await expectSame(a, b);
    expect((await (await a.open("s")).tree()).size).toBe(3);
  });

  test("an entry that stands before its parent goes behind it", async () => {
    const { a, b } = await twoCopies();
    const text = await textOf(b, "s");
    const [first, second] = [lineOf("aaaaaaaa", null), lineOf("bbbbbbbb", "aaaaaaaa")];
    await b.delete("s");
    await put(b, "s", `${text}${second}\n${first}\n`);
    await syncSessions(a, b);
    const ids = (await textOf(a, "s")).match(/"id":"(aaaaaaaa|bbbbbbbb)"/g);
    expect(ids).toEqual(['"id":"aaaaaaaa"', '"id":"bbbbbbbb"']);
    await expectSame(a, b);
  });

  test("an end without a line feed is an entry, and gets one before the first append", async () => {
    const dir = mkdtempSync(join(tmpdir(), "sessile-sync-"));
    try {
      const [a, b] = [memoryStore(now), fileSessionStore({ dir, durability: "os" })];
      const header =
        '{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}';
      const lines = [header, lineOf("aaaaaaaa", null)].join("\n");
      await put(a, "s", `${lines}\n${lineOf("bbbbbbbb", "aaaaaaaa")}\n`);
      await put(b, "s", `${lines}\n`);
      const path = (await b.open("s")).location as string;
      writeFileSync(path, `${lines}\n${lineOf("cccccccc", "aaaaaaaa")}`);
      expect(await syncSessions(a, b)).toMatchObject({ skipped: [], damaged: 0 });
      await expectSame(a, b);
      expect((await (await b.open("s")).tree()).size).toBe(4);
      // With nothing to add, nothing is written.
      const whole = readFileSync(path, "utf8").trimEnd();
      writeFileSync(path, whole);
      expect(await syncSessions(a, b)).toMatchObject({ changed: 0, skipped: [] });
      expect(readFileSync(path, "utf8")).toBe(whole);
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });

  test("blobs are in the other store before the entries that name them, in both directions", async () => {
    const copies = await twoCopies();
    const { inA, inB } = copies;
    const [from, to] = [memoryBlobStore(), memoryBlobStore()];
    const attach = (store: BlobStore, text: string) =>
      ingest({ bytes: new TextEncoder().encode(text), name: "notes.txt" }, { blobs: store });
    const [one, two] = [await attach(from, "in a"), await attach(to, "in b")];
    await inA.appendMessage(userMessage("see", one));
    await inB.appendMessage(userMessage("see", two));
    let checked = 0;
    const [a, b] = (
      [
        [copies.a, from],
        [copies.b, to],
      ] as const
    ).map(([{ backend }, blobs]) => {
      const bound = {
        create: backend.create.bind(backend),
        open: backend.open.bind(backend),
        list: backend.list.bind(backend),
        delete: backend.delete.bind(backend),
      };
      return sessionStore(
        hookedBackend(bound, {
          async append(lines, _expected, append) {
            const text = Buffer.concat(lines.map((line) => Buffer.from(line))).toString();
            for (const [ref] of text.matchAll(/"sha256:[0-9a-f]{64}"/g)) {
              expect(await blobs.stat(JSON.parse(ref))).toBeDefined();
              checked++;
            }
            return append();
          },
        }),
      );
    }) as [SessionStore, SessionStore];
    const report = await syncSessions(a, b, { blobs: () => ({ from, to }) });
    expect(checked).toBeGreaterThan(1);
    expect(report.blobs).toMatchObject({ count: 2, lost: [] });
    expect(await to.stat(one.blob)).toBeDefined();
    expect(await from.stat(two.blob)).toBeDefined();
    await expectSame(a, b);
  });

  test("a damaged line is not moved, and is reported; the entries below it are", async () => {
    const { a, b, inB } = await twoCopies();
    await inB.appendMessage(userMessage("broken"));
    await inB.appendMessage(userMessage("below"));
    const damaged = (await textOf(b, "s")).replace('"broken"', '"broken');
    await b.delete("s");
    await put(b, "s", `${damaged}no entry at all\n`);
    expect(await syncSessions(a, b)).toMatchObject({ entries: 1, damaged: 2 });
    const session = await a.open("s");
    expect((await session.tree()).size).toBe(3);
    expect(await textOf(a, "s")).not.toContain("broken");
    expect(await textOf(b, "s")).toBe(`${damaged}no entry at all\n`);
  });
});
