import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import {
  type Session,
  type SessionEntry,
  type SessionStore,
  type SessionSummary,
  turnSettings,
  userMessage,
} from "sessile";
import { type Durability, fileSessionStore, openSessionFile } from "sessile/node";
import { afterEach, describe, expect, test, vi } from "vitest";
import { nodeFileSystem } from "../../../src/core/node/node-file-system.js";
import { FileLock } from "../../../src/storage/files/file-lock.js";
import { fileSessionStoreOn } from "../../../src/storage/files/session-store.js";
import { isFull } from "../../support/rounds.js";
import { SimulatedDisk } from "../../support/simulated-disk.js";
import { temporaryDirectory } from "./temporary-directory.js";

// On a machine with other work to do.

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const time = "2026-01-02T03:04:05.678Z";

function lines(...values: readonly object[]): string {
  return values.map((value) => `${JSON.stringify(value)}\n`).join("");
}

function header(id: string, more: object = {}): object {
  return { type: "session", version: 3, id, timestamp: time, cwd: "/p", ...more };
}

function entry(id: string, parentId: string | null, text: string): object {
  return {
    type: "message",
    id,
    parentId,
    timestamp: time,
    message: { role: "user", content: text, timestamp: 1 },
  };
}

/** Everything in a directory: names, bytes, times. */
function snapshot(dir: string): Record<string, unknown> {
  const names = readdirSync(dir, { recursive: true, encoding: "utf8" }).sort();
  return Object.fromEntries(
    names.map((name) => {
      const stat = statSync(join(dir, name));
      return [name, [stat.mtimeMs, stat.ino, stat.isFile() ? readFileSync(join(dir, name), "utf8") : ""]];
    }),
  );
}

async function collect(
  store: SessionStore,
  query?: Parameters<SessionStore["list"]>[0],
): Promise<SessionSummary[]> {
  const found: SessionSummary[] = [];
  for await (const summary of store.list(query)) found.push(summary);
  return found;
}

async function codeOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => "none",
    (error: { code?: unknown }) => error.code,
  );
}

describe("options", () => {
  test.each([
    [{ dir: "" }, "dir: expected a non-empty string"],
    [{ dir: "x", durability: "tape" }, 'durability: expected "disk" or "os", got tape'],
    [{ dir: "x", lockWaitMs: -1 }, "lockWaitMs: expected an integer >= 0"],
    [{ dir: "x", maxLineBytes: 10 }, "maxLineBytes: expected an integer >= 1024"],
  ])("%j are none", (options, message) => {
    expect(() => fileSessionStore(options as never)).toThrow(message);
  });

  test("a relative directory is the one that it was when the store was made", async () => {
    const dir = temporaryDirectory();
    const cwd = process.cwd();
    const spy = vi.spyOn(process, "cwd").mockReturnValue(dir);
    const store = fileSessionStore({ dir: "sessions" });
    spy.mockReturnValue(cwd);
    const session = await store.create({ cwd: "/p" });
    await session.appendMessage(userMessage("a"));
    await session.close();
    spy.mockRestore();
    expect(session.location?.startsWith(join(dir, "sessions"))).toBe(true);
  });
});

describe("openSessionFile", () => {
  test("opens a file at any path, and reading never writes", async () => {
    const dir = temporaryDirectory();
    const states = {
      whole: lines(header("a"), entry("00000001", null, "x")),
      "without its last line feed": lines(header("a"), entry("00000001", null, "x")).trimEnd(),
      torn: `${lines(header("a"), entry("00000001", null, "x"))}{"type":"mess`,
      "of version 1": lines(
        { type: "session", id: "a", timestamp: time, cwd: "/p" },
        { type: "message", message: {} },
      ),
    };
    for (const [state, text] of Object.entries(states)) {
      const path = join(dir, `${state}.jsonl`);
      writeFileSync(path, text);
      utimesSync(path, 1000, 1000);
      const before = snapshot(dir);
      const session = await openSessionFile(path);
      expect(session.location).toBe(path);
      expect(session.writable).toBe(false);
      expect((await session.tree()).size).toBe(1);
      await session.context();
      await session.diagnose();
      await session.refresh();
      expect(await codeOf(session.appendMessage(userMessage("no")))).toBe("SESSION_READ_ONLY");
      await session.close();
      expect(snapshot(dir)).toEqual(before);
    }
  });

  test("takes no directory, FIFO or device for a session, and does not hang", async () => {
    const dir = temporaryDirectory();
    mkdirSync(join(dir, "directory.jsonl"));
    execFileSync("mkfifo", [join(dir, "fifo.jsonl")]);
    for (const [path, kind] of [
      [join(dir, "directory.jsonl"), "directory"],
      [join(dir, "fifo.jsonl"), "FIFO"],
      ["/dev/null", "device"],
    ] as const) {
      for (const mode of ["read", "write"] as const) {
        await expect(openSessionFile(path, { mode })).rejects.toMatchObject({
          code: "NOT_A_FILE",
          details: { path, kind },
        });
      }
    }
    // In a store they are no sessions.
    const store = fileSessionStore({ dir });
    expect(await codeOf(store.open("fifo"))).toBe("SESSION_NOT_FOUND");
    expect(await collect(store)).toEqual([]);
  });

  test("says what is missing", async () => {
    const dir = temporaryDirectory();
    writeFileSync(join(dir, "empty.jsonl"), "");
    writeFileSync(join(dir, "none.jsonl"), "{}\n");
    const store = fileSessionStore({ dir });
    for (const mode of ["read", "write"] as const) {
      expect(await codeOf(openSessionFile(join(dir, "absent.jsonl"), { mode }))).toBe("SESSION_NOT_FOUND");
      expect(await codeOf(openSessionFile(join(dir, "absent", "x.jsonl"), { mode }))).toBe(
        "SESSION_NOT_FOUND",
      );
      expect(await codeOf(openSessionFile(join(dir, "empty.jsonl"), { mode }))).toBe("EMPTY");
      expect(await codeOf(openSessionFile(join(dir, "none.jsonl"), { mode }))).toBe("NO_HEADER");
      expect(await codeOf(store.open("empty", { mode }))).toBe("EMPTY");
    }
    await expect(openSessionFile("")).rejects.toThrow("path: expected a non-empty string");
    expect(readdirSync(dir).sort()).toEqual(["empty.jsonl", "none.jsonl"]);
  });

  test("opens for writing at its own path", async () => {
    const path = join(temporaryDirectory(), "by-hand.jsonl");
    writeFileSync(path, lines(header("some-id"), entry("00000001", null, "x")).trimEnd());
    const session = await openSessionFile(path, { mode: "write" });
    const added = await session.appendMessage(userMessage("y"));
    await session.close();
    const again = await openSessionFile(path);
    expect(again.id).toBe("some-id");
    expect((await again.tree()).path(added.id).map((node) => node.id)).toEqual(["00000001", added.id]);
    await again.close();
  });
});

describe("a torn end", () => {
  test.each([
    ["of this version", [header("s"), entry("00000001", null, "x")]],
    [
      "of version 1",
      [
        { type: "session", id: "s", timestamp: time, cwd: "/p" },
        { type: "message", timestamp: time, message: { role: "user", content: "x", timestamp: 1 } },
      ],
    ],
  ])("is ended once by opening for writing; a whole line gets its line feed (%s)", async (_name, whole) => {
    const dir = temporaryDirectory();
    const path = join(dir, "x_s.jsonl");
    const torn = '{"type":"message","id":"0000';
    writeFileSync(path, lines(...whole) + torn);
    const store = fileSessionStore({ dir });
    const first = await store.open("s", { mode: "write" });
    expect(first.diagnostics.map(({ code }) => code)).toContain("TORN_LINE");
    await first.close();
    expect(readFileSync(path, "utf8").endsWith(`\n${torn}\t\n`)).toBe(true);
    const before = snapshot(dir);
    const second = await store.open("s", { mode: "write" });
    expect(second.diagnostics.map(({ code }) => code)).toEqual(["TORN_LINE"]);
    expect((await second.tree()).size).toBe(1);
    await second.close();
    expect(snapshot(dir)).toEqual(before);

    const mended = readFileSync(path, "utf8");
    writeFileSync(path, `${mended}{}`);
    const third = await store.open("s", { mode: "write" });
    expect(third.diagnostics.map(({ code }) => code)).toEqual(["TORN_LINE", "INVALID_ENTRY"]);
    await third.close();
    expect(readFileSync(path, "utf8")).toBe(`${mended}{}\n`);
    expect(readdirSync(dir).filter((name) => name.includes(".torn-"))).toEqual([]);
  });

  test("of a log cut at any byte leaves a whole-line prefix, and no error but those of a log without a header", async () => {
    const disk = new SimulatedDisk();
    const store = disk.sessions({ dir: "/s" });
    const writing = await store.create({ cwd: "/p", id: "cut" });
    const entries: SessionEntry[] = [];
    for (const text of ["one", "zwei ü", "三"]) entries.push(await writing.appendMessage(userMessage(text)));
    await writing.updateInfo({ title: "t" });
    await writing.close();
    const path = writing.location ?? "";
    const whole = disk.bytes(path) as Uint8Array;
    // A header is whole without the spaces behind it.
    const ends = [...Buffer.from(whole).toString("latin1").matchAll(/ *\n/g)].map(({ index }) => index);
    for (let size = 0; size <= whole.length; size++) {
      for (const mode of ["read", "write"] as const) {
        disk.put(path, whole.slice(0, size));
        const expected = ends.filter((end) => end <= size).length - 1;
        const session = await store.open("cut", { mode }).catch((error: { code: string }) => error.code);
        if (typeof session === "string") {
          expect(expected).toBe(-1);
          expect(session).toBe(size === 0 ? "EMPTY" : "NO_HEADER");
          continue;
        }
        expect((await session.tree()).size).toBe(expected);
        for (const { id } of entries.slice(0, expected)) {
          expect(await session.entry(id)).toEqual(entries.find((known) => known.id === id));
        }
        await session.close();
      }
    }
  });
});

describe("an older version", () => {
  const user = (content: string, more: object = {}) => ({ role: "user", content, timestamp: 1, ...more });
  const files: Record<string, { text: string; context: string[] }> = {
    "version 1": {
      text: lines(
        { type: "session", id: "old", timestamp: time, cwd: "/p", provider: "kept" },
        { type: "message", timestamp: time, message: user("one"), ofTheirs: { a: [1, "ü"] } },
        { type: "message", timestamp: time, message: user("two", { theirs: true }) },
        { type: "compaction", timestamp: time, summary: "sum", firstKeptEntryIndex: 2, tokensBefore: 9 },
        { type: "made_up", timestamp: time, x: 1 },
        { type: "message", timestamp: time, message: user("three") },
      ),
      context: ["sum", "two", "three"],
    },
    "version 2": {
      text: lines(
        { type: "session", version: 2, id: "old", timestamp: time, cwd: "/p" },
        entry("aaaaaaaa", null, "one"),
        {
          type: "message",
          id: "bbbbbbbb",
          parentId: "aaaaaaaa",
          timestamp: time,
          ofTheirs: 1,
          message: {
            role: "hookMessage",
            customType: "c",
            content: "two",
            display: true,
            timestamp: 1,
            theirs: 1,
          },
        },
        {
          type: "label",
          id: "cccccccc",
          parentId: "bbbbbbbb",
          timestamp: time,
          targetId: "aaaaaaaa",
          label: "l",
        },
      ),
      context: ["one", "two"],
    },
  };

  async function contents(session: Session): Promise<unknown[]> {
    const { items } = await session.context();
    return items.map(({ message }) =>
      "summary" in message ? message.summary : "content" in message && message.content,
    );
  }

  test.each(Object.keys(files))("%s is migrated by opening for writing, and not by reading", async (name) => {
    const { text, context } = files[name] as { text: string; context: string[] };
    const dir = temporaryDirectory();
    mkdirSync(join(dir, "--p--"));
    const path = join(dir, "--p--", "x_old.jsonl");
    writeFileSync(path, text);
    const store = fileSessionStore({ dir });
    const reading = await store.open("old");
    const ids = Array.from((await reading.tree()).walk(), ({ node }) => node.id);
    const entries = await Promise.all(ids.map((id) => reading.entry(id)));
    const before = await reading.context();
    expect(await contents(reading)).toEqual(context);
    await reading.close();
    expect(readFileSync(path, "utf8")).toBe(text);

    const writing = await store.open("old", { mode: "write" });
    expect(Array.from((await writing.tree()).walk(), ({ node }) => node.id)).toEqual(ids);
    expect(await writing.context()).toEqual(before);
    expect(writing.diagnostics).toEqual([]);
    expect(writing.header).toMatchObject({ version: 3, id: "old" });
    const added = await writing.appendMessage(userMessage("new"));
    await writing.close();
    expect(readdirSync(dirname(path)).length).toBe(2);
    const old = readdirSync(dirname(path)).find((other) => other.startsWith("x_old.jsonl.old-")) ?? "";
    expect(readFileSync(join(dirname(path), old), "utf8")).toBe(text);

    const stored = readFileSync(path, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(stored[0]).toMatchObject({ ...JSON.parse(text.split("\n")[0] as string), version: 3 });
    for (const [index, original] of text.trimEnd().split("\n").entries()) {
      if (index === 0) continue;
      const { firstKeptEntryIndex: _index, message, ...fields } = JSON.parse(original);
      expect(stored[index]).toMatchObject(fields);
      if (message !== undefined) {
        expect(stored[index].message).toEqual({
          ...message,
          role: message.role === "user" ? "user" : "custom",
        });
      }
    }
    const again = await store.open("old");
    expect(again.diagnostics).toEqual([]);
    const kept = await Promise.all(ids.map((id) => again.entry(id)));
    expect(kept.map((one) => (one?.type === "unknown" ? one.entryType : one))).toEqual(
      entries.map((one) => (one?.type === "unknown" ? one.entryType : one)),
    );
    expect(again.leafId).toBe(added.id);
    await again.close();
  });

  // @covers R134
  test("opens while another process has the lock, and is migrated by the first append", async () => {
    const dir = temporaryDirectory();
    const path = join(dir, "x_old.jsonl");
    const { text } = files["version 1"] as { text: string };
    writeFileSync(path, text);
    const other = new FileLock(nodeFileSystem, `${path}.lock`, { waitMs: 0, idleMs: 1, remoteLeaseMs: 1000 });
    const session = await other.with(() =>
      fileSessionStore({ dir, lockWaitMs: 10 }).open("old", { mode: "write" }),
    );
    other.release();
    expect(readFileSync(path, "utf8")).toBe(text);
    const ids = Array.from((await session.tree()).walk(), ({ node }) => node.id);
    const [staged] = session.stage([{ type: "model_change", provider: "p", modelId: "m" }]);
    const added = await session.appendMessage(userMessage("first"));
    expect(Array.from((await session.tree()).walk(), ({ node }) => node.id)).toEqual([
      ...ids,
      staged?.id,
      added.id,
    ]);
    expect(await session.entry(staged?.id ?? "")).toEqual(staged);
    expect(session.leafId).toBe(added.id);
    await session.close();
    expect(JSON.parse(readFileSync(path, "utf8").split("\n")[0] as string)).toMatchObject({ version: 3 });
    expect((await (await openSessionFile(path)).tree()).path(added.id).map((node) => node.id)).toEqual([
      ...ids,
      staged?.id,
      added.id,
    ]);
  });

  test("is migrated once when several open it, and another's migration is no conflict for the first append", async () => {
    const { text } = files["version 1"] as { text: string };
    const dir = temporaryDirectory();
    const path = join(dir, "x_old.jsonl");
    writeFileSync(path, text);
    const open = () => fileSessionStore({ dir }).open("old", { mode: "write" });
    const sessions = await Promise.all([open(), open(), open()]);
    expect(readdirSync(dir).filter((name) => name.includes(".old-")).length).toBe(1);
    for (const session of sessions) {
      expect(session.header.version).toBe(3);
      expect((await session.tree()).size).toBe(5);
      await session.close();
    }

    writeFileSync(path, text);
    const other = new FileLock(nodeFileSystem, `${path}.lock`, { waitMs: 0, idleMs: 1, remoteLeaseMs: 1000 });
    const late = await other.with(() =>
      fileSessionStore({ dir, lockWaitMs: 10 }).open("old", { mode: "write" }),
    );
    other.release();
    await (await open()).close();
    const added = await late.appendMessage(userMessage("late"));
    expect((await late.context()).items.at(-1)?.entryId).toBe(added.id);
    await late.close();
    expect((await (await openSessionFile(path)).tree()).size).toBe(6);
  });

  test.each([
    ["version", { version: 99 }],
    ["sessile", { sessile: 2 }],
  ])("a newer one (%s) is opened for reading, whatever was asked for", async (_name, more) => {
    const dir = temporaryDirectory();
    const path = join(dir, "x_new.jsonl");
    writeFileSync(path, lines(header("new", more), entry("00000001", null, "x")));
    const before = snapshot(dir);
    const session = await fileSessionStore({ dir }).open("new", { mode: "write" });
    expect(session.writable).toBe(false);
    expect(session.diagnostics.map(({ code }) => code)).toEqual(["NEWER_VERSION"]);
    await expect(session.appendMessage(userMessage("no"))).rejects.toMatchObject({
      code: "SESSION_READ_ONLY",
      details: { reason: "version" },
    });
    expect((await session.context()).items.length).toBe(1);
    await session.branch(null);
    await session.close();
    expect(snapshot(dir)).toEqual(before);
  });
});

describe("list", () => {
  test("gives the id in the header, by which a session opens whatever its file is called", async () => {
    const dir = temporaryDirectory();
    writeFileSync(join(dir, "2026_copy.jsonl"), lines(header("original"), entry("00000001", null, "hello")));
    const store = fileSessionStore({ dir });
    const [summary] = await collect(store, { stats: true });
    expect(summary).toMatchObject({ id: "original", counts: { entries: 1, messages: 1 } });
    const session = await store.open(summary?.id ?? "");
    expect((await session.tree()).size).toBe(1);
    await session.close();
    await expect(store.open("copy")).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
  });

  test("finds the files of older versions of pi, a directory each, by list, id and location", async () => {
    const dir = temporaryDirectory();
    const id = "0196f3a0-1111-7222-8333-444455556666";
    const path = join(dir, id, "session.txt");
    const write = (at: string, text: string) => {
      mkdirSync(dirname(at), { recursive: true });
      writeFileSync(at, text);
    };
    const text = lines(header(id), entry("00000001", null, "hello"));
    write(path, text);
    // The header decides about the id. Other texts are no sessions, nor is one that is in no directory.
    const renamed = join(dir, "a-copy", "session.txt");
    write(renamed, text);
    write(join(dir, id, "notes.txt"), text);
    write(join(dir, "session.txt"), text);
    const store = fileSessionStore({ dir });
    const found = await collect(store);
    expect(found.map((each) => [each.id, each.location, each.firstMessage]).sort()).toEqual([
      [id, path, "hello"],
      [id, renamed, "hello"],
    ]);
    for (const ref of [id, { id, location: path }, { id, location: renamed }]) {
      const session = await store.open(ref, { mode: "write" });
      expect(session.location).toBe(typeof ref === "string" ? path : ref.location);
      await session.appendMessage(userMessage("more"));
      await session.close();
    }
    for (const at of [path, renamed]) expect(readFileSync(at, "utf8").startsWith(text)).toBe(true);
    const location = join(dir, "session.txt");
    await expect(store.open({ id, location })).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
    await using alone = await openSessionFile(path);
    expect(alone.id).toBe(id);
    // A damaged header leaves the name of the directory.
    writeFileSync(path, text.slice(5));
    expect(await store.delete({ id, location: path })).toBe(true);
    expect((await collect(store)).map((each) => each.location)).toEqual([renamed]);
  });

  // @covers R153
  test.runIf(isFull)("pages through two thousand sessions, each once, newest first", async () => {
    const dir = temporaryDirectory();
    for (const project of ["--p--", "--q--"]) mkdirSync(join(dir, project));
    const count = 2000;
    for (let at = 0; at < count; at++) {
      const cwd = at % 2 === 0 ? "/p" : "/q";
      const path = join(dir, at % 2 === 0 ? "--p--" : "--q--", `2026_s${at}.jsonl`);
      writeFileSync(path, lines(header(`s${at}`, { cwd }), entry("00000001", null, `first ${at}`)));
      // Some of the same time.
      const modified = 1_700_000_000 + Math.floor(at / 3);
      utimesSync(path, modified, modified);
    }
    const store = fileSessionStore({ dir });
    const all = await collect(store);
    expect(all.length).toBe(count);
    const order = [...all].sort((a, b) =>
      a.modified === b.modified ? (a.id < b.id ? 1 : -1) : a.modified < b.modified ? 1 : -1,
    );
    expect(all.map(({ id }) => id)).toEqual(order.map(({ id }) => id));
    expect(all[7]).toMatchObject({
      cwd: expect.stringMatching(/^\/[pq]$/),
      firstMessage: expect.stringMatching(/^first/),
    });
    const paged: string[] = [];
    for (let after: string | undefined; ; ) {
      const page = await collect(store, { limit: 450, ...(after === undefined ? {} : { after }) });
      paged.push(...page.map(({ id }) => id));
      if (page.length < 450) break;
      after = page.at(-1)?.cursor;
    }
    expect(paged).toEqual(all.map(({ id }) => id));
    const ofQ = await collect(store, { cwd: "/q", limit: 3 });
    expect(ofQ.map(({ cwd }) => cwd)).toEqual(["/q", "/q", "/q"]);
    expect((await store.latest({ cwd: "/p" }))?.id).toBe("s1998");
  });

  test("keeps partitions apart, and does not list lock files", async () => {
    const dir = temporaryDirectory();
    const store = fileSessionStore({ dir });
    const sessions = await Promise.all(
      ["", "one", "two"].map((partition) =>
        store.create({ cwd: "/p", id: "same", ...(partition === "" ? {} : { partition }) }),
      ),
    );
    for (const session of sessions) await session.appendMessage(userMessage(session.location ?? ""));
    for (const ending of [".lock", ".lock.wait"]) writeFileSync(`${sessions[0]?.location}${ending}`, "");
    for (const [at, partition] of ["", "one", "two"].entries()) {
      const found = await collect(store, { partition });
      expect(found.map(({ location }) => location)).toEqual([sessions[at]?.location]);
    }
    expect(sessions[1]?.location).toContain(`${join(dir, "@one")}/`);
    await expect(store.create({ cwd: "/p", partition: "@one" })).rejects.toThrow(TypeError);
    await expect(store.create({ cwd: "/p", partition: "../one" })).rejects.toThrow(TypeError);
    for (const session of sessions) await session.close();
  });

  test("tells projects with one directory name apart, and finds one whose path is very long", async () => {
    const store = fileSessionStore({ dir: temporaryDirectory() });
    const long = `/${"a very long directory name/".repeat(40)}end`;
    for (const cwd of ["/a/b", "/a-b", long, `${long}/deeper`]) {
      const session = await store.create({ cwd });
      await session.appendMessage(userMessage(cwd));
      await session.close();
    }
    for (const cwd of ["/a/b", "/a-b", long, `${long}/deeper`]) {
      expect((await collect(store, { cwd })).map((summary) => summary.cwd)).toEqual([cwd]);
    }
  });

  test("reads the directory of pi as it is", async () => {
    const dir = temporaryDirectory();
    const project = join(dir, "--home-me-project--");
    mkdirSync(project);
    const id = "0196f3a0-1111-7222-8333-444455556666";
    // As pi writes it: a header without our field, a long base64 image, a name at the end.
    const text = lines(
      { type: "session", version: 3, id, timestamp: time, cwd: "/home/me/project" },
      { type: "model_change", id: "aaaaaaaa", parentId: null, timestamp: time, provider: "p", modelId: "m" },
      {
        type: "message",
        id: "bbbbbbbb",
        parentId: "aaaaaaaa",
        timestamp: time,
        message: {
          role: "user",
          content: [
            { type: "text", text: "look at this" },
            { type: "image", data: "A".repeat(20_000), mimeType: "image/png" },
          ],
          timestamp: 1,
        },
      },
      { type: "session_info", id: "cccccccc", parentId: "bbbbbbbb", timestamp: time, name: "named" },
    );
    const path = join(project, `2026-01-02T03-04-05-678Z_${id}.jsonl`);
    writeFileSync(path, text);
    const store = fileSessionStore({ dir });
    const [summary] = await collect(store, { cwd: "/home/me/project" });
    expect(summary).toMatchObject({
      id,
      name: "named",
      firstMessage: "look at this",
      location: path,
      created: time,
    });
    expect(await collect(store, { cwd: "/home/me-project" })).toEqual([]);
    const session = await store.open(id, { mode: "write" });
    expect(session.diagnostics).toEqual([]);
    expect(await session.context()).toMatchObject({ model: { provider: "p", modelId: "m" } });
    await session.appendMessage(userMessage("and here"));
    await session.close();
    expect(readFileSync(path, "utf8").startsWith(text)).toBe(true);
  });
});

describe("a session that is open", () => {
  // @covers R133
  test("and has only settings leaves no file and no directory, until something is said", async () => {
    const dir = temporaryDirectory();
    const store = fileSessionStore({ dir });
    const settings = async (session: Session) => {
      await session.append([{ type: "model_change", provider: "p", modelId: "m" }]);
      await session.append([turnSettings.draft({ tools: ["read"] })]);
      await session.updateInfo({ title: "t" });
    };
    const unsaid = await store.create({ cwd: "/p" });
    await settings(unsaid);
    await unsaid.close();
    const said = await store.create({ cwd: "/p" });
    await settings(said);
    expect(readdirSync(dir)).toEqual([]);
    await said.appendMessage(userMessage("one"));
    expect(readFileSync(said.location ?? "", "utf8").split("\n").length).toBe(6);
    await said.close();
  });

  // @covers R143
  test("hears of its deletion by another store when it appends next", async () => {
    const dir = temporaryDirectory();
    const session = await fileSessionStore({ dir }).create({ cwd: "/p", id: "a" });
    await session.appendMessage(userMessage("x"));
    const deleted: string[] = [];
    session.on("deleted", ({ id }) => deleted.push(id));
    expect(await fileSessionStore({ dir }).delete("a")).toBe(true);
    expect(await codeOf(session.appendMessage(userMessage("y")))).toBe("SESSION_NOT_FOUND");
    expect(deleted).toEqual(["a"]);
    expect((await session.tree()).size).toBe(1);
    await session.close();
    await vi.waitFor(() => expect(readdirSync(dirname(session.location ?? ""))).toEqual([]), {
      timeout: 30_000,
    });
  });

  test("does not follow a file that was renamed, and does not make another", async () => {
    const dir = temporaryDirectory();
    const session = await fileSessionStore({ dir }).create({ cwd: "/p", id: "a" });
    await session.appendMessage(userMessage("x"));
    const location = session.location ?? "";
    const moved = join(dir, "archive", basename(location));
    mkdirSync(dirname(moved));
    renameSync(location, moved);
    const text = readFileSync(moved, "utf8");
    expect(await codeOf(session.appendMessage(userMessage("y")))).toBe("SESSION_NOT_FOUND");
    await session.close();
    expect(existsSync(location)).toBe(false);
    expect(readFileSync(moved, "utf8")).toBe(text);
    const again = await fileSessionStore({ dir }).open("a", { mode: "write" });
    await again.appendMessage(userMessage("z"));
    await again.close();
  });

  // @covers durability:editor-overwrites durability:rewritten-file
  test("reads a file again that another program truncated or rewrote, and reports it", async () => {
    const dir = temporaryDirectory();
    const session = await fileSessionStore({ dir }).create({ cwd: "/p", id: "a" });
    const first = await session.appendMessage(userMessage("first"));
    const second = await session.appendMessage(userMessage("second"));
    const location = session.location ?? "";
    const text = readFileSync(location, "utf8");
    const end = text.indexOf("\n", text.indexOf(first.id)) + 1;
    truncateSync(location, end);
    await expect(session.appendMessage(userMessage("third"))).rejects.toMatchObject({
      code: "CONCURRENT_WRITER",
    });
    expect((await session.tree()).has(second.id)).toBe(false);
    expect(session.leafId).toBe(first.id);
    expect(session.diagnostics.map(({ code }) => code)).toEqual(["LOG_REPLACED"]);
    const third = await session.appendMessage(userMessage("third"));
    expect(third.parentId).toBe(first.id);
    // In place, and of the same size.
    writeFileSync(location, readFileSync(location, "utf8").replace('"third"', '"THIRD"'));
    await expect(session.appendMessage(userMessage("fourth"))).rejects.toMatchObject({
      code: "CONCURRENT_WRITER",
    });
    expect(await session.entry(third.id)).toMatchObject({ message: { content: "THIRD" } });
    await session.close();
  });

  test("goes on in a file that was emptied, under a header of its own again", async () => {
    const session = await fileSessionStore({ dir: temporaryDirectory() }).create({ cwd: "/p", id: "a" });
    await session.appendMessage(userMessage("gone"));
    truncateSync(session.location ?? "", 0);
    expect(await codeOf(session.appendMessage(userMessage("told")))).toBe("CONCURRENT_WRITER");
    expect([(await session.tree()).size, session.leafId]).toEqual([0, null]);
    const kept = [
      await session.appendMessage(userMessage("one")),
      await session.appendMessage(userMessage("two")),
    ];
    await session.close();
    const again = await openSessionFile(session.location ?? "");
    expect(again.header).toMatchObject({ id: "a", cwd: "/p" });
    expect((await again.tree()).path(again.leafId).map((node) => node.id)).toEqual(kept.map(({ id }) => id));
    expect(again.diagnostics).toEqual([]);
    await again.close();
  });

  test("lets the lock go soon after an append, and at once when it is closed", async () => {
    const dir = temporaryDirectory();
    const session = await fileSessionStore({ dir }).create({ cwd: "/p", id: "a" });
    await session.appendMessage(userMessage("x"));
    const lock = `${session.location}.lock`;
    expect(existsSync(lock)).toBe(true);
    await vi.waitFor(() => expect(existsSync(lock)).toBe(false), { timeout: 30_000, interval: 5 });
    await session.appendMessage(userMessage("y"));
    expect(existsSync(lock)).toBe(true);
    await session.close();
    expect(existsSync(lock)).toBe(false);
  });
});

describe("a program that ignores locks", () => {
  const theirs = (id: string, type = "message") =>
    lines(
      type === "message"
        ? entry(id, null, "theirs")
        : { type, id, parentId: null, timestamp: time, name: "theirs" },
    );

  test("between two appends: a conflict that names it, and nothing is lost", async () => {
    const session = await fileSessionStore({ dir: temporaryDirectory() }).create({ cwd: "/p" });
    const first = await session.appendMessage(userMessage("first"));
    appendFileSync(session.location ?? "", theirs("feedfeed"));
    await expect(session.appendMessage(userMessage("second"))).rejects.toMatchObject({
      code: "CONCURRENT_WRITER",
    });
    expect((await session.tree()).has("feedfeed")).toBe(true);
    const second = await session.appendMessage(userMessage("second"));
    expect(second.parentId).toBe(first.id);
    // What says nothing of the conversation is no conflict.
    appendFileSync(session.location ?? "", theirs("beefbeef", "session_info"));
    const third = await session.appendMessage(userMessage("third"));
    expect(third.parentId).toBe(second.id);
    expect(session.info.name).toBe("theirs");
    await session.close();
    const read = await openSessionFile(session.location ?? "");
    expect(read.diagnostics).toEqual([]);
    for (const id of [first.id, "feedfeed", second.id, "beefbeef", third.id])
      expect(await read.entry(id)).toBeDefined();
    await read.close();
  });

  test.each<[string, number, Durability]>([
    ["an append", 0, "disk"],
    ["an append in a run of them", 20, "os"],
  ])(
    "at the moment of %s: both stand, the meeting is reported, and the leaf stays ours",
    async (_, before, durability) => {
      // A run is one by the clock.
      vi.useFakeTimers({ toFake: ["Date"] });
      const dir = temporaryDirectory();
      let race: ((path: string) => void) | undefined;
      const disk = {
        ...nodeFileSystem,
        open(path: string, mode: "read" | "append" | "create") {
          const file = nodeFileSystem.open(path, mode);
          if (file === undefined || mode === "read" || !path.endsWith(".jsonl")) return file;
          return new Proxy(file, {
            get(target, name) {
              const value = Reflect.get(target, name, target);
              if (name !== "append") return typeof value === "function" ? value.bind(target) : value;
              return (bytes: Uint8Array) => {
                race?.(path);
                return target.append(bytes);
              };
            },
          });
        },
      };
      const session = await fileSessionStoreOn(disk, { dir, durability }).create({ cwd: "/p" });
      const ids: string[] = [];
      for (let at = 0; at < before; at++) ids.push((await session.appendMessage(userMessage("before"))).id);
      for (let at = 0; at < 5; at++) {
        race = (path) => appendFileSync(path, theirs(`feed000${at}`));
        if (at === 0) race = undefined;
        ids.push((await session.appendMessage(userMessage(`${at}`))).id);
        race = undefined;
        ids.push((await session.appendMessage(userMessage(`${at}, again`))).id);
      }
      expect(session.leafId).toBe(ids.at(-1));
      expect((await session.tree()).path(session.leafId).map((node) => node.id)).toEqual(ids);
      expect(session.diagnostics.map(({ code }) => code)).toEqual(Array(4).fill("FOREIGN_WRITE"));
      for (const id of [...ids, "feed0001", "feed0004"])
        expect(await session.entry(id)).toMatchObject({ id });
      await session.close();
      const read = await openSessionFile(session.location ?? "");
      expect(read.diagnostics).toEqual([]);
      expect((await read.tree()).size).toBe(before + 14);
      await read.close();
      vi.useRealTimers();
    },
  );
});

describe("an error of the system", () => {
  test("in the store's directory is STORAGE_FAILED with the system's code", async () => {
    let dir = temporaryDirectory();
    // Permissions do not hold root back; the kernel's own file system does.
    if (process.getuid?.() === 0) dir = "/sys/sessile";
    else chmodSync(dir, 0o000);
    const store = fileSessionStore({ dir });
    const refused = {
      code: "STORAGE_FAILED",
      details: {
        errno: expect.stringMatching(/^(EACCES|EPERM|EROFS|ENOENT)$/),
        path: expect.stringContaining(dir),
      },
    };
    const act = async () => {
      const session = await store.create({ cwd: "/p" });
      await session.appendMessage(userMessage("x"));
    };
    await expect(act()).rejects.toMatchObject(refused);
    if (process.getuid?.() !== 0) {
      await expect(collect(store)).rejects.toMatchObject(refused);
      chmodSync(dir, 0o700);
    }
  });
});

describe("a run of appends under durability os", () => {
  /** So many appends without a pause, then what another program does, then one more; false where no run was met. */
  async function runWith(foreign: string): Promise<{ session: Session; ids: string[]; error: unknown }> {
    const session = await fileSessionStore({ dir: temporaryDirectory(), durability: "os" }).create({
      cwd: "/p",
    });
    const ids: string[] = [];
    const say = async (text: string) => ids.push((await session.appendMessage(userMessage(text))).id);
    for (let i = 0; i < 200; i++) await say(`before ${i}`);
    appendFileSync(session.location as string, foreign);
    let error: unknown;
    try {
      await say("after");
    } catch (reason) {
      error = reason;
    }
    return { session, ids, error };
  }

  // @covers durability:foreign-writer
  test("loses nothing that was acknowledged when a program without locks adds half a line, or a whole one", async () => {
    const whole = `${JSON.stringify(entry("abcdef01", null, "theirs"))}\n`;
    for (let round = 0; round < 12; round++) {
      const { session, ids, error } = await runWith(round % 2 === 0 ? '{"half' : whole);
      if (error !== undefined) {
        expect(["CONCURRENT_WRITER", "WRITER_POISONED"]).toContain((error as { code?: string }).code);
      }
      const fresh = await openSessionFile(session.location as string);
      const tree = await fresh.tree();
      expect(ids.filter((id) => !tree.has(id))).toEqual([]);
      // Its own bodies are where it thinks they are.
      const path = (await session.tree()).path(ids.at(-1) as string);
      expect((await session.context(ids.at(-1))).items).toHaveLength(path.length);
      expect(await session.entry(ids.at(-1) as string)).toEqual(await fresh.entry(ids.at(-1) as string));
      await fresh.close();
      await session.close();
    }
  });
});
