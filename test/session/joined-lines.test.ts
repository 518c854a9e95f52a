import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  encodeEntry,
  eraseEntries,
  parseSession,
  type SessionEntry,
  sessionStore,
  userMessage,
} from "sessile";
import { fileSessionStore } from "sessile/node";
import { databaseDriver, sqliteSessionBackend } from "sessile/sqlite";
import { copySessions } from "sessile/sync";
import { afterAll, describe, expect, test } from "vitest";
import { emptyStore, startMs } from "../postgres/pglite.js";
import { memoryDatabase } from "../sqlite/databases.js";

/** Lines that a program without locks joined: each reader finds the whole ones. */

const directory = mkdtempSync(join(tmpdir(), "joined-"));
afterAll(() => rmSync(directory, { recursive: true }));

const header = JSON.stringify({
  type: "session",
  version: 3,
  id: "s",
  timestamp: "2026-01-01T00:00:00.000Z",
  cwd: "/work",
});
const entry = (id: string, parentId: string | null, text = `text of ${id}`): SessionEntry => ({
  type: "message",
  id,
  parentId,
  timestamp: "2026-01-01T00:00:00.000Z",
  message: { ...userMessage(text), timestamp: 1 },
});
const line = (id: string, parentId: string | null, text?: string) =>
  encodeEntry(entry(id, parentId, text), { checksum: false });
const codesOf = (text: string) => parseSession(text).diagnostics.map(({ code }) => code);
const pathOf = (text: string, id: string) =>
  parseSession(text)
    .tree.path(id)
    .map((node) => node.id);

describe("a whole line after half of one", () => {
  // @covers R94
  test("is read wherever the other was torn, and the history before it stays", () => {
    const torn = line("b", "a", 'a "quoted" é, [list], {object: 1}');
    for (let cut = 0; cut <= torn.length; cut++) {
      const text = [header, line("a", null), torn.slice(0, cut) + line("c", "b"), line("d", "c"), ""].join(
        "\n",
      );
      const parsed = parseSession(text);
      expect(parsed.entry("c"), `torn after ${cut} characters`).toEqual(entry("c", "b"));
      expect(pathOf(text, "d").filter((id) => id !== "b")).toEqual(["a", "c", "d"]);
      expect(parsed.leafId).toBe("d");
      expect(parsed.diagnostics.length, `torn after ${cut} characters`).toBeGreaterThan(0);
    }
  });

  test("is not looked for in a line that is JSON, nor in one that this library ended", () => {
    const nested = JSON.parse(line("inner", "a"));
    const whole = JSON.stringify({ ...JSON.parse(line("b", "a")), nested: [nested, nested] });
    expect(codesOf([header, line("a", null), whole, ""].join("\n"))).toEqual([]);
    const cut = whole.slice(0, whole.lastIndexOf("}]") + 1);
    const text = [header, line("a", null), `${cut}\t`, ""].join("\n");
    expect(parseSession(text).entries.map(({ id }) => id)).toEqual(["a"]);
    expect(codesOf(text)).toEqual(["TORN_LINE"]);
  });

  test("that has the same id counts in its place", () => {
    const text = [header, line("a", null), line("b", "a").slice(0, -9) + line("b", "a"), line("c", "b"), ""];
    const parsed = parseSession(text.join("\n"));
    expect(parsed.entry("b")).toEqual(entry("b", "a"));
    expect(parsed.tree.path("c").map(({ id }) => id)).toEqual(["a", "b", "c"]);
    expect(parsed.leafId).toBe("c");
  });
});

test("objects that are too short to be lines are one part of a damaged line, however many there are", () => {
  const text = [header, line("a", null) + "{}".repeat(10_000) + line("b", "a"), line("c", "b"), ""].join(
    "\n",
  );
  expect(pathOf(text, "c")).toEqual(["a", "b", "c"]);
  expect(codesOf(text)).toEqual(["JOINED_LINE", "INVALID_JSON"]);
});

test("an entry whose parent is missing follows the entry before it, and its siblings do too", () => {
  const lines = [
    header,
    line("a", null),
    line("b", "a"),
    line("d", "gone"),
    line("e", "d"),
    line("f", "gone"),
  ];
  const text = `${lines.join("\n")}\n`;
  expect(pathOf(text, "e")).toEqual(["a", "b", "d", "e"]);
  expect(pathOf(text, "f")).toEqual(["a", "b", "f"]);
  expect(codesOf(text)).toEqual(["ORPHAN", "ORPHAN"]);
  expect(pathOf([header, line("a", "gone"), line("b", "a"), ""].join("\n"), "b")).toEqual(["a", "b"]);
  // No parent of these is an id that they could have in common.
  expect(pathOf([header, line("a", ""), line("b", ""), line("c", ""), ""].join("\n"), "c")).toEqual([
    "a",
    "b",
    "c",
  ]);
});

describe("in a store of files", () => {
  const store = fileSessionStore({ dir: directory, durability: "os" });

  async function written(...lines: readonly string[]) {
    const session = await store.create({ cwd: "/work" });
    await session.appendMessage(userMessage("first"));
    await session.close();
    const { id } = session;
    const path = session.location as string;
    const own = readFileSync(path, "utf8").split("\n")[0] as string;
    writeFileSync(path, lines.map((text) => text.replace(header, own.trimEnd())).join("\n"));
    return { id, path };
  }

  test("a fork of a file with a damaged line before its header loses no entry", async () => {
    const damaged = line("a", null).replace('"text"', '"te\u0001xt"');
    const { id } = await written(damaged, header, line("a", null), line("b", "a"), "");
    const source = await store.open(id, { mode: "read" });
    expect((await source.entry("a"))?.type).toBe("message");
    for (const isRewritten of [false, true]) {
      const fork = await store.fork(id, isRewritten ? { rewrite: (each) => ({ ...each }) } : {});
      for (const each of ["a", "b"]) expect(await fork.entry(each)).toEqual(await source.entry(each));
      await fork.close();
    }
    await source.close();
  });

  test("a fork up to the first of two joined entries has no more than that", async () => {
    const { id } = await written(header, line("a", null) + line("b", "a"), line("c", "b"), "");
    const fork = await store.fork(id, { upTo: "a" });
    expect((await fork.path()).map((each) => each.id)).toContain("a");
    expect(await fork.entry("b")).toBeUndefined();
    await fork.close();
  });

  test("a reader that follows sees them, and a write after them stays on its own line", async () => {
    const { id, path } = await written(header, line("a", null), "");
    const reader = await store.open(id, { mode: "read" });
    appendFileSync(path, line("b", "a").slice(0, 50) + line("c", "a"));
    const before = readFileSync(path, "utf8");
    const writer = await store.open(id, { mode: "write" });
    expect(writer.leafId).toBe("c");
    const next = await writer.appendMessage(userMessage("next"));
    await writer.close();
    const after = readFileSync(path, "utf8");
    // The last line is whole: it gets a line feed and no tab.
    expect(after.startsWith(`${before}\n{`)).toBe(true);
    await reader.refresh();
    expect((await reader.tree()).path(next.id).map((node) => node.id)).toEqual(["a", "c", next.id]);
    expect(await reader.entry("c")).toEqual(entry("c", "a"));
    await reader.close();
  });

  test("an erased entry leaves the others of its line as they are", async () => {
    const { id, path } = await written(header, line("a", null), line("b", "a") + line("c", "b"), "");
    const session = await store.open(id, { mode: "write" });
    await session.close();
    await eraseEntries(store, id, ["b"], { reason: "asked for" });
    const text = readFileSync(path, "utf8");
    expect(text).not.toContain("text of b");
    const parsed = parseSession(text);
    expect(parsed.entry("c")).toEqual(entry("c", "b"));
    expect(parsed.tree.path("c").map((node) => node.id)).toEqual(["a", "b", "c"]);
  });

  const sqlite = async () => {
    const backend = sqliteSessionBackend({ driver: databaseDriver(memoryDatabase()), search: true });
    await backend.migrate();
    return sessionStore(backend);
  };
  test.each([
    ["SQLite", sqlite],
    ["PostgreSQL", () => emptyStore("joined", { search: true })],
  ] as const)("%s has the entries of a copied file", { timeout: startMs }, async (_, opened) => {
    const { id } = await written(
      header,
      line("a", null) + line("b", "a"),
      line("x", "b").slice(0, 80) + line("c", "b"),
      "",
    );
    const database = await opened();
    await copySessions(store, database, { ids: [id] });
    const copy = await database.open(id, { mode: "write" });
    expect((await copy.tree()).path("c").map((node) => node.id)).toEqual(["a", "b", "c"]);
    for (const each of ["a", "b", "c"]) expect((await copy.entry(each))?.id).toBe(each);
    expect((await copy.recent()).entries.map((each) => each.id)).toEqual(["a", "b", "c"]);
    await copy.close();
    const hits: string[] = [];
    for await (const { entryId } of database.search({ text: '"text of b"' })) hits.push(entryId);
    expect(hits).toEqual(["b"]);
  });
});
