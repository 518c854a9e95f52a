import {
  cpSync,
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
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sqliteFile } from "../agents/support/sqlite.js";
import { fileDatabase, type TestDatabase } from "../sqlite/databases.js";
import { type CallOptions, call } from "./call.js";
import { type Sample, sample } from "./sample.js";

let made: Sample;
beforeAll(async () => {
  made = await sample();
  writeFileSync(join(made.dir, "empty.jsonl"), "");
  const bytes = Uint8Array.from({ length: 4096 }, (_, at) => (at * 7919 + (at >> 3) * 31) % 256);
  writeFileSync(join(made.dir, "random.jsonl"), bytes);
});
afterAll(() => made[Symbol.dispose]());

const run = (words: readonly string[], options: CallOptions = {}) =>
  call(words, { cwd: made.dir, ...options });
/** The lines of standard error as JSON. */
const notes = (stderr: string) =>
  stderr
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));

describe("a file that is no session", () => {
  const commands: readonly (readonly string[])[] = [
    ["show", "FILE"],
    ["show", "FILE", "--context"],
    ["stats", "FILE"],
    ["diff", "FILE", "leaf", "leaf"],
    ["project", "FILE", "--target", "anthropic", "--model", "claude-opus-5-5"],
    ["import", "FILE", "--to", "store/sessions"],
    ["export", "FILE", "--to", "codex", "-o", "out"],
    ["convert", "FILE", "--to", "codex", "-o", "out"],
    ["redact", "FILE", "--to", "out.jsonl"],
    ["merge", "FILE", "FILE", "-o", "out.jsonl"],
    ["view", "FILE", "-o", "out.html"],
    ["serve", "FILE"],
  ];
  it.each(commands)("cannot be read: %s %s %s", async (...words) => {
    const before = readdirSync(made.dir);
    for (const [file, code] of [
      ["empty.jsonl", "EMPTY"],
      ["random.jsonl", "NO_HEADER"],
      ["absent.jsonl", undefined],
    ] as const) {
      const named = words.map((word) => (word === "FILE" ? `./${file}` : word));
      // Ends a command that would wait for ever, long after the test has failed.
      const interrupt = AbortSignal.timeout(60_000);
      const shown = await run([...named, "--json"], { signal: interrupt });
      expect([file, shown.code, shown.stdout]).toEqual([file, 3, ""]);
      const { error } = notes(shown.stderr).at(-1);
      expect(error.code).toMatch(code === undefined ? /^(?:ENOENT|SESSION_NOT_FOUND)$/ : code);
      expect((await run(named, { signal: interrupt })).stderr).toMatch(
        /^sessile: .*(?:\([A-Z_]+\)|ENOENT.*)$/m,
      );
    }
    expect(readdirSync(made.dir)).toEqual(before);
  });

  it("may look like one of a known agent", async () => {
    // Cursor's transcripts.
    const line = { role: "user", message: { content: [{ type: "text", text: "Hello" }] } };
    writeFileSync(join(made.dir, "other.jsonl"), `${JSON.stringify(line)}\n`.repeat(2));
    mkdirSync(join(made.dir, ".claude", "projects", "p"), { recursive: true });
    cpSync(join(made.dir, "other.jsonl"), join(made.dir, ".claude", "projects", "p", "s1.jsonl"));
    for (const path of ["./other.jsonl", ".claude/projects/p/s1.jsonl"]) {
      const shown = await run(["import", path, "--to", "never/sessions"]);
      expect([shown.code, shown.stdout]).toEqual([3, ""]);
      expect(shown.stderr).toMatch(/is no session of a known agent; .* \(NO_HEADER\)$/m);
    }
    expect(existsSync(join(made.dir, "never", "sessions"))).toBe(false);
  });

  it.each(["ls", "verify", "gc"])("or is no directory of blobs or sessions: blobs %s", async (name) => {
    for (const [dir, sessions] of [
      ["nowhere", ".sessile/sessions"],
      [".sessile", "nowhere"],
    ] as const) {
      const shown = await run(["blobs", name, dir, "--sessions", sessions]);
      expect([shown.code, shown.stdout, /nowhere/.test(shown.stderr)]).toEqual([3, "", true]);
    }
  });

  it("is diagnosed: exit code 1, and 3 if it is absent", async () => {
    for (const [file, code] of [
      ["empty.jsonl", 1],
      ["random.jsonl", 1],
      ["absent.jsonl", 3],
    ] as const)
      expect([file, (await run(["diagnose", `./${file}`])).code]).toEqual([file, code]);
  });
});

describe("a damaged session", () => {
  let damaged: Sample;
  beforeAll(async () => {
    damaged = await sample();
    // The result on the side branch, and the last line cut.
    const lines = readFileSync(damaged.path, "utf8").split("\n");
    writeFileSync(damaged.path, lines.map((line, at) => (at === 3 ? line.slice(0, 40) : line)).join("\n"));
  });
  afterAll(() => damaged[Symbol.dispose]());
  const objects: readonly (readonly string[])[] = [
    ["diff", "latest", "leaf", "leaf"],
    ["show", "latest", "--context"],
    ["stats", "latest"],
    ["project", "latest", "--target", "anthropic", "-o", "body.json"],
    ["export", "latest", "--to", "codex", "-o", "out"],
    ["convert", "latest", "--to", "codex", "-o", "converted"],
    ["redact", "latest", "--to", "shared.jsonl"],
  ];

  it.each([["show", "latest"], ...objects])("is noted by %s %s %s", async (...words) => {
    const shown = await call(
      words.map((word) => word.replace(/^(body|out|converted|shared)/, "text-$1")),
      {
        cwd: damaged.dir,
      },
    );
    expect(shown.stderr.replace(/^wrote .*\n/m, "")).toBe(
      `sessile: ${damaged.path}: 1 line is damaged; sessile diagnose shows which (damaged)\n`,
    );
    const asJson = await call([...words, "--json"], { cwd: damaged.dir });
    expect(notes(asJson.stderr)).toEqual([
      { warning: expect.objectContaining({ code: "damaged", path: damaged.path, damaged: 1 }) },
    ]);
    if (objects.includes(words as (typeof objects)[number])) expect(asJson.json[0].damaged).toBe(1);
  });

  it.each(["export", "convert"])("is a loss of %s to another agent: exit code 1", async (command) => {
    for (const [cwd, code] of [
      [damaged.dir, 1],
      [made.dir, 0],
    ] as const)
      expect((await call([command, "latest", "--to", "codex", "-o", `${command}-lossy`], { cwd })).code).toBe(
        code,
      );
    const sessionId = "5d2e3a4b-1c0f-4e8a-9b7d-2f6a1c3e5d70";
    const record = {
      ...{ type: "user", uuid: "u1", parentUuid: null, sessionId, cwd: "/w", version: "2.1.0" },
      ...{ isSidechain: false, timestamp: "2026-11-01T10:00:00.000Z" },
      message: { role: "user", content: "How many lines?" },
    };
    const path = join(damaged.dir, `${sessionId}.jsonl`);
    for (const [second, code, words] of [
      ["", 0, "no loss"],
      ['{"type":"assist', 1, "no other loss"],
    ] as const) {
      writeFileSync(path, `${JSON.stringify(record)}\n${second}\n`);
      const made = await call([command, path, "--to", "codex", "-o", `${command}-${code}`], {
        cwd: damaged.dir,
      });
      expect([made.code, made.stdout.split("\n").at(-2)]).toEqual([code, words]);
      const same = await call([command, path, "--to", "claude-code", "-o", `${command}-same-${code}`], {
        cwd: damaged.dir,
      });
      expect([same.code, same.stdout.split("\n").at(-2)]).toEqual([0, "every byte is kept"]);
    }
    rmSync(path);
  });

  it("is not noted if it is whole", async () => {
    for (const words of [["show", "latest"], ["stats", "latest"], ...objects.slice(0, 1)]) {
      const { stderr } = await run([...words]);
      expect(stderr).toBe("");
    }
  });
});

describe("one unreadable session of many", () => {
  it("is named, and the command goes on: exit code 3", async () => {
    using own = await sample();
    const inOwn = (...words: readonly string[]) => call(words, { cwd: own.dir });
    const broken = join(own.path, "..", "2026-01-01T00-00-00-000Z_broken.jsonl");
    cpSync(join(made.dir, "random.jsonl"), broken);
    const listed = await inOwn("ls", "--json");
    expect([listed.code, listed.json.map(({ id }) => id)]).toEqual([3, [own.id]]);
    expect(notes(listed.stderr)).toEqual([
      { skipped: expect.objectContaining({ code: "NO_HEADER", path: broken }) },
    ]);
    const checked = await inOwn("diagnose", "./absent.jsonl", own.path, "--json");
    expect([checked.code, checked.json.map(({ verdict }) => verdict)]).toEqual([3, ["sound"]]);
    const counted = await inOwn("stats", broken, own.path, "--json");
    expect([counted.code, counted.json[0].sessions]).toEqual([3, 1]);
    const found = await inOwn("search", "readable", "--json");
    expect([found.code, found.json.length]).toEqual([3, 1]);
    // Which one is the newest is known all the same.
    expect((await inOwn("show", "latest")).code).toBe(0);
    rmSync(broken);
    expect((await inOwn("search", "readable")).code).toBe(0);
  });
});

/** A stand-in for `node:sqlite` with another build of SQLite, or for a version of Node without it. */
function nodeSqliteOf(isThere = true): Disposable & { readonly copies: readonly string[] } {
  const copies: string[] = [];
  class DatabaseSync {
    readonly #database: TestDatabase;
    constructor(file: string) {
      copies.push(file);
      this.#database = fileDatabase(file);
    }
    prepare(sql: string) {
      return this.#database.prepare(sql);
    }
    close() {
      this.#database.close();
    }
  }
  const real = process.getBuiltinModule;
  process.getBuiltinModule = ((id: string) =>
    id === "node:sqlite" ? (isThere ? { DatabaseSync } : undefined) : real(id)) as typeof real;
  return {
    copies,
    [Symbol.dispose]() {
      process.getBuiltinModule = real;
    },
  };
}

describe("a database of opencode", () => {
  const dir = mkdtempSync(join(tmpdir(), "sessile-database-"));
  const path = join(dir, "opencode.db");
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  it("is not read by this version of Node, or read whole: never an empty session", async () => {
    const session = {
      id: "ses_1",
      parent_id: null,
      directory: "/p",
      title: "Tally",
      time_created: 1,
      time_updated: 2,
    };
    const data = JSON.stringify({
      role: "user",
      time: { created: 1 },
      model: { providerID: "a", modelID: "m" },
    });
    const message = { id: "msg_1", session_id: "ses_1", time_created: 1, data };
    const text = JSON.stringify({ type: "text", text: "How many lines?" });
    const part = { id: "prt_1", message_id: "msg_1", session_id: "ses_1", data: text };
    writeFileSync(path, await sqliteFile({ session: [session], message: [message], part: [part] }));
    const canRead = process.getBuiltinModule("node:sqlite") !== undefined;
    for (const words of [
      ["show", path],
      ["import", path, "--to", "store/sessions"],
      ["convert", path, "--to", "codex", "-o", "out"],
    ]) {
      const { code, stdout, stderr } = await call(words, { cwd: dir });
      if (canRead) expect([code === 3, stderr]).toEqual([false, ""]);
      else {
        expect([code, stdout]).toEqual([3, ""]);
        expect(stderr).toMatch(/^sessile: .*opencode\.db: .*Node 22\.5.* \(needsReader\)$/m);
      }
    }
    if (canRead) expect((await call(["show", path], { cwd: dir })).stdout).toContain("How many lines?");
    expect(existsSync(join(dir, "store"))).toBe(canRead);
  });

  it("is listed by its sessions, which have ids, where this version of Node reads it", async () => {
    using reads = nodeSqliteOf();
    const { emitWarning } = process;
    const row = (at: number) => ({
      ...{
        id: `ses_${at}`,
        parent_id: at === 2 ? "ses_1" : null,
        directory: `/p${at}`,
        title: `Tally ${at}`,
      },
      ...{ time_created: 1e12, time_updated: 1e12 + at },
    });
    const data = JSON.stringify({
      role: "user",
      time: { created: 1 },
      model: { providerID: "a", modelID: "m" },
    });
    const ids = [1, 2, 3];
    const message = ids.map((at) => ({ id: `msg_${at}`, session_id: `ses_${at}`, time_created: 1, data }));
    const part = ids.map((at) => ({
      ...{ id: `prt_${at}`, message_id: `msg_${at}`, session_id: `ses_${at}` },
      data: JSON.stringify({ type: "text", text: `Question ${at}` }),
    }));
    mkdirSync(join(dir, "opencode"));
    const home = join(dir, "opencode", "opencode.db");
    writeFileSync(home, await sqliteFile({ session: ids.map(row), message, part }));
    const before = readdirSync(join(dir, "opencode"));
    const inHome = (...words: readonly string[]) => call(words, { cwd: dir, env: { XDG_DATA_HOME: dir } });
    const { json } = await inHome("ls", "--json");
    const listed = json.map(({ id, title, cwd, size }) => [id, title, cwd, size > 0]);
    expect(listed).toEqual(ids.reverse().map((at) => [`ses_${at}`, `Tally ${at}`, `/p${at}`, true]));
    expect(json.map(({ id, parent }) => [id, parent])).toContainEqual(["ses_2", "ses_1"]);
    expect(process.emitWarning).toBe(emitWarning);
    expect((await inHome("ls", "--cwd", "/p2", "--json")).json.map(({ id }) => id)).toEqual(["ses_2"]);
    expect((await inHome("ls", "--since", "2001-09-09T01:46:40.002Z", "--json")).json.length).toBe(2);
    expect((await inHome("show", "ses_2")).stdout).toMatch(/user: Question 2$/m);
    expect((await inHome("show", "latest")).stdout).toMatch(/user: Question 3$/m);
    expect((await inHome("show", home)).stdout).toMatch(/user: Question 3$/m);
    expect((await inHome("search", "Question 1", "--json")).json.map(({ session }) => session)).toEqual([
      "ses_1",
    ]);
    expect((await inHome("import", "ses_1", "--to", "kept/sessions")).stdout).toContain("ses_1.jsonl");
    expect(reads.copies.every((copy) => copy !== home)).toBe(true);
    expect(readdirSync(join(dir, "opencode"))).toEqual(before);
  });

  it("has a note where this version of Node reads none, and the sessions of other agents are there", async () => {
    using _ = nodeSqliteOf(false);
    const home = join(dir, "old-node");
    const claude = join(home, "claude", "projects", "-p");
    mkdirSync(join(home, "opencode"), { recursive: true });
    mkdirSync(claude, { recursive: true });
    writeFileSync(join(home, "opencode", "opencode.db"), "SQLite format 3\0");
    const id = "0f3b7a52-1111-4222-8333-944444444444";
    const message = { role: "user", content: "Count the lines" };
    const line = { type: "user", uuid: id, parentUuid: null, sessionId: id, cwd: "/p", message };
    const text = JSON.stringify({ ...line, timestamp: "2026-01-01T00:00:00.000Z" });
    writeFileSync(join(claude, `${id}.jsonl`), `${text}\n`);
    const env = { XDG_DATA_HOME: home, CLAUDE_CONFIG_DIR: join(home, "claude") };
    const inHome = (...words: readonly string[]) => call(words, { cwd: home, env });
    const archive = ["archive", "--to", join(home, "archive")];
    const note = /^sessile: .*opencode\.db: .*Node 22\.5.* \(needsReader\)\n$/;
    for (const words of [
      ["ls"],
      ["search", "count"],
      ["stats", "all"],
      ["diagnose", "all"],
      archive,
      ["archive", "status", ...archive.slice(1)],
    ])
      expect([words, await inHome(...words)]).toEqual([
        words,
        expect.objectContaining({ code: 0, stderr: expect.stringMatching(note) }),
      ]);
    expect((await inHome("ls", "--json")).json).toMatchObject([{ agent: "claude-code", id }]);
    // One session needs no other.
    for (const command of ["show", "resume", "diagnose"])
      for (const name of ["latest", id.slice(0, 8)])
        expect(await inHome(command, name)).toMatchObject({ code: 0, stderr: "" });
    expect(await inHome("show", "latest", "--agent", "opencode")).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/\(needsReader\)\nsessile: no session found in .*old-node\/opencode /),
    });
    // The one that is not found may be in the database.
    expect(await inHome("show", "ses_12345")).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/\(needsReader\)\nsessile: no session has the id ses_12345/),
    });
    using _reads = nodeSqliteOf();
    writeFileSync(join(home, "opencode", "opencode.db"), "no database");
    expect((await inHome("archive", "--to", join(home, "archive"))).code).toBe(3);
  });

  it.each([
    [
      "a view without an end",
      "create view session as with recursive r(n) as (select 1 union all select n + 1 from r) select n as id from r",
      /session is a view, not a stored table/,
    ],
    [
      "a computed column",
      "create table session (id text); create table message (id text, session_id text, data text generated always as (zeroblob(900000000)))",
      /the column data of message is computed, not stored/,
    ],
    [
      "a virtual table",
      "create table Session (id text); create virtual table part using fts5(session_id, data)",
      /part is a virtual table, not a stored table/,
    ],
  ])("with %s is not read, and says why", async (name, sql, reason) => {
    using _ = nodeSqliteOf();
    const home = join(dir, name);
    mkdirSync(join(home, "opencode"), { recursive: true });
    const file = join(home, "opencode", "opencode.db");
    const database = fileDatabase(file);
    for (const statement of sql.split("; ")) database.prepare(statement).all();
    database.close();
    const options = { cwd: dir, env: { XDG_DATA_HOME: home } };
    for (const words of [["ls"], ["search", "x"], ["show", file], ["import", file, "--to", "store/none"]]) {
      const { code, stderr } = await call(words, options);
      expect([code, stderr]).toEqual([3, expect.stringMatching(reason)]);
    }
  });

  it("that is damaged is an error", async () => {
    writeFileSync(path, "SQLite format 3\0".padEnd(4096, "\0"));
    const shown = await call(["show", path], { cwd: dir });
    expect([shown.code, shown.stdout]).toEqual([3, ""]);
    expect(shown.stderr).toMatch(/\((?:needsReader|unreadable)\)$/m);
  });
});
