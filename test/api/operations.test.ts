import {
  blobStore,
  memoryBlobStore,
  memorySessionStore,
  type StoreOperation,
  sessionStore,
  userMessage,
} from "sessile";
import { describe, expect, test } from "vitest";

/** Operations so far, without their times. */
function recorder() {
  const operations: StoreOperation[] = [];
  const onOperation = (operation: StoreOperation): void => void operations.push(operation);
  const taken = () => operations.splice(0).map(({ ms: _, ...rest }) => rest);
  return { operations, onOperation, taken };
}

async function all<T>(items: AsyncIterable<T> | readonly T[]): Promise<number> {
  let count = 0;
  for await (const _ of items) count++;
  return count;
}

const message = userMessage("Hello");

describe("onOperation of a session store", () => {
  test("is called once for each operation, with the bytes of an append", async () => {
    const { onOperation, taken } = recorder();
    const store = memorySessionStore({ onOperation });
    const session = await store.create({ cwd: "/work", id: "one" });
    expect(taken()).toEqual([{ name: "create" }]);
    const [entry] = await session.append([{ type: "message", message }]);
    const line = await session.raw(entry?.id ?? "");
    expect(taken()).toEqual([{ name: "append", bytes: (line?.length ?? 0) + 1 }]);
    await session.appendMessage(userMessage("Again"));
    await session.updateInfo({ title: "Title" });
    await session.approveAlways({ permission: "bash", pattern: "ls" });
    expect(taken().map(({ name }) => name)).toEqual(["append", "append", "append"]);
    await session.context();
    await session.refresh();
    expect(taken()).toEqual([{ name: "context" }, { name: "refresh" }]);
    const copy = await session.extract();
    const fork = await store.fork("one", { id: "two" });
    expect(taken()).toEqual([{ name: "extract" }, { name: "fork" }]);
    await fork.appendMessage(message);
    await copy.appendMessage(message);
    expect(taken().map(({ name }) => name)).toEqual(["append", "append"]);
    for (const each of [session, copy, fork]) await each.close();
    expect(await all(store.list())).toBe(3);
    for await (const _ of store.list({ stats: true })) break;
    expect(taken()).toEqual([{ name: "list" }, { name: "list" }]);
    await (await store.open("one")).close();
    await store.archive("one");
    await store.delete("two");
    expect(taken()).toEqual([{ name: "open" }, { name: "archive" }, { name: "delete" }]);
  });

  test("gets the code of a failure", async () => {
    const { onOperation, taken } = recorder();
    const store = memorySessionStore({ onOperation });
    await expect(store.open("none")).rejects.toThrow();
    await expect(store.fork("none")).rejects.toThrow();
    await expect(store.create({ cwd: 7 as unknown as string })).rejects.toThrow(TypeError);
    const session = await store.create({ cwd: "/work", id: "one" });
    await session.appendMessage(message);
    const other = await store.open("one", { mode: "write" });
    await session.appendMessage(message);
    await expect(other.appendMessage(message)).rejects.toMatchObject({ code: "CONCURRENT_WRITER" });
    const bytes = expect.any(Number);
    expect(taken()).toEqual([
      { name: "open", code: "SESSION_NOT_FOUND" },
      { name: "fork", code: "SESSION_NOT_FOUND" },
      { name: "create", code: "TypeError" },
      { name: "create" },
      { name: "append", bytes },
      { name: "open" },
      { name: "append", bytes },
      { name: "append", code: "CONCURRENT_WRITER" },
    ]);
    await expect(all(store.list({ signal: AbortSignal.abort() }))).rejects.toThrow();
    expect(taken()).toEqual([{ name: "list", code: "AbortError" }]);
  });

  test("measures milliseconds, of each operation from its start", async () => {
    const { onOperation, operations } = recorder();
    const { backend } = memorySessionStore();
    const slow = {
      ...backend,
      open: async (...call: Parameters<typeof backend.open>) => {
        await new Promise((resolve) => setTimeout(resolve, 30));
        return backend.open(...call);
      },
    };
    const begun = performance.now();
    await expect(sessionStore(slow, { onOperation }).open("none")).rejects.toThrow();
    expect(operations[0]?.ms).toBeGreaterThan(25);
    expect(operations[0]?.ms).toBeLessThanOrEqual(performance.now() - begun);
  });
});

describe("onOperation of a blob store", () => {
  test("is called once for each operation, with its bytes", async () => {
    const { onOperation, taken } = recorder();
    const store = memoryBlobStore({ onOperation });
    const { ref } = await store.put(new Uint8Array(10));
    await store.get(ref);
    await store.stat(ref);
    await store.touch(ref);
    await store.locate(ref);
    await all(store.list());
    await store.verify();
    await store.partition("acme").put(new Uint8Array(300_000));
    await store.delete(ref);
    await store.get(ref);
    expect(taken()).toEqual([
      { name: "put", bytes: 10 },
      { name: "get", bytes: 10 },
      { name: "stat" },
      { name: "touch" },
      { name: "locate" },
      { name: "list" },
      { name: "verify", bytes: 10 },
      { name: "put", bytes: 300_000 },
      { name: "delete" },
      { name: "get" },
    ]);
  });

  test("reports a stream at its end, once, however it ends", async () => {
    const { onOperation, taken } = recorder();
    const store = memoryBlobStore({ onOperation });
    const { ref } = await store.put(new Uint8Array(300_000));
    taken();
    const read = await store.stream(ref);
    expect(taken()).toEqual([]);
    await all(read ?? []);
    expect(taken()).toEqual([{ name: "stream", bytes: 300_000 }]);
    for await (const _ of (await store.stream(ref)) ?? []) break;
    expect(taken().map(({ name }) => name)).toEqual(["stream"]);
    await store.delete(ref);
    expect(await store.stream(ref)).toBeUndefined();
    await expect(store.stream("sha256:x")).rejects.toThrow(TypeError);
    expect(taken().slice(1)).toEqual([{ name: "stream" }, { name: "stream", code: "TypeError" }]);
  });

  test("gets the code of a failure", async () => {
    const { onOperation, taken } = recorder();
    const store = memoryBlobStore({ onOperation, maxBytes: 5, quota: 8 });
    await expect(store.put(new Uint8Array(6))).rejects.toThrow();
    const { ref } = await store.put(new Uint8Array(5));
    await expect(store.put(new Uint8Array(4))).rejects.toThrow();
    await store.backend.delete(ref);
    await store.backend.write(ref, new Uint8Array(3), {});
    await expect(store.get(ref)).rejects.toThrow();
    expect(taken()).toEqual([
      { name: "put", code: "BLOB_TOO_LARGE" },
      { name: "put", bytes: 5 },
      { name: "put", code: "QUOTA_EXCEEDED" },
      { name: "get", code: "BLOB_CORRUPT" },
    ]);
  });
});

describe("a hook that fails", () => {
  const hooks: Readonly<Record<string, () => void>> = {
    throws: () => {
      throw new Error("no metrics");
    },
    rejects: async () => {
      throw new Error("no metrics");
    },
  };
  test.each(Object.entries(hooks))("and %s harms nothing", async (_, onOperation) => {
    const sessions = memorySessionStore({ onOperation });
    const session = await sessions.create({ cwd: "/work", id: "one" });
    await session.appendMessage(message);
    await expect(sessions.open("none")).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
    expect(await all(sessions.list())).toBe(1);
    const blobs = memoryBlobStore({ onOperation });
    const { ref } = await blobs.put(new Uint8Array(10));
    expect(await blobs.get(ref)).toHaveLength(10);
    expect(await all((await blobs.stream(ref)) ?? [])).toBe(1);
  });
});

test("an adapter for OpenTelemetry is ten lines", async () => {
  const recorded: unknown[] = [];
  // The two instruments of @opentelemetry/api.
  const meter = {
    createHistogram: (metric: string, _: { readonly unit: string }) => ({
      record: (value: number, attributes: object) => void recorded.push([metric, value >= 0, attributes]),
    }),
    createCounter: (metric: string, _: { readonly unit: string }) => ({
      add: (value: number, attributes: object) => void recorded.push([metric, value, attributes]),
    }),
  };
  const duration = meter.createHistogram("sessile.operation.duration", { unit: "ms" });
  const moved = meter.createCounter("sessile.operation.bytes", { unit: "By" });
  const onOperation = ({ name, ms, bytes, code }: StoreOperation): void => {
    const attributes = { operation: name, ...(code === undefined ? {} : { "error.type": code }) };
    duration.record(ms, attributes);
    if (bytes !== undefined) moved.add(bytes, attributes);
  };
  const blobs = memoryBlobStore({ onOperation, maxBytes: 10 });
  await blobs.put(new Uint8Array(10));
  await expect(blobs.put(new Uint8Array(11))).rejects.toThrow();
  expect(recorded).toEqual([
    ["sessile.operation.duration", true, { operation: "put" }],
    ["sessile.operation.bytes", 10, { operation: "put" }],
    ["sessile.operation.duration", true, { operation: "put", "error.type": "BLOB_TOO_LARGE" }],
  ]);
});

test("without a hook nothing stands between a caller and the store", async () => {
  const { backend } = memoryBlobStore();
  expect(blobStore(backend).constructor.name).toBe("BackedBlobStore");
  expect(blobStore(backend, { onOperation: () => undefined }).constructor.name).toBe("Object");
});

test("partitions of a session store are those with sessions", async () => {
  const store = memorySessionStore();
  for (const partition of ["acme", "beta"])
    await (await store.create({ cwd: "/work", partition })).appendMessage(message);
  const found: string[] = [];
  for await (const partition of store.partitions()) found.push(partition);
  expect(found.sort()).toEqual(["acme", "beta"]);
  const { partitions: _, ...bare } = store.backend;
  await expect(all(sessionStore(bare).partitions())).rejects.toThrow(TypeError);
});

test("a fork goes from one partition to another, and the source stays alone in its own", async () => {
  const store = memorySessionStore();
  const source = await store.create({ cwd: "/work", id: "one", partition: "acme" });
  await source.appendMessage(message);
  const fork = await store.fork("one", { id: "one", partition: "acme", toPartition: "beta" });
  await fork.appendMessage(userMessage("Only here"));
  expect((await (await store.open("one", { partition: "beta" })).tree()).size).toBe(3);
  expect((await (await store.open("one", { partition: "acme" })).tree()).size).toBe(1);
  await expect(store.open("one")).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
  await expect(store.fork("one", { toPartition: "beta" })).rejects.toMatchObject({
    code: "SESSION_NOT_FOUND",
  });
  const home = await store.fork("one", { id: "two", partition: "beta", toPartition: "" });
  expect((await (await store.open("two")).tree()).size).toBe((await home.tree()).size);
});
