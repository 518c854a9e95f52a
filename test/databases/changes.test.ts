import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { pglite, startMs } from "../postgres/pglite.js";
import { closeDatabases } from "../sqlite/databases.js";
import { engines, storeOf, write } from "./subjects.js";

beforeAll(async () => {
  await pglite();
}, startMs);
afterEach(() => {
  vi.useRealTimers();
  return closeDatabases();
});

const until = (check: () => void) => vi.waitFor(check, { timeout: 60_000, interval: 5 });

describe.each(engines)("followers of sessions in $name", ({ start, full }) => {
  /** Follows sessions `s` of partitions; the calls of the followers' backend alone are counted. */
  async function followed(count: number, pollMs: number) {
    const tables = await start();
    const writing = storeOf(tables.direct());
    const reading = storeOf(tables.backend());
    const partitions = Array.from({ length: count }, (_, at) => `tenant-${at}`);
    for (const partition of partitions) await write(writing, "s", ["one"], partition);
    const stops: AbortController[] = [];
    const seen: string[] = [];
    const ended: Promise<unknown>[] = [];
    for (const partition of partitions) {
      const session = await reading.open("s", { partition });
      session.on("deleted", () => seen.push(`${partition} deleted`));
      const stop = new AbortController();
      stops.push(stop);
      const follow = async () => {
        for await (const { type } of session.follow({ signal: stop.signal, pollMs }))
          seen.push(`${partition} ${type}`);
        await session.close();
      };
      ended.push(follow());
    }
    const all = Promise.allSettled(ended);
    const end = () => {
      for (const stop of stops) stop.abort();
      return all;
    };
    return { tables, writing, reading, seen, end };
  }
  const isPoll = ({ texts }: { readonly texts: readonly string[] }) =>
    texts[0]?.includes("as wanted") === true;

  it("of 30 partitions are asked for in one statement, and those that moved are read", async () => {
    const { tables, writing, seen, end } = await followed(30, 20);
    const { calls } = tables.faults;
    const polls = async (count: number) => {
      calls.length = 0;
      await until(() => expect(calls.filter(isPoll).length).toBeGreaterThanOrEqual(count));
    };
    await polls(2);
    calls.length = 0;
    await polls(5);
    expect(calls.filter((call) => !isPoll(call))).toEqual([]);
    await write(writing, "s", ["two"], "tenant-7");
    await until(() => expect(seen).toEqual(["tenant-7 message"]));
    expect(calls.filter((call) => !isPoll(call))).toHaveLength(1);
    await writing.delete("s", { partition: "tenant-8" });
    await until(() => expect(seen).toEqual(["tenant-7 message", "tenant-8 deleted"]));
    await end();
    const { length } = calls;
    await write(writing, "s", ["three"], "tenant-7");
    expect(calls.length).toBe(length);
  });

  it("see at once what the same process writes and deletes", async () => {
    const { tables, seen, end } = await followed(2, 60_000);
    const writing = storeOf(tables.backend());
    await write(writing, "s", ["two"], "tenant-1");
    await until(() => expect(seen).toEqual(["tenant-1 message"]));
    await writing.delete("s", { partition: "tenant-0" });
    await until(() => expect(seen).toEqual(["tenant-1 message", "tenant-0 deleted"]));
    await end();
  });

  it("get the failure of a poll that no other attempt changes", async () => {
    const { tables, end } = await followed(3, 20);
    await until(() => expect(tables.faults.calls.some(isPoll)).toBe(true));
    let failed = 0;
    tables.faults.before = (call) => {
      if (!isPoll(call)) return;
      failed++;
      throw full();
    };
    await until(() => expect(failed).toBeGreaterThan(0));
    const results = await end();
    for (const result of results) expect(result).toMatchObject({ reason: { code: "STORAGE_FAILED" } });
  });

  it("are asked for again if a poll has no answer, and it keeps up no other", async () => {
    const tables = await start();
    const backend = tables.backend();
    const opened = async (id: string) => {
      await write(storeOf(tables.direct()), id, ["one"]);
      return backend.open(id, { partition: "", mode: "read" });
    };
    const [a, b] = [await opened("a"), await opened("b")];
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    let polls = 0;
    tables.faults.before = () => (++polls === 1 ? new Promise<void>(() => undefined) : undefined);
    // Each poll finds a log that is elsewhere.
    const changed = (log: typeof a) =>
      log?.changed?.(new AbortController().signal, { position: undefined, pollMs: 1000 });
    let isAwake = false;
    const first = changed(a)?.then(() => {
      isAwake = true;
    });
    await vi.advanceTimersByTimeAsync(1000);
    const second = changed(b);
    await vi.advanceTimersByTimeAsync(1000);
    await second;
    expect([polls, isAwake]).toEqual([2, false]);
    await vi.advanceTimersByTimeAsync(5000);
    await first;
    expect(polls).toBe(3);
    for (const log of [a, b]) await log?.close();
  });

  it("end with a failure if no poll has an answer", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    const { tables, end } = await followed(2, 1000);
    tables.faults.before = (call) => (isPoll(call) ? new Promise<void>(() => undefined) : undefined);
    while (vi.getTimerCount() === 0) await new Promise((resolve) => setImmediate(resolve));
    await vi.advanceTimersByTimeAsync(15_000);
    for (const result of await end())
      expect(result).toMatchObject({ reason: { code: "STORAGE_FAILED", details: { errno: "NO_ANSWER" } } });
  });

  it("miss nothing that is written between two waits, and end with their log", async () => {
    const tables = await start();
    const backend = tables.direct();
    await write(storeOf(backend), "s", ["one"]);
    const log = await backend.open("s", { partition: "", mode: "read" });
    const since = { position: undefined, pollMs: 600_000 };
    await log?.changed?.(AbortSignal.abort(), since);
    await write(storeOf(tables.direct()), "s", ["two"]);
    const never = new AbortController().signal;
    await log?.changed?.(never, since);
    const waiting = log?.changed?.(never, since);
    await log?.close();
    await waiting;
  });
});
