// The conformance suites and a small program, in whatever runtime this is: suites.mjs BUILT-PACKAGE
import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { indexCases } from "./sqlite-index.mjs";

const [built = ""] = process.argv.slice(2);
/** @param {string} name */
const load = (name) => import(pathToFileURL(join(built, name)).href);

/** @type {typeof import("sessile")} */
const { blobStore, memoryBlobStore, project, userMessage } = await load("index.js");
/** @type {typeof import("sessile/conformance")} */
const { blobStoreConformance } = await load("conformance.js");
/** @type {typeof import("sessile/node")} */
const { fileBlobStore } = await load("node.js");
/** @type {typeof import("sessile/conformance")} */
const { sessionStoreConformance } = await load("conformance.js");
/** @type {typeof import("sessile/node")} */
const { fileSessionStore } = await load("node.js");
/** @type {typeof import("sessile")} */
const { sessionStore } = await load("index.js");
/** @type {typeof import("sessile/sqlite")} */
const { databaseDriver, libsqlDriver, sqliteSessionBackend } = await load("sqlite.js");
/** @type {typeof import("sessile/attachments")} */
const { ingest } = await load("attachments.js");
/** @type {typeof import("sessile/node")} */
const { readLocalFile } = await load("node.js");
/** @type {typeof import("sessile/anthropic")} */
const { anthropicMessages } = await load("anthropic.js");

const base = mkdtempSync(join(tmpdir(), "sessile-runtime-"));
const newDirectory = () => mkdtempSync(join(base, "store-"));

/** @param {{ layout?: "flat", durability: "disk" | "os" }} how */
function blobsInFiles(how) {
  const dir = newDirectory();
  return {
    /** @param {import("sessile").BlobStoreOptions} [options] */
    open: (options = {}) => fileBlobStore({ ...how, ...options, dir }),
    ...(how.layout === "flat" ? { digests: /** @type {const} */ (["sha256"]) } : {}),
    /** @param {string} ref @param {Uint8Array} bytes */
    damage(ref, bytes) {
      const paths = readdirSync(join(dir, "blobs"), { recursive: true, encoding: "utf8" });
      const path = join(dir, "blobs", paths.find((name) => name.includes(ref.slice(7))) ?? "");
      chmodSync(path, 0o600);
      writeFileSync(path, bytes);
    },
  };
}

const maxLineBytes = 2 * 1024 * 1024;

/** @param {"disk" | "os"} durability */
function sessionsInFiles(durability) {
  const dir = newDirectory();
  const open = () => fileSessionStore({ dir, durability, maxLineBytes });
  return {
    open,
    maxLineBytes,
    /** @param {string} id */
    async tear(id) {
      const session = await open().open(id);
      appendFileSync(session.location ?? "", '{"type":"message","id":"torn0001","parentId":"e00');
      await session.close();
    },
    /** @param {string} id @param {readonly string[]} lines */
    async put(id, lines) {
      const project = join(dir, "--work--");
      mkdirSync(project, { recursive: true });
      const path = join(project, `2026-01-01T00-00-00-000Z_${id}.jsonl`);
      writeFileSync(path, lines.map((line) => `${line}\n`).join(""));
    },
  };
}

/**
 * The SQLite of this runtime: a function that opens a file, each time through another connection. Node 20 has
 * none of its own.
 *
 * @type {() => Promise<(file: string) => import("sessile/sqlite").SqliteDriver>}
 */
async function sqliteOfRuntime() {
  const pragmas = "pragma journal_mode = wal; pragma synchronous = normal";
  if ("Bun" in globalThis) {
    const { Database } = await import("bun:sqlite");
    return (file) => {
      const database = new Database(file);
      database.run(pragmas);
      return databaseDriver(database);
    };
  }
  if (process.getBuiltinModule?.("node:sqlite") !== undefined) {
    const { DatabaseSync } = await import("node:sqlite");
    return (file) => {
      const database = new DatabaseSync(file);
      database.exec(pragmas);
      return databaseDriver(database);
    };
  }
  const { createClient } = await import("@libsql/client");
  return (file) => libsqlDriver(createClient({ url: `file:${file}` }));
}

const openSqlite = await sqliteOfRuntime();

async function sessionsInSqlite() {
  const file = join(newDirectory(), "sessions.db");
  const backend = () => sqliteSessionBackend({ driver: openSqlite(file), search: true });
  await backend().migrate();
  return {
    open: () => sessionStore(backend(), { maxLineBytes }),
    maxLineBytes,
    /** @param {string} id @param {readonly string[]} lines */
    async put(id, lines) {
      const session = { id, partition: "", cwd: "/work", timestamp: "2026-01-01T00:00:00.000Z" };
      const { log, position } = await backend().create(session);
      const bytes = lines.map((line) => new TextEncoder().encode(`${line}\n`));
      await log.append(bytes, position);
      await log.close();
    },
    async *contents() {
      const driver = openSqlite(file);
      await driver.all("vacuum", []);
      await driver.all("pragma wal_checkpoint(truncate)", []);
      for (const path of [file, `${file}-wal`]) if (existsSync(path)) yield readFileSync(path);
    },
  };
}

/** A message with an image, stored, opened again, forked and projected. */
async function smoke() {
  const dir = newDirectory();
  const png = Uint8Array.from(
    atob("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="),
    (letter) => letter.charCodeAt(0),
  );
  writeFileSync(join(dir, "a.png"), png);
  const blobs = fileBlobStore({ dir: join(dir, "blobs") });
  const sessions = fileSessionStore({ dir: join(dir, "sessions") });
  const session = await sessions.create({ cwd: "/work", id: "one" });
  const file = await readLocalFile(join(dir, "a.png"));
  await session.appendMessage(userMessage("What is this?", await ingest(file, { blobs })));
  await session.close();
  const copy = await sessions.fork("one", { id: "two" });
  const { value } = await project(await copy.context(), anthropicMessages({ model: "m" }), { blobs });
  await copy.close();
  if (!JSON.stringify(value).includes("iVBORw0KGgo")) throw new Error("the request has no image");
  let listed = 0;
  for await (const _ of sessions.list()) listed++;
  if (listed !== 2) throw new Error(`expected 2 sessions, got ${listed}`);
}

/** The program, which is for Node: it reads a database of opencode if this version has SQLite, without a warning. */
async function commandLine() {
  if ("Bun" in globalThis || "Deno" in globalThis) return;
  const path = join(newDirectory(), "opencode.db");
  const canRead = process.getBuiltinModule?.("node:sqlite") !== undefined;
  if (canRead) {
    const { DatabaseSync } = await import("node:sqlite");
    const database = new DatabaseSync(path);
    database.exec(`pragma journal_mode = wal;
      create table session (id, parent_id, directory, title, time_created, time_updated);
      create table message (id, session_id, time_created, data);
      create table part (id, message_id, session_id, data);
      insert into session values ('ses_1', null, '/p', 'Tally', 1, 2);
      insert into message values ('msg_1', 'ses_1', 1, '{"role":"user","time":{"created":1}}');
      insert into part values ('prt_1', 'msg_1', 'ses_1', '{"type":"text","text":"How many lines?"}');`);
    // Left open, so that the rows are in the log alone.
  } else writeFileSync(path, "SQLite format 3\0");
  const words = [join(built, "cli", "main.js"), "show", path];
  const { status, stdout, stderr } = spawnSync(process.execPath, words, { encoding: "utf8" });
  const found = canRead
    ? status === 0 && stderr === "" && stdout.includes("user: How many lines?")
    : status === 3 && stdout === "" && stderr.includes("(needsReader)");
  if (!found) throw new Error(`exit code ${status}: ${stdout}${stderr}`);
}

/** Blobs in memory, a store on the same ones each time that it is opened. */
function blobsInMemory() {
  const { backend } = memoryBlobStore();
  return {
    /** @param {import("sessile").BlobStoreOptions} [options] */
    open: (options = {}) => blobStore(backend, options),
    /** @param {`sha256:${string}`} ref @param {Uint8Array} bytes */
    async damage(ref, bytes) {
      await backend.delete(ref);
      await backend.write(ref, bytes, {});
    },
  };
}

/** @type {readonly (readonly [string, readonly { name: string, run(subject: never): Promise<unknown> }[], () => unknown])[]} */
const suites = [
  [
    "a program",
    [
      { name: "stores an image with a session, forks and projects it", run: smoke },
      { name: "is the command line too", run: commandLine },
    ],
    () => undefined,
  ],
  ["blobs in memory", blobStoreConformance, blobsInMemory],
  ["blobs in files", blobStoreConformance, () => blobsInFiles({ durability: "disk" })],
  ["blobs in a flat folder", blobStoreConformance, () => blobsInFiles({ layout: "flat", durability: "os" })],
  ["sessions in files", sessionStoreConformance, () => sessionsInFiles("disk")],
  ["sessions in SQLite", sessionStoreConformance, sessionsInSqlite],
  [
    "the index of SQLite",
    indexCases,
    () => ({
      sessionStore,
      sqliteSessionBackend,
      userMessage,
      driver: openSqlite(join(newDirectory(), "x.db")),
    }),
  ],
];

/** Why a case may be skipped here: neither files nor SQLite lose answers, and SQLite has no torn lines. */
const reasons = ["this storage has no answers to lose", "this backend has no index"];
const reasonsOfSqlite = [...reasons, "this storage cannot tear"];

let passed = 0;
let failed = 0;
for (const [suite, cases, subject] of suites) {
  for (const { name, run } of cases) {
    try {
      const result = await run(/** @type {never} */ (await subject()));
      const accepted = suite === "sessions in SQLite" ? reasonsOfSqlite : reasons;
      if (result !== undefined && !accepted.includes(result.skipped))
        throw new Error(`not shown: ${JSON.stringify(result)}`);
      passed++;
    } catch (error) {
      failed++;
      console.log(
        `${suite}: ${name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
      );
    }
  }
}
rmSync(base, { recursive: true, force: true });
console.log(JSON.stringify({ passed, failed }));
