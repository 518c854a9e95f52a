import fs, { copyFileSync, existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deletePartition, eraseEntries, sessionStore, userMessage } from "sessile";
import { databaseDriver, sqliteSessionBackend } from "sessile/sqlite";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { closeDatabases, fileDatabase } from "../sqlite/databases.js";
import { canary, filesWithCanary } from "../support/canary.js";
import { rounds } from "../support/rounds.js";
import { startProcess, useProgram } from "./start-child.js";

const program = useProgram(new URL("./erasing.ts", import.meta.url));
afterEach(closeDatabases);

function temporaryFile(): { readonly dir: string; readonly path: string } {
  const dir = mkdtempSync(join(tmpdir(), "sessile-sqlite-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return { dir, path: join(dir, "some.db") };
}

function storeAt(path: string) {
  const database = fileDatabase(path);
  const backend = sqliteSessionBackend({ driver: databaseDriver(database), search: true });
  return { database, backend, store: sessionStore(backend) };
}

/**
 * Opens a database whose process was killed. This build locks by a directory, which a killed process leaves;
 * SQLite rolls a journal back if nobody else has a lock, and the build takes its own lock for another's.
 */
function recover(path: string): void {
  rmSync(`${path}.lock`, { recursive: true, force: true });
  const { accessSync } = fs;
  fs.accessSync = (file) => {
    if (file === `${path}.lock`) throw new Error("no lock of another");
    accessSync(file);
  };
  try {
    const database = fileDatabase(path);
    database.prepare("select count(*) from sqlite_master").all();
    database.close();
  } finally {
    fs.accessSync = accessSync;
  }
  expect(existsSync(`${path}-journal`)).toBe(false);
}

const texts = Array.from({ length: 6 }, (_, at) => (at % 2 === 0 ? `kept ${at}` : `secret ${at} ${canary}`));

async function fill(path: string): Promise<void> {
  const { database, backend, store } = storeAt(path);
  await backend.migrate();
  const session = await store.create({ cwd: "/work", id: "s" });
  for (const [at, text] of texts.entries())
    await session.append([
      { type: "message", id: `e000000${at + 1}`, message: userMessage(text.padEnd(20_000, ` ${at}`)) },
    ]);
  database.close();
}

async function stateOf(path: string) {
  const { database, store } = storeAt(path);
  const session = await store.open("s", { mode: "write" });
  const { items } = await session.context();
  const found: string[] = [];
  for await (const { entryId } of store.search({ text: "secret" })) found.push(entryId);
  const check = database.prepare("pragma integrity_check").all() as readonly Record<string, unknown>[];
  await session.appendMessage(userMessage("after"));
  const state = {
    erased: items.map(({ message }) => "content" in message && message.content === "[erased]"),
    found: found.sort(),
    check: check[0]?.integrity_check,
    diagnostics: session.diagnostics.length,
  };
  database.close();
  return state;
}

const whole = { check: "ok", diagnostics: 0 };
const before = { ...whole, erased: texts.map(() => false), found: ["e0000002", "e0000004", "e0000006"] };
const after = { ...whole, erased: texts.map((_, at) => at === 1 || at === 3), found: ["e0000006"] };

describe("SQLite in a file", () => {
  // @covers durability:database-erasure
  test("kill -9 at each statement of an erasure: it is there whole, or not at all", async () => {
    let count = 1;
    let rolledBack = 0;
    const all = rounds(4, 100);
    const filled = temporaryFile().path;
    await fill(filled);
    /** The statements that a kill follows; behind the last one is the commit. */
    const places = [0];
    for (const at of places) {
      const { path } = temporaryFile();
      copyFileSync(filled, path);
      const size = statSync(path).size;
      const child = startProcess(process.execPath, [program(), "sqlite", path, `${at}`]);
      await child.saying("stopped");
      count = Number(child.said.find((line) => line.startsWith("statements "))?.split(" ")[1]);
      if (at === 0) {
        const others =
          all > count
            ? Array.from({ length: count }, (_, index) => index + 1)
            : [count >> 1, count - 1, count];
        places.push(...others);
      }
      child.kill("SIGKILL");
      expect(await child.ended).toBe("SIGKILL");
      if (existsSync(`${path}-journal`) && statSync(path).size > size) rolledBack++;
      recover(path);
      expect([at, await stateOf(path)]).toEqual([at, at === count ? after : before]);
    }
    expect(count).toBeGreaterThan(5);
    expect(rolledBack).toBeGreaterThan(0);
  });

  // @covers durability:erased-bytes
  test("after an erasure, a deletion of a tenant and a vacuum no byte of them is in the directory", async () => {
    const { dir, path } = temporaryFile();
    await fill(path);
    const { database, store } = storeAt(path);
    const other = await store.create({ cwd: "/work", id: "t", partition: "acme" });
    await other.appendMessage(userMessage(`their ${canary}`));
    expect(filesWithCanary(dir)).toEqual([path]);
    const report = await eraseEntries(store, "s", ["e0000002", "e0000004", "e0000006"], {
      reason: "a request",
    });
    const deletion = await deletePartition(store, "acme");
    for (const { remaining } of [report, deletion])
      expect(remaining.join("\n")).toMatch(/free pages .* `vacuum`[\s\S]*write-ahead log/);
    // As the report says.
    expect(filesWithCanary(dir)).toEqual([path]);
    database.exec("vacuum");
    expect(filesWithCanary(dir)).toEqual([]);
    // The words of the canary, which an index has one by one.
    for (const word of canary.split("-")) expect(filesWithCanary(dir, word)).toEqual([]);
  });

  test("two handles on one file: each finds what the other appends, and nothing that it erased", async () => {
    const { path } = temporaryFile();
    await fill(path);
    const [one, two] = [storeAt(path).store, storeAt(path).store];
    const found = async (store: typeof one, text: string) => {
      const ids: string[] = [];
      for await (const { entryId } of store.search({ text })) ids.push(entryId);
      return ids.sort();
    };
    const session = await one.open("s", { mode: "write" });
    for (let at = 0; at < 5; at++) {
      const { id } = await session.appendMessage(userMessage(`harbour ${at}`));
      expect(await found(two, `harbour ${at}`)).toEqual([id]);
      await eraseEntries(two, "s", [id], { reason: "a request" });
      expect(await found(one, "harbour")).toEqual([]);
      await expect(session.appendMessage(userMessage("late"))).rejects.toMatchObject({
        code: "CONCURRENT_WRITER",
      });
    }
    expect(await found(one, "secret")).toEqual(before.found);
  });
});
