import { expect, test } from "vitest";
import type { StoredSession } from "../../../src/session/api/backend.js";
import { FileBackend, type FileBackendOptions } from "../../../src/session/node/file-backend.js";
import { FileLock } from "../../../src/session/node/file-lock.js";
import { SimulatedDisk } from "../../support/simulated-disk.js";

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
test("a session lies where its time, id, project and partition say", async () => {
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

test("what is no session of the partition is not listed", async () => {
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

test("deleting waits for a writer, and says whether there was anything", async () => {
  const disk = new SimulatedDisk();
  const backend = backendOn(disk);
  const location = (await create(backend, "a")) ?? "";
  const writer = new FileLock(disk, `${location}.lock`, { waitMs: 0, idleMs: 5, remoteLeaseMs: 30_000 });
  await writer.with(async () => {
    await expect(backend.delete("a", { partition: "" })).rejects.toMatchObject({ code: "SESSION_LOCKED" });
  });
  expect(await backend.delete("a", { partition: "other" })).toBe(false);
  expect(await backend.delete("a", { partition: "" })).toBe(true);
  expect(await backend.delete("a", { partition: "" })).toBe(false);
  writer.release();
  expect(disk.paths()).toEqual([]);
});

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
  expect(await opens("12")).toEqual(["/store/--p2--/x_12.jsonl", 6]);
  expect(await opens("none")).toEqual([undefined, 6]);
});

test("what the system refuses is STORAGE_FAILED with its code", async () => {
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
