import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  blobStore,
  collectGarbage,
  deletePartition,
  memoryBlobStore,
  memorySessionStore,
  type SessionStore,
  sessionStore,
  userMessage,
} from "sessile";
import { SessileError } from "sessile/errors";
import { fileBlobStore, fileSessionStore } from "sessile/node";
import { r2BlobBackend } from "sessile/r2";
import { describe, expect, test } from "vitest";
import { MemoryBucket } from "../r2/bucket.js";
import { canary, filesWithCanary } from "../support/canary.js";
import { temporaryDirectory } from "./node/temporary-directory.js";

const partitions = ["acme", "acme.co", "Acme", ""];
const bytesOf = (text: string) => new TextEncoder().encode(`${text} ${canary}`);

/** Each partition with two sessions. */
async function fill(store: SessionStore): Promise<void> {
  for (const partition of partitions) {
    for (const id of ["one", "two"]) {
      const session = await store.create({ cwd: `/${id}`, id, partition });
      await session.appendMessage(userMessage(`${partition} ${canary}`));
      await session.close();
    }
  }
}

async function idsIn(store: SessionStore, partition: string): Promise<readonly string[]> {
  const ids: string[] = [];
  for await (const { id } of store.list({ partition })) ids.push(id);
  return ids.sort();
}

const kinds: Readonly<Record<string, () => SessionStore>> = {
  memory: () => memorySessionStore(),
  files: () => fileSessionStore({ dir: temporaryDirectory() }),
  "a backend without deletePartition": () => {
    const { backend } = memorySessionStore();
    return sessionStore({
      create: (session) => backend.create(session),
      open: (id, options) => backend.open(id, options),
      list: (query) => backend.list(query),
      delete: (id, options) => backend.delete(id, options),
    });
  },
};

test("deletePartition finds a session that another writer moves to the begin of the list", async () => {
  const { backend } = memorySessionStore();
  const store = sessionStore(backend);
  await fill(store);
  let lists = 0;
  const { deleted, left } = { deleted: [] as string[], left: ["two", "one"] };
  const paged = sessionStore({
    create: (session) => backend.create(session),
    open: (id, options) => backend.open(id, options),
    async *list(query) {
      lists++;
      // A session that was listed in the place of this one is behind the cursor.
      for await (const stored of backend.list(query)) if (stored.id === left.at(-1)) yield stored;
      left.pop();
    },
    delete: (id, options) => {
      deleted.push(id);
      return backend.delete(id, options);
    },
  });
  expect((await deletePartition(paged, "acme")).sessions).toBe(2);
  expect([deleted, lists]).toEqual([["one", "two"], 3]);
});

describe.each(Object.entries(kinds))("deletePartition in %s", (_, make) => {
  test("deletes the sessions of one partition, and a handle is told", async () => {
    const store = make();
    await fill(store);
    const handle = await store.open("one", { mode: "write", partition: "acme" });
    const reader = await store.open("two", { partition: "acme" });
    expect(await deletePartition(store, "acme")).toMatchObject({ partition: "acme", sessions: 2 });
    expect(await idsIn(store, "acme")).toEqual([]);
    for (const partition of partitions.slice(1))
      expect(await idsIn(store, partition)).toEqual(["one", "two"]);
    await expect(handle.appendMessage(userMessage("more"))).rejects.toMatchObject({
      code: "SESSION_NOT_FOUND",
    });
    await expect(store.open("two", { partition: "acme" })).rejects.toMatchObject({
      code: "SESSION_NOT_FOUND",
    });
    await handle.close();
    await reader.close();
    expect(await deletePartition(store, "acme")).toMatchObject({ sessions: 0 });
    const again = await store.create({ cwd: "/", id: "one", partition: "acme" });
    await again.appendMessage(userMessage("a new tenant"));
    await again.close();
    expect(await idsIn(store, "acme")).toEqual(["one"]);
  });

  test("refuses the unnamed partition, and what is no name", async () => {
    const store = make();
    await fill(store);
    for (const name of ["", "..", "a/b", undefined as never])
      await expect(deletePartition(store, name)).rejects.toThrow(TypeError);
    expect(await idsIn(store, "")).toEqual(["one", "two"]);
  });
});

test("deletePartition with files: damaged sessions, copies, and what an earlier call left, go too", async () => {
  const dir = temporaryDirectory();
  const store = fileSessionStore({ dir });
  const session = await store.create({ cwd: "/p", id: "s", partition: "acme" });
  await session.appendMessage(userMessage(canary));
  const path = session.location as string;
  await session.close();
  writeFileSync(`${path}.old-2026`, canary);
  writeFileSync(join(dirname(path), "broken.jsonl"), canary);
  const elsewhere = temporaryDirectory();
  writeFileSync(join(elsewhere, "kept.txt"), "not of the tenant");
  symlinkSync(elsewhere, join(dir, "@acme", "--link--"));
  mkdirSync(join(dir, "@@acme@01234567", "--p--"), { recursive: true });
  writeFileSync(join(dir, "@@acme@01234567", "--p--", "x.jsonl"), canary);
  mkdirSync(join(dir, "@@acme.co@01234567"));
  const { remaining } = await deletePartition(store, "acme");
  expect(remaining.filter((note) => note.includes("--link--"))).toHaveLength(1);
  expect(filesWithCanary(dir)).toEqual([]);
  expect(existsSync(join(elsewhere, "kept.txt"))).toBe(true);
  expect(readdirSync(dir)).toEqual(["@@acme.co@01234567"]);
});

const blobKinds = {
  memory: () => memoryBlobStore(),
  files: () => fileBlobStore({ dir: temporaryDirectory() }),
  "files with a quota": () => fileBlobStore({ dir: temporaryDirectory(), quota: 60 }),
};

describe.each(Object.entries(blobKinds))("deletePartition with blobs in %s", (_, make) => {
  test("deletes the partition's blobs, from the trash too", async () => {
    const blobs = make();
    const acme = blobs.partition("acme");
    const { ref } = await acme.put(bytesOf("one"));
    const { ref: trashed } = await acme.put(bytesOf("two"));
    const marks = [{ root: "r", refs: [ref], complete: true }];
    const later = (await acme.backend.now()) + 1e6;
    await collectGarbage(acme, { marks, graceMs: 0, trashMs: 1e9, now: () => later });
    const { ref: other } = await blobs.partition("beta").put(bytesOf("one"));
    await blobs.put(bytesOf("one"));
    const report = await deletePartition(memorySessionStore(), "acme", { blobs });
    expect(report).toMatchObject({
      partition: "acme",
      sessions: 0,
      blobs: { count: 1, bytes: bytesOf("one").length },
    });
    for (const each of [ref, trashed]) expect(await blobs.partition("acme").get(each)).toBeUndefined();
    expect(await blobs.partition("beta").get(other)).toEqual(bytesOf("one"));
    expect(await blobs.get(other)).toEqual(bytesOf("one"));
    await acme.put(bytesOf("one"));
    await acme.put(bytesOf("two"));
    expect(await acme.get(ref)).toEqual(bytesOf("one"));
  });
});

test("deletePartition reports what it left, and stops at a signal", async () => {
  const { backend } = memorySessionStore();
  const store = sessionStore({
    create: (session) => backend.create(session),
    open: (id, options) => backend.open(id, options),
    async *list(query) {
      query.skipped?.("s3", new SessileError("NO_HEADER", "no", { details: { path: "s3", lines: 1 } }));
      yield* backend.list(query);
    },
    delete: (id, options) => backend.delete(id, options),
  });
  await fill(store);
  const blobs = memoryBlobStore();
  const { ref } = await blobs.partition("acme").put(bytesOf("one"));
  const signal = AbortSignal.abort(new Error("enough"));
  for (const options of [{ signal }, { signal, blobs }])
    await expect(deletePartition(store, "acme", options)).rejects.toThrow("enough");
  await expect(deletePartition(memorySessionStore(), "acme", { signal, blobs })).rejects.toThrow("enough");
  expect(await idsIn(store, "acme")).toEqual(["one", "two"]);
  expect(await blobs.partition("acme").stat(ref)).toBeDefined();
  const { remaining } = await deletePartition(store, "acme");
  expect(remaining).toEqual(["s3, which cannot be read", "blobs of the partition (see `blobs`)"]);
});

test("deletePartition of a bucket deletes staged bytes too, and counts what it deleted itself", async () => {
  const bucket = new MemoryBucket();
  const blobs = blobStore(r2BlobBackend({ bucket }));
  const acme = blobs.partition("acme");
  await acme.put(bytesOf("one"));
  const { ref } = await acme.put(bytesOf("two"));
  bucket.store("@acme/staging/0", bytesOf("half"));
  bucket.store("staging/0", bytesOf("of another"));
  const key = [...bucket.objects.keys()].find((each) => each.endsWith(ref.slice(7))) as string;
  bucket.after = (call) => {
    // Somebody else deletes a blob that was listed.
    if (call === "list") bucket.objects.delete(key);
  };
  const report = await deletePartition(memorySessionStore(), "acme", { blobs });
  expect(report.blobs).toEqual({ count: 1, bytes: bytesOf("one").length });
  expect([...bucket.objects.keys()]).toEqual(["staging/0"]);
});

test("deletePartition says that blobs in a store without partitions stay", async () => {
  const blobs = memoryBlobStore();
  const store = memorySessionStore();
  const session = await store.create({ cwd: "/work", partition: "acme" });
  const { ref } = await blobs.put(bytesOf("one"));
  await session.append([{ type: "message", message: userMessage(`see ${ref}`) }]);
  const { remaining } = await deletePartition(store, "acme", { blobs });
  expect(await blobs.stat(ref)).toBeDefined();
  expect(remaining.join("\n")).toContain("blobs that the sessions put into another partition");
});

test("deletePartition leaves no byte of quarantined blobs and temporary files", async () => {
  const dir = temporaryDirectory();
  const blobs = fileBlobStore({ dir });
  const acme = blobs.partition("acme");
  await acme.put(bytesOf("one"));
  mkdirSync(join(dir, "@acme", "quarantine"));
  writeFileSync(join(dir, "@acme", "quarantine", "sha256-0"), canary);
  mkdirSync(join(dir, "@acme", "tmp"), { recursive: true });
  writeFileSync(join(dir, "@acme", "tmp", "0"), canary);
  await deletePartition(memorySessionStore(), "acme", { blobs });
  expect(filesWithCanary(dir)).toEqual([]);
  expect(existsSync(join(dir, "@acme"))).toBe(false);
});
