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
import { describe, expect, test } from "vitest";
import { type BlobMark, collectGarbage } from "../../../src/blobs/index.js";
import { fileBlobStore } from "../../../src/blobs/node/index.js";
import { userMessage } from "../../../src/content/index.js";
import type { FileSystem } from "../../../src/internal/node/file-system.js";
import { nodeFileSystem } from "../../../src/internal/node/node-file-system.js";
import type { SessionQuery, SessionStore, SessionSummary } from "../../../src/session/api/types.js";
import { fileSessionStoreOn } from "../../../src/session/node/file-store.js";
import { fileSessionStore } from "../../../src/session/node/index.js";
import { yieldWhenDue } from "../../../src/session/node/session-files.js";
import { sessionBlobRoots } from "../../../src/session/store/blob-roots.js";
import { temporaryDirectory } from "./temporary-directory.js";

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
    expect(session.tree.size).toBe(2);
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
    const later = () => Date.now() + 7 * 24 * 3_600_000;
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
  test("is no session to any call, and the list says so", async () => {
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
        [location, join(dir, "x_a.jsonl"), join(dir, "x_b.jsonl")].map((path) => [path, "NOT_A_FILE"]).sort(),
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

describe("a session whose file has another name", () => {
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
    // A name is believed only where no header has the id.
    const named = await store.open("z");
    expect(named.id).toBe("b");
    await named.close();
    await expect(write(store, "z", "/p")).rejects.toMatchObject({ code: "SESSION_EXISTS" });
    expect(await store.delete({ id: "z", location: named.location })).toBe(false);
    writeFileSync(
      join(dir, "other.jsonl"),
      readFileSync(named.location ?? "", "utf8").replace('"id":"b"', '"id":"z"'),
    );
    const real = await store.open("z");
    expect([real.id, real.location]).toEqual(["z", join(dir, "other.jsonl")]);
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

  test("and a place outside the store, or in another partition, is none", async () => {
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
test("a list passes over what it cannot read, and says what", async () => {
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

test("partitions whose names differ only in case share nothing where the file system ignores case", async () => {
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
