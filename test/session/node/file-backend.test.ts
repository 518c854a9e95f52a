import {
  copyFileSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import {
  type BlobMark,
  collectGarbage,
  memorySessionStore,
  type SearchHit,
  type SessionQuery,
  type SessionStore,
  type SessionSummary,
  type StoredSession,
  sessionBlobRoots,
  userMessage,
} from "sessile";
import { fileBlobStore, fileSessionStore } from "sessile/node";
import { syncSessions } from "sessile/sync";
import { describe, expect, test } from "vitest";
import type { FileSystem } from "../../../src/core/node/file-system.js";
import { nodeFileSystem } from "../../../src/core/node/node-file-system.js";
import { FileLock } from "../../../src/storage/files/file-lock.js";
import { FileBackend, type FileBackendOptions } from "../../../src/storage/files/session-backend.js";
import {
  fileName,
  idOfPath,
  isOwnFileName,
  partitionDirectory,
  projectName,
  projectTest,
  storeDirectory,
  yieldWhenDue,
} from "../../../src/storage/files/session-files.js";
import { bulkSessionStore, fileSessionStoreOn } from "../../../src/storage/files/session-store.js";
import { fileClock } from "../../support/file-clock.js";
import { SimulatedDisk } from "../../support/simulated-disk.js";
import { temporaryDirectory } from "./temporary-directory.js";

const timestamp = "2026-01-02T03:04:05.678Z";

function backendOn(disk: SimulatedDisk, options: Partial<FileBackendOptions> = {}): FileBackend {
  return new FileBackend({
    dir: "/store",
    fs: disk,
    durability: "disk",
    times: { waitMs: 30, idleMs: 5, remoteLeaseMs: 30_000 },
    maxLineBytes: 1 << 20,
    now: () => 0,
    ...options,
  });
}

function header(id: string, cwd = "/p"): string {
  return `${JSON.stringify({ type: "session", version: 3, id, timestamp, cwd })}\n`;
}

async function listed(
  backend: FileBackend,
  query: Partial<Parameters<FileBackend["list"]>[0]> = {},
): Promise<StoredSession[]> {
  const found: StoredSession[] = [];
  for await (const session of backend.list({ partition: "", ...query })) found.push(session);
  return found;
}

async function create(backend: FileBackend, id: string, partition = "", cwd = "/p", at = timestamp) {
  const { log, position } = await backend.create({ id, partition, cwd, timestamp: at });
  await log.append([new TextEncoder().encode(header(id, cwd))], position);
  await log.close();
  return log.location;
}

// @covers R107
test("the path of a session has its time, id, project and partition", async () => {
  const disk = new SimulatedDisk();
  const backend = backendOn(disk);
  expect(await create(backend, "one", "", "/work/a")).toBe(
    "/store/--work-a--/2026-01-02T03-04-05-678Z_one.jsonl",
  );
  expect(await create(backend, "one", "tenant", "/work/a")).toBe(
    "/store/@tenant/--work-a--/2026-01-02T03-04-05-678Z_one.jsonl",
  );
  expect(disk.paths().length).toBe(2);
});

// @covers R133
test("creating stores nothing; an id is of one session in a partition, whatever its project and time", async () => {
  const disk = new SimulatedDisk();
  const backend = backendOn(disk);
  const first = await backend.create({ id: "a", partition: "", cwd: "/p", timestamp });
  const second = await backend.create({
    id: "a",
    partition: "",
    cwd: "/q",
    timestamp: "2026-02-02T00:00:00.000Z",
  });
  expect(disk.paths()).toEqual([]);
  await first.log.append([new TextEncoder().encode(header("a"))], first.position);
  const exists = { code: "SESSION_EXISTS", details: { id: "a" } };
  await expect(
    second.log.append([new TextEncoder().encode(header("a"))], second.position),
  ).rejects.toMatchObject(exists);
  await expect(create(backend, "a", "", "/r")).rejects.toMatchObject(exists);
  await create(backend, "a", "other");
  await first.log.close();
  await second.log.close();
  expect((await listed(backend)).map(({ id }) => id)).toEqual(["a"]);
});

test("a session is found by id in any project, in the partition asked for", async () => {
  const disk = new SimulatedDisk();
  const backend = backendOn(disk);
  const location = await create(backend, "one", "", "/work/a");
  await create(backend, "two", "tenant");
  expect((await backend.open("one", { partition: "" }))?.location).toBe(location);
  expect(await backend.open("two", { partition: "" })).toBeUndefined();
  expect(await backend.open("two", { partition: "none" })).toBeUndefined();
  expect(await backend.open("two", { partition: "tenant" })).toBeDefined();
  expect(await backendOn(new SimulatedDisk()).open("one", { partition: "" })).toBeUndefined();
});

// @covers durability:list-order
test("the list is by time of modification, then by id, and goes on behind any of them", async () => {
  const disk = new SimulatedDisk();
  let time = 1000;
  disk.clock = () => time;
  for (const [id, at] of Object.entries({ a: 5000, b: 3000.25, c: 3000.25, d: 3000.5, e: 1000 })) {
    time = at;
    disk.put(`/store/--p--/2026-01-02T03-04-05-678Z_${id}.jsonl`, header(id));
  }
  const backend = backendOn(disk);
  const all = await listed(backend);
  expect(all.map(({ id }) => id)).toEqual(["a", "d", "c", "b", "e"]);
  expect(all[0]).toMatchObject({ modifiedAt: 5000, size: header("a").length });
  for (const [index, { id, modifiedAt }] of all.entries()) {
    const rest = await listed(backend, { after: { id, modifiedAt } });
    expect(rest).toEqual(all.slice(index + 1));
  }
});

test("a list has only the sessions of its partition", async () => {
  const disk = new SimulatedDisk();
  const backend = backendOn(disk);
  const location = (await create(backend, "one")) ?? "";
  for (const name of [".lock", ".lock.wait", ".torn-x", ".old-x", ".tmp-x"])
    disk.put(`${location}${name}`, "x");
  disk.put("/store/notes.txt", "x");
  disk.put("/store/--p--/deeper/x.jsonl", header("deep"));
  disk.put("/store/@tenant/--p--/x_two.jsonl", header("two"));
  disk.put("/store/@tenant/x_three.jsonl", header("three"));
  disk.mkdir("/store/--p--/directory.jsonl");
  disk.put("/store/by-hand.jsonl", header("by-hand"));
  expect((await listed(backend)).map(({ id }) => id).sort()).toEqual(["by-hand", "one"]);
  expect((await listed(backend, { partition: "tenant" })).map(({ id }) => id).sort()).toEqual([
    "three",
    "two",
  ]);
});

test("a project's list leaves other projects' directories out, but for those that may be its own", async () => {
  const disk = new SimulatedDisk();
  const backend = backendOn(disk);
  const long = `/${"deep/".repeat(44)}end`;
  await create(backend, "mine", "", "/a/b");
  await create(backend, "same-name", "", "/a-b");
  await create(backend, "other", "", "/c");
  await create(backend, "long", "", long);
  // As pi has it, which cuts no name.
  disk.put(`/store/--${long.slice(1).replaceAll("/", "-")}--/x_pi-long.jsonl`, header("pi-long", long));
  disk.put("/store/elsewhere/x_moved.jsonl", header("moved", "/a/b"));
  expect((await listed(backend, { cwd: "/a/b" })).map(({ id }) => id).sort()).toEqual([
    "mine",
    "moved",
    "same-name",
  ]);
  expect((await listed(backend, { cwd: long })).map(({ id }) => id).sort()).toEqual([
    "long",
    "moved",
    "pi-long",
  ]);
});

test("others get turns of the event loop while many files are looked for, and may end it", async () => {
  const disk = new SimulatedDisk();
  for (let at = 0; at < 20; at++) disk.put(`/store/--p--/x_${at}.jsonl`, header(`${at}`));
  const controller = new AbortController();
  const stat = disk.stat.bind(disk);
  let stats = 0;
  disk.stat = (path) => {
    const until = performance.now() + 2;
    while (performance.now() < until);
    // A turn of others, in which somebody ends it.
    if (stats++ === 0) setImmediate(() => controller.abort(new Error("enough")));
    return stat(path);
  };
  await expect(listed(backendOn(disk), { signal: controller.signal })).rejects.toThrow("enough");
  expect(stats).toBeLessThan(20);
});

test("a session that goes while the list is read is left out, and an aborted list stops", async () => {
  const disk = new SimulatedDisk();
  const backend = backendOn(disk);
  // More than are read ahead.
  const ids = Array.from({ length: 20 }, (_, at) => `s${String(at).padStart(2, "0")}`);
  for (const id of ids) await create(backend, id);
  const seen: string[] = [];
  for await (const { id } of backend.list({ partition: "" })) {
    seen.push(id);
    if (id === "s19") await backend.delete("s02", { partition: "" });
  }
  expect(seen.toReversed()).toEqual(ids.filter((id) => id !== "s02"));
  const controller = new AbortController();
  const list = backend.list({ partition: "", signal: controller.signal });
  controller.abort("enough");
  await expect(
    (async () => {
      for await (const _ of list) expect.unreachable();
    })(),
  ).rejects.toBe("enough");
});

test("deleting waits for a writer, and returns whether the session existed", async () => {
  const disk = new SimulatedDisk();
  const location = (await create(backendOn(disk), "a")) ?? "";
  const times = { waitMs: 0, idleMs: 5, remoteLeaseMs: 30_000 };
  const writer = new FileLock(disk, `${location}.lock`, times);
  await writer.with(async () => {
    await expect(backendOn(disk).delete("a", { partition: "" })).rejects.toMatchObject({
      code: "SESSION_LOCKED",
    });
  });
  // The idle writer releases its lock, however late its timer is.
  const backend = backendOn(disk, { times: { ...times, waitMs: 60_000 } });
  expect(await backend.delete("a", { partition: "other" })).toBe(false);
  expect(await backend.delete("a", { partition: "" })).toBe(true);
  expect(await backend.delete("a", { partition: "" })).toBe(false);
  writer.release();
  expect(disk.paths()).toEqual([]);
});

test.each([
  ["open", "ENOSPC"],
  ["append", "ENOSPC"],
  ["append", "EDQUOT"],
] as const)(
  "a disk without room for a lock file (%s: %s) has its sessions deleted",
  async (operation, errno) => {
    const disk = new SimulatedDisk();
    const backend = backendOn(disk);
    await create(backend, "a");
    disk.failNext(operation, errno, (path) => path.endsWith(".lock"));
    expect(await backend.delete("a", { partition: "" })).toBe(true);
    expect(disk.paths()).toEqual([]);
    await create(backend, "b");
    disk.failNext(operation, "EACCES", (path) => path.endsWith(".lock"));
    await expect(backend.delete("b", { partition: "" })).rejects.toMatchObject({ code: "STORAGE_FAILED" });
  },
);

test.each(["stat", "open", "readSync"] as const)(
  "a file that the system refuses to %s is left out of the list, which says so",
  async (operation) => {
    const disk = new SimulatedDisk();
    const backend = backendOn(disk);
    const refused = await create(backend, "a");
    await create(backend, "b");
    disk.failNext(operation, "EIO", (path) => path === refused);
    const skipped: unknown[] = [];
    const ids = (await listed(backend, { skipped: (...each) => skipped.push(each) })).map(({ id }) => id);
    expect(ids).toEqual(["b"]);
    const details = { operation: "list", path: refused, errno: "EIO" };
    expect(skipped).toEqual([[refused, expect.objectContaining({ code: "STORAGE_FAILED", details })]]);
    expect((await listed(backend)).length).toBe(2);
  },
);

test("a project's directory that cannot be read costs only its own sessions, and no id is told to be free", async () => {
  const disk = new SimulatedDisk();
  await create(backendOn(disk), "a", "", "/a");
  await create(backendOn(disk), "b", "", "/b");
  const refuse = () => disk.failNext("list", "EACCES", (path) => path === "/store/--a--");
  const skipped: string[] = [];
  refuse();
  const found = await listed(backendOn(disk), { skipped: (location) => skipped.push(location) });
  expect([found.map(({ id }) => id), skipped]).toEqual([["b"], ["/store/--a--"]]);
  refuse();
  expect(await backendOn(disk).open("b", { partition: "" })).toBeDefined();
  for (const act of [
    () => backendOn(disk).open("a", { partition: "" }),
    () => create(backendOn(disk), "a"),
  ]) {
    refuse();
    await expect(act()).rejects.toMatchObject({ code: "STORAGE_FAILED", details: { errno: "EACCES" } });
  }
});

test("a session that was found is opened again without a look at any directory", async () => {
  const disk = new SimulatedDisk();
  const text = (id: string) => header(id);
  for (let at = 0; at < 50; at++) disk.put(`/store/--p${at % 5}--/x_${at}.jsonl`, text(`${at}`));
  disk.put("/store/--p0--/renamed.jsonl", text("by header"));
  const backend = backendOn(disk);
  const list = disk.list.bind(disk);
  let lists = 0;
  disk.list = (directory) => {
    lists++;
    return list(directory);
  };
  const opens = async (id: string) => {
    lists = 0;
    const log = await backend.open(id, { partition: "" });
    return [log?.location, lists];
  };
  expect(await opens("7")).toEqual(["/store/--p2--/x_7.jsonl", 6]);
  for (let at = 0; at < 50; at++) expect((await opens(`${at}`))[1]).toBe(0);
  expect(await opens("by header")).toEqual(["/store/--p0--/renamed.jsonl", 6]);
  expect(await opens("by header")).toEqual(["/store/--p0--/renamed.jsonl", 0]);
  // Moved, and replaced by another's.
  disk.rename("/store/--p2--/x_7.jsonl", "/store/--p3--/x_7.jsonl");
  disk.put("/store/--p2--/x_12.jsonl", text("other"));
  expect(await opens("7")).toEqual(["/store/--p3--/x_7.jsonl", 6]);
  expect(await opens("other")).toEqual(["/store/--p2--/x_12.jsonl", 6]);
  // The id of a session is the one in its header.
  expect(await opens("12")).toEqual([undefined, 6]);
  expect(await opens("none")).toEqual([undefined, 6]);
});

test("an error of the system is STORAGE_FAILED with its code", async () => {
  const disk = new SimulatedDisk();
  const backend = backendOn(disk);
  await create(backend, "a");
  // One that knows no file yet.
  const open = () => backendOn(disk).open("a", { partition: "" });
  const refused: [Parameters<SimulatedDisk["failNext"]>[0], () => Promise<unknown>, string][] = [
    ["list", () => listed(backend), "list"],
    ["list", open, "list"],
    ["list", () => create(backend, "b"), "list"],
    ["mkdir", () => create(backend, "b"), "append to"],
    ["unlink", () => backend.delete("a", { partition: "" }), "delete"],
  ];
  for (const [operation, act, name] of refused) {
    disk.failNext(operation, "EACCES");
    await expect(act()).rejects.toMatchObject({
      code: "STORAGE_FAILED",
      details: { operation: name, errno: "EACCES" },
    });
  }
  disk.put("/file", "");
  const inFile = backendOn(disk, { dir: "/file" });
  await expect(inFile.open("a", { partition: "" })).rejects.toMatchObject({ details: { errno: "ENOTDIR" } });
  await expect(create(inFile, "a")).rejects.toMatchObject({ code: "STORAGE_FAILED" });
});

describe("which files are sessions", () => {
  async function rows(store: SessionStore, query?: SessionQuery): Promise<SessionSummary[]> {
    const found: SessionSummary[] = [];
    for await (const row of store.list(query)) found.push(row);
    return found;
  }

  async function write(store: SessionStore, id: string, cwd: string, partition = ""): Promise<string> {
    const session = await store.create({ cwd, id, partition });
    await session.appendMessage(userMessage(`said in ${id}`));
    await session.close();
    return session.location ?? "";
  }

  /** A store with a project whose directory is a link to one elsewhere. */
  function linked(): { readonly dir: string; readonly elsewhere: string; readonly store: SessionStore } {
    const root = temporaryDirectory();
    const dir = join(root, "store");
    const elsewhere = join(root, "elsewhere");
    mkdirSync(dir);
    mkdirSync(elsewhere);
    symlinkSync(elsewhere, join(dir, "--p--"));
    return { dir, elsewhere, store: fileSessionStore({ dir }) };
  }

  describe("a project's directory that is a link", () => {
    // @covers R107 durability:linked-directory security:store-links
    test("is followed by every call", async () => {
      const { dir, elsewhere, store } = linked();
      const location = await write(store, "a", "/p");
      expect(readdirSync(elsewhere)).toHaveLength(1);
      const other = fileSessionStore({ dir });
      for (const query of [{}, { cwd: "/p" }, { stats: true }]) {
        expect(await rows(other, query)).toMatchObject([{ id: "a", location }]);
      }
      expect(await other.latest({ cwd: "/p" })).toMatchObject({ id: "a" });
      await expect(write(other, "a", "/p")).rejects.toMatchObject({ code: "SESSION_EXISTS" });
      await expect(write(fileSessionStore({ dir }), "a", "/q")).rejects.toMatchObject({
        code: "SESSION_EXISTS",
      });
      const session = await other.open("a", { mode: "write" });
      await session.appendMessage(userMessage("more"));
      expect((await session.tree()).size).toBe(2);
      await session.close();
      expect((await other.archive("a")).time.archived).toBeDefined();
      const fork = await fileSessionStore({ dir }).fork("a", { id: "b" });
      expect(fork.location?.startsWith(join(dir, "--p--"))).toBe(true);
      await fork.close();
      expect(await fileSessionStore({ dir }).delete("a")).toBe(true);
      expect(readdirSync(elsewhere)).toHaveLength(1);
    });

    // @covers durability:linked-directory
    test("costs no blob of its sessions in a collection by a list", async () => {
      const { dir, elsewhere, store } = linked();
      const blobs = fileBlobStore({ dir: join(elsewhere, "..", "blobs") });
      const named = await blobs.put(new TextEncoder().encode("named"));
      const session = await store.create({ cwd: "/p", id: "a" });
      await session.appendMessage(userMessage(`see ${named.ref}`));
      await session.close();
      const collector = fileSessionStore({ dir });
      const marks: BlobMark[] = [];
      collector.on("skipped", ({ location, error }) => {
        marks.push({ root: location, refs: [], complete: false, reason: error.code });
      });
      for (const { location = "" } of await rows(collector)) {
        marks.push(await sessionBlobRoots(location, readFileSync(location)));
      }
      const later = () => fileClock() + 7 * 24 * 3_600_000;
      await collectGarbage(blobs, { marks, now: later });
      await collectGarbage(blobs, { marks, now: () => later() * 2 });
      expect(await blobs.stat(named.ref)).toBeDefined();
      // What cannot be read is no reason to go on without it.
      renameSync(elsewhere, `${elsewhere}-gone`);
      marks.length = 0;
      expect(await rows(collector)).toEqual([]);
      await expect(collectGarbage(blobs, { marks, now: later })).rejects.toMatchObject({
        code: "COLLECTION_REFUSED",
      });
      expect(await blobs.stat(named.ref)).toBeDefined();
    });

    // @covers durability:linked-directory
    test("shows no session twice, and leads into no circle", async () => {
      const { dir, elsewhere, store } = linked();
      await write(store, "linked", "/p");
      await write(store, "own", "/q");
      copyFileSync(
        (await rows(store)).find(({ id }) => id === "own")?.location ?? "",
        join(dir, "x_top.jsonl"),
      );
      symlinkSync(dir, join(dir, "--loop--"));
      symlinkSync(".", join(dir, "loop"));
      symlinkSync(elsewhere, join(dir, "again"));
      symlinkSync(join(dir, "--q--"), join(dir, "--a--"));
      symlinkSync("itself", join(dir, "itself"));
      symlinkSync(dir, join(elsewhere, "up"));
      const skipped: string[] = [];
      const other = fileSessionStore({ dir });
      other.on("skipped", ({ location }) => skipped.push(location));
      expect((await rows(other)).map(({ id }) => id).sort()).toEqual(["linked", "own", "own"]);
      expect(skipped).toEqual([join(dir, "itself")]);
      // By the name of its project, a session is found behind its link.
      await write(other, "through", "/a");
      expect((await rows(other, { cwd: "/a" })).map(({ id }) => id)).toEqual(["through"]);
      expect((await rows(other)).map(({ id }) => id).sort()).toEqual(["linked", "own", "own", "through"]);
      expect(await other.delete("through")).toBe(true);
    });
  });

  describe("a file that is a link", () => {
    // @covers durability:unreadable-file security:store-links
    test("is not a session for any call, and the list reports it as skipped", async () => {
      const dir = temporaryDirectory();
      const store = fileSessionStore({ dir });
      const location = await write(store, "a", "/p");
      renameSync(location, join(dir, "moved.log"));
      for (const link of [location, join(dir, "x_a.jsonl")]) symlinkSync(join(dir, "moved.log"), link);
      symlinkSync(join(dir, "nothing"), join(dir, "x_b.jsonl"));
      for (const each of [store, fileSessionStore({ dir })]) {
        const skipped: unknown[] = [];
        each.on("skipped", ({ location: path, error }) => skipped.push([path, error.code]));
        expect(await rows(each)).toEqual([]);
        expect(skipped.sort()).toEqual(
          [location, join(dir, "x_a.jsonl"), join(dir, "x_b.jsonl")]
            .map((path) => [path, "NOT_A_FILE"])
            .sort(),
        );
        for (const ref of ["a", { id: "a", location }]) {
          await expect(each.open(ref)).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
          await expect(each.fork(ref)).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
          expect(await each.delete(ref)).toBe(false);
        }
      }
      await write(store, "a", "/p");
    });
  });

  describe("a project's directory that is reached by a link", () => {
    test("is found from the link and from the directory, and stays what it was", async () => {
      const root = temporaryDirectory();
      const [real, other, link] = ["real", "other", "link"].map((name) => join(root, name)) as [
        string,
        string,
        string,
      ];
      mkdirSync(real);
      mkdirSync(other);
      symlinkSync(real, link);
      const store = fileSessionStore({ dir: join(root, "store") });
      await write(store, "direct", `${real}/`);
      await write(store, "linked", link);
      const fork = await store.fork("direct", { id: "forked", cwd: link });
      await fork.close();
      const ids = async (cwd: string) => (await rows(store, { cwd })).map(({ id }) => id).sort();
      const all = ["direct", "forked", "linked"];
      for (const cwd of [real, link, `${link}/.`]) {
        expect(await ids(cwd)).toEqual(all);
        const hits: SearchHit[] = [];
        for await (const hit of store.search({ text: "said", cwd })) hits.push(hit);
        expect(new Set(hits.map(({ sessionId }) => sessionId))).toEqual(new Set(all));
      }
      renameSync(link, `${link}-old`);
      symlinkSync(other, link);
      expect(await ids(real)).toEqual(all);
      expect(await ids(link)).toEqual([]);
    });

    test("a session from before that names the link is found from the link", async () => {
      const root = temporaryDirectory();
      const [real, link] = [join(root, "real"), join(root, "link")];
      mkdirSync(real);
      symlinkSync(real, link);
      const directory = join(root, "store", projectName(link));
      mkdirSync(directory, { recursive: true });
      writeFileSync(join(directory, "x_a.jsonl"), header("a", link));
      const store = fileSessionStore({ dir: join(root, "store") });
      expect((await rows(store, { cwd: link })).map(({ id }) => id)).toEqual(["a"]);
    });
  });

  test("a directory with a NUL is refused; a header that has one is listed, opened and copied", async () => {
    const dir = temporaryDirectory();
    const store = fileSessionStore({ dir });
    const refused = { code: "INVALID_ENTRY", details: { path: "cwd" } };
    await write(store, "a", "/p");
    for (const act of [
      () => store.create({ cwd: "/p\0" }),
      () => store.fork("a", { cwd: "\0" }),
      () => memorySessionStore().create({ cwd: "/p\0q" }),
    ])
      await expect(act()).rejects.toMatchObject(refused);
    writeFileSync(join(dir, "x_b.jsonl"), header("b", "/p\0"));
    expect((await rows(store, { cwd: "/p\0" })).map(({ id }) => id)).toEqual(["b"]);
    const fork = await store.fork("b");
    expect(fork.header.cwd).toBe("/p\0");
    await fork.close();
  });

  test("a session of a time to come is the latest only without another one", async () => {
    const dir = temporaryDirectory();
    const store = fileSessionStore({ dir, now: fileClock });
    const future = await write(store, "future", "/p");
    const far = 4_070_908_800;
    utimesSync(future, far, far);
    expect((await store.latest())?.id).toBe("future");
    const past = await write(store, "past", "/p");
    utimesSync(past, 1000, 1000);
    await write(store, "now", "/p");
    expect((await rows(store)).map(({ id }) => id)).toEqual(["now", "future", "past"]);
    expect((await store.latest())?.id).toBe("now");
    const pages: string[] = [];
    for (let after: string | undefined; ; ) {
      const [row] = await rows(store, { limit: 1, ...(after === undefined ? {} : { after }) });
      if (row === undefined) break;
      pages.push(row.id);
      after = row.cursor;
    }
    expect(pages).toEqual(["now", "future", "past"]);
  });

  test("a clock that was ahead when a session was written does not make it the latest", async () => {
    let time = 4_000_000_000_000;
    const store = memorySessionStore({ now: () => time });
    await write(store, "ahead", "/p");
    time = 1_000_000_000_000;
    expect((await store.latest())?.id).toBe("ahead");
    await write(store, "now", "/p");
    await write(store, "newest", "/p");
    expect((await store.latest())?.id).toMatch(/now|newest/);
    expect((await store.latest({ archived: true }))?.id).toBeUndefined();
  });

  describe("a session whose file has another name", () => {
    test("and a copy of it, is found at its place by list, search and copies", async () => {
      const dir = temporaryDirectory();
      const store = fileSessionStore({ dir });
      const location = await write(store, "a", "/p");
      const copies = [" (conflicted copy)", ".sync-conflict-1", " 2"].map((end) =>
        location.replace(".jsonl", `${end}.jsonl`),
      );
      for (const copy of copies) copyFileSync(location, copy);
      const all = [location, ...copies].sort();
      const listed = await rows(store);
      expect(listed.map((row) => [row.id, row.location]).sort()).toEqual(all.map((path) => ["a", path]));
      const hits: SearchHit[] = [];
      for await (const hit of store.search({ text: "said" })) hits.push(hit);
      expect(hits.map((hit) => [hit.sessionId, hit.location]).sort()).toEqual(all.map((path) => ["a", path]));
      for (const row of listed) {
        const session = await store.open(row);
        expect([session.id, session.location]).toEqual(["a", row.location]);
        await session.close();
      }
      // A sync of the store has the newest of the files, as a list does.
      const newest = copies[1] ?? "";
      const written = await store.open({ id: "a", location: newest }, { mode: "write" });
      await written.appendMessage(userMessage("newest"));
      await written.close();
      const target = memorySessionStore();
      await syncSessions(store, target);
      const synced = await target.open("a");
      expect((await synced.tree()).size).toBe(2);
      const there = await target.open("a", { mode: "write" });
      await there.appendMessage(userMessage("there"));
      await syncSessions(store, target);
      expect(readFileSync(newest, "utf8")).toContain("there");
      expect(readFileSync(location, "utf8")).not.toContain("there");
      // The id alone is the file with the id in its name.
      const session = await store.open("a");
      expect(session.location).toBe(location);
      await session.close();
      expect(await store.delete("a")).toBe(true);
      expect((await rows(store)).map((row) => row.location).sort()).toEqual([...copies].sort());
      const [first] = [...copies].sort();
      const left = await store.open("a");
      expect(left.location).toBe(first);
      await left.close();
    });

    test("has one id, that of its header, for every call", async () => {
      const dir = temporaryDirectory();
      const store = fileSessionStore({ dir });
      for (const [id, name] of [
        ["a", "by hand.jsonl"],
        ["b", "2026-01-02T03-04-05-678Z_z.jsonl"],
      ] as const) {
        const location = await write(store, id, "/p");
        renameSync(location, join(dir, "--p--", name));
        const other = fileSessionStore({ dir });
        const row = (await rows(other)).find((each) => each.id === id);
        expect(row?.location).toBe(join(dir, "--p--", name));
        for (const ref of [id, row as SessionSummary]) {
          const session = await other.open(ref);
          expect(session.id).toBe(id);
          const fork = await other.fork(session.id);
          await fork.close();
          await session.close();
          expect(await other.delete(fork)).toBe(true);
        }
        expect((await other.archive(id)).time.archived).toBeDefined();
      }
      await expect(write(fileSessionStore({ dir }), "a", "/q")).rejects.toMatchObject({
        code: "SESSION_EXISTS",
      });
      const hits: SearchHit[] = [];
      for await (const hit of store.search({ text: "said" })) hits.push(hit);
      expect(hits.map(({ sessionId }) => sessionId).sort()).toEqual(["a", "b"]);
      // The id in the name of b's file is no session's.
      await expect(store.open("z")).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
      const renamed = join(dir, "--p--", "2026-01-02T03-04-05-678Z_z.jsonl");
      expect(await store.delete({ id: "z", location: renamed })).toBe(false);
      await write(store, "z", "/p");
      const real = await store.open("z");
      expect(real.id).toBe("z");
      await real.close();
      expect(await store.delete("z")).toBe(true);
      expect(await store.delete("b")).toBe(true);
      expect(await store.delete("a")).toBe(true);
      expect(await rows(store)).toEqual([]);
    });

    test("and the id of another is told from it by its place", async () => {
      const dir = temporaryDirectory();
      const store = fileSessionStore({ dir });
      const location = await write(store, "a", "/p");
      const copy = join(dir, "copy.jsonl");
      copyFileSync(location, copy);
      for (const path of [location, copy]) utimesSync(path, 1000, 1000);
      const session = await store.open({ id: "a", location: copy }, { mode: "write" });
      await session.appendMessage(userMessage("only here"));
      const deleted: string[] = [];
      session.on("deleted", ({ id }) => deleted.push(id));
      for (const path of [location, copy]) utimesSync(path, 1000, 1000);
      const counted = await rows(store, { stats: true });
      expect(counted.map((row) => [row.location, row.counts?.messages]).sort()).toEqual(
        [
          [location, 1],
          [copy, 2],
        ].sort(),
      );
      const pages = [await rows(store, { limit: 1 })];
      pages.push(await rows(store, { after: pages[0]?.[0]?.cursor ?? "" }));
      expect(pages.map((page) => page.length)).toEqual([1, 1]);
      expect(pages[0]?.[0]?.location).not.toBe(pages[1]?.[0]?.location);
      expect(await store.delete({ id: "a", location })).toBe(true);
      expect(deleted).toEqual([]);
      expect(await store.delete({ id: "a", location })).toBe(false);
      expect(await store.delete({ id: "a", location: copy })).toBe(true);
      expect(deleted).toEqual(["a"]);
      await session.close();
    });

    test("and a location outside the store, or in another partition, is not found", async () => {
      const root = temporaryDirectory();
      const dir = join(root, "store");
      const store = fileSessionStore({ dir });
      const location = await write(store, "a", "/p", "tenant");
      await write(fileSessionStore({ dir: join(root, "other") }), "a", "/p");
      const [outside] = await rows(fileSessionStore({ dir: join(root, "other") }));
      mkdirSync(join(dir, "--p--", "deep"), { recursive: true });
      copyFileSync(location, join(dir, "--p--", "deep", "x_a.jsonl"));
      copyFileSync(location, join(dir, "x_a.txt"));
      linkSync(location, join(root, "x_a.jsonl"));
      copyFileSync(location, join(dir, "@tenant", "x_a.jsonl"));
      for (const path of [
        location,
        outside?.location ?? "",
        join(dir, "--p--", "deep", "x_a.jsonl"),
        join(dir, "x_a.txt"),
        join(dir, "..", "x_a.jsonl"),
        join(dir, "@tenant", "x_a.jsonl"),
        join(dir, "--p--"),
        dir,
      ]) {
        await expect(store.open({ id: "a", location: path })).rejects.toMatchObject({
          code: "SESSION_NOT_FOUND",
        });
        expect(await store.delete({ id: "a", location: path })).toBe(false);
      }
      await (await store.open({ id: "a", location }, { partition: "tenant" })).close();
      for (const ref of [{ location }, { id: "a", location: "" }, { id: "a", location: 1 }, null]) {
        await expect(store.open(ref as never)).rejects.toBeInstanceOf(TypeError);
      }
    });
  });

  // @covers durability:unreadable-file
  test("a list skips files that it cannot read, and reports them", async () => {
    const dir = temporaryDirectory();
    await write(fileSessionStore({ dir }), "good", "/p");
    writeFileSync(join(dir, "x_empty.jsonl"), "");
    writeFileSync(join(dir, "x_garbage.jsonl"), "x\n".repeat(100_000));
    writeFileSync(
      join(dir, "x_denied.jsonl"),
      readFileSync((await rows(fileSessionStore({ dir })))[0]?.location ?? ""),
    );
    mkdirSync(join(dir, "--p--", "x_directory.jsonl"));
    const open: FileSystem["open"] = (path, mode) => {
      if (path.endsWith("x_denied.jsonl")) throw Object.assign(new Error("EACCES"), { code: "EACCES" });
      return nodeFileSystem.open(path, mode);
    };
    const store = fileSessionStoreOn({ ...nodeFileSystem, open }, { dir });
    const skipped = new Map<string, string>();
    store.on("skipped", ({ location, error }) => skipped.set(location, error.code));
    expect((await rows(store)).map(({ id }) => id)).toEqual(["good"]);
    expect(skipped).toEqual(
      new Map([
        [join(dir, "--p--", "x_directory.jsonl"), "NOT_A_FILE"],
        [join(dir, "x_denied.jsonl"), "STORAGE_FAILED"],
        [join(dir, "x_empty.jsonl"), "EMPTY"],
        [join(dir, "x_garbage.jsonl"), "NO_HEADER"],
      ]),
    );
  });

  test("partitions whose names differ only in case share nothing if the file system ignores case", async () => {
    const dir = temporaryDirectory();
    const below = (path: string) => path.replace(/@[^/]*/, (name) => name.toLowerCase());
    /** As macOS and Windows have it. */
    const disk: FileSystem = {
      ...nodeFileSystem,
      open: (path, mode) => nodeFileSystem.open(below(path), mode),
      stat: (path) => nodeFileSystem.stat(below(path)),
      lstat: (path) => nodeFileSystem.lstat(below(path)),
      list: (path) => nodeFileSystem.list(below(path)),
      mkdir: (path) => nodeFileSystem.mkdir(below(path)),
      rename: (from, to) => nodeFileSystem.rename(below(from), below(to)),
      link: (from, to) => nodeFileSystem.link(below(from), below(to)),
      unlink: (path) => nodeFileSystem.unlink(below(path)),
      touch: (path) => nodeFileSystem.touch(below(path)),
      syncDirectory: (path) => nodeFileSystem.syncDirectory(below(path)),
    };
    const store = fileSessionStoreOn(disk, { dir });
    for (const partition of ["tenant", "Tenant", "TENANT"]) {
      await write(store, `of-${partition.toLowerCase()}`, "/p", partition);
    }
    for (const partition of ["tenant", "Tenant", "TENANT"]) {
      expect((await rows(store, { partition })).map(({ id }) => id)).toEqual(["of-tenant"]);
    }
    expect(await store.delete("of-tenant", { partition: "Tenant" })).toBe(true);
    expect(await rows(store, { partition: "Tenant" })).toEqual([]);
    expect(await rows(store, { partition: "tenant" })).toHaveLength(1);
  });

  test("a turn of the event loop is due 4 ms after the last one", async () => {
    let time = 0;
    let turns = 0;
    const yieldIfDue = yieldWhenDue(() => time);
    expect(yieldIfDue()).toBeUndefined();
    for (let round = 1; round < 4; round++) {
      time += 3;
      expect(yieldIfDue()).toBeUndefined();
      time += 1;
      const due = yieldIfDue();
      setImmediate(() => turns++);
      await due;
      await new Promise((resolve) => setImmediate(resolve));
      expect([yieldIfDue(), turns]).toEqual([undefined, round]);
    }
  });
});

describe("the layout", () => {
  test("a project's directory is named as pi names it", () => {
    expect(projectName("/home/me/my project")).toBe("--home-me-my project--");
    expect(projectName("C:\\work\\a")).toBe("--C--work-a--");
    expect(projectName("/")).toBe("----");
    // Two projects with one name: a reader goes by the header.
    expect(projectName("/a/b")).toBe(projectName("/a-b"));
  });

  test("a project's directory name fits a file name, is one, and differs where it had to be cut", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", minLength: 1, maxLength: 400 }), (path) => {
        const name = projectName(`/${path}`);
        expect(Buffer.byteLength(name)).toBeLessThanOrEqual(204);
        expect(name).not.toMatch(/[/\\:]/);
        expect(name.isWellFormed()).toBe(true);
        if (Buffer.byteLength(path) > 200) expect(projectName(`/${path}x`)).not.toBe(name);
      }),
    );
    const long = `/${"é".repeat(150)}`;
    for (const spelling of [long, `${long}/`, `/./${long}`, long.normalize("NFD")]) {
      expect(projectTest([long])(projectName(spelling))).toBe(true);
      expect(projectTest([spelling])(projectName(long))).toBe(true);
    }
    // pi cuts no name.
    expect(projectTest([long])(`--${"é".repeat(150)}--`)).toBe(true);
    expect(projectTest([`/${"e".repeat(300)}`])(projectName(long))).toBe(false);
    expect(projectTest(["/a"])("--a--")).toBe(true);
    expect(projectTest(["/a"])("--b--")).toBe(false);
    expect(projectName(long)).toMatch(/^--é{95}-[0-9a-f]{8}--$/);
  });

  test("the id of a session is in its file's name", () => {
    const stamp = "2026-01-02T03:04:05.678Z";
    expect(fileName("my_id.1", stamp)).toBe("2026-01-02T03-04-05-678Z_my_id.1.jsonl");
    for (const id of ["a", "my_id.1", "0196f3a0-0000-7000-8000-000000000000"]) {
      expect(idOfPath(fileName(id, stamp))).toBe(id);
    }
    expect(idOfPath("by-hand.jsonl")).toBe("by-hand");
  });

  test("a file name of the store's own is told from one that a person gave", () => {
    expect(isOwnFileName(fileName("my_id.1", "2026-01-02T03:04:05.678Z"))).toBe(true);
    for (const name of ["by-hand.jsonl", "2026_a.jsonl", "2026-01-02T03-04-05-678Z_a (copy).jsonl", "a.txt"])
      expect(isOwnFileName(name)).toBe(false);
  });

  test("a sidecar file of a session is not a session", () => {
    const name = fileName("a", "2026-01-02T03:04:05.678Z");
    for (const ending of [".lock", ".lock.wait", ".lock.stale-1", ".torn-1", ".old-1", ".tmp-1"]) {
      expect(idOfPath(name + ending)).toBeUndefined();
    }
    expect(idOfPath("a.txt")).toBeUndefined();
  });

  test("partitions are directories that no project has", () => {
    expect(partitionDirectory("/s", "")).toBe("/s");
    expect(partitionDirectory("/s", "tenant")).toBe("/s/@tenant");
    expect(partitionDirectory("/s", "Tenant")).toBe("/s/@!tenant");
  });

  test("a file in a project's directory belongs to the store above it", () => {
    expect(storeDirectory("/s/--a-b--/x.jsonl")).toBe("/s");
    expect(storeDirectory("/s/@p/--a-b--/x.jsonl")).toBe("/s/@p");
    expect(storeDirectory("/elsewhere/x.jsonl")).toBe("/elsewhere");
  });
});

describe("a store that adopts many sessions", () => {
  const entry = (id: string, parentId: string | null) =>
    ({ type: "custom", customType: "x", id, parentId, timestamp }) as const;
  const adoptable = (id: string, cwd = "/p") => ({
    header: { type: "session", version: 3, id, timestamp, cwd } as const,
    entries: [entry("a", null), entry("b", "a")],
    leafId: "b",
  });
  const adopt = async (store: SessionStore, id: string, cwd?: string) => {
    const session = await store.adopt(adoptable(id, cwd), { existing: "append" });
    await session.close();
    return session.location;
  };
  const files = (dir: string) =>
    readdirSync(dir, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".jsonl"));

  test("finds each that is there, also under another project or name, and whose header is lost", async () => {
    const dir = temporaryDirectory();
    const usual = fileSessionStore({ dir });
    const places = [];
    for (const id of ["one", "two", "three", "four"]) places.push(await adopt(usual, id));
    const [one = "", two = "", three = ""] = places as string[];
    renameSync(one, one.replace("_one", "_other"));
    renameSync(two, join(dir, "copied.jsonl"));
    writeFileSync(three, "");
    const bulk = bulkSessionStore({ dir });
    // The first id is that of no file, so that later ones are found without a listing.
    await adopt(bulk, "new");
    for await (const _ of bulk.list());
    expect(await adopt(bulk, "one")).toBe(one.replace("_one", "_other"));
    expect(await adopt(bulk, "two")).toBe(join(dir, "copied.jsonl"));
    await expect(adopt(bulk, "three")).rejects.toMatchObject({ code: "EMPTY" });
    expect(await adopt(bulk, "four", "/elsewhere")).toBe(places[3]);
    expect(files(dir)).toHaveLength(5);
  });

  test("and another one make one file of a session that both adopt", async () => {
    const dir = temporaryDirectory();
    const stores = [bulkSessionStore({ dir }), bulkSessionStore({ dir })] as const;
    await adopt(stores[0], "first");
    await adopt(stores[1], "second");
    for (const id of ["third", "fourth"]) await Promise.all(stores.map((store) => adopt(store, id)));
    await adopt(stores[0], "fifth");
    await adopt(stores[1], "fifth");
    expect(files(dir)).toHaveLength(5);
  });
});
