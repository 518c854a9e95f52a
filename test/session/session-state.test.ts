import { type SessionBackend, type SessionHeader, type SessionLog, userMessage } from "sessile";
import { describe, expect, test } from "vitest";
import { treeRows } from "../../src/session/internal.js";
import type { SessionSettings } from "../../src/session/runtime/loaded-log.js";
import { type SessionState, sessionState } from "../../src/session/runtime/session-state.js";
import { hookedMemory } from "./hooked-backend.js";

const settings: SessionSettings = {
  now: () => 0,
  newEntryId: () => "ffffffff",
  maxDepth: 256,
  maxLineBytes: 1 << 20,
  recording: {},
  checksum: true,
};
const time = "2026-01-02T03:04:05.678Z";
const header: SessionHeader = { type: "session", version: 3, id: "s", timestamp: time, cwd: "/p" };
const utf8 = (value: unknown): Uint8Array =>
  new TextEncoder().encode(`${typeof value === "string" ? value : JSON.stringify(value)}\n`);
const entry = (
  id: string,
  parentId: string | null,
  more: object = { message: userMessage(id) },
  type = "message",
) => ({
  type,
  id,
  parentId,
  timestamp: time,
  ...more,
});

/** A log with these lines, and cores that read it. */
async function logWith(...values: readonly unknown[]) {
  const backend: SessionBackend = hookedMemory({}, () => 0);
  const created = await backend.create({ id: "s", partition: "", cwd: "/p", timestamp: time });
  let { position } = await created.log.append([header, ...values].map(utf8), created.position);
  return {
    async append(...more: readonly unknown[]) {
      ({ position } = await created.log.append(more.map(utf8), position));
    },
    async replace(...lines: readonly unknown[]) {
      position = (await created.log.replace?.(lines.map(utf8), position)) ?? position;
    },
    async state(mode: "read" | "write" = "write"): Promise<SessionState> {
      const log = (await backend.open("s", { partition: "", mode })) as SessionLog;
      const state = sessionState(log, settings, mode);
      await state.load();
      return state;
    },
  };
}

describe("exclusive", () => {
  test("runs one thing at a time, in the order of the calls, also after a failure", async () => {
    const state = await (await logWith()).state();
    const steps: string[] = [];
    const act = (name: string) => async () => {
      steps.push(`${name} begins`);
      await new Promise((resolve) => setTimeout(resolve));
      steps.push(`${name} ends`);
      if (name === "b") throw new Error("no");
      return name;
    };
    const results = await Promise.allSettled(["a", "b", "c"].map((name) => state.mutex.run(act(name))));
    expect(steps).toEqual(["a", "b", "c"].flatMap((name) => [`${name} begins`, `${name} ends`]));
    expect(results.map((result) => (result.status === "fulfilled" ? result.value : "failed"))).toEqual([
      "a",
      "failed",
      "c",
    ]);
  });
});

describe("readRemoteChanges", () => {
  test("gives what came since, tells of it, and leaves the leaf of a writer where it is", async () => {
    const log = await logWith(entry("aaaaaaaa", null));
    const state = await log.state();
    const told: string[] = [];
    state.events.on("entry", ({ entry: found, origin }) => told.push(`${origin} ${found.id}`));
    state.events.on("updated", ({ info }) => told.push(`updated ${info.title}`));
    state.events.on("leaf", ({ leafId }) => told.push(`leaf ${leafId}`));
    expect(await state.readRemoteChanges()).toEqual({ rows: [], restarted: false });
    await log.append(
      entry("bbbbbbbb", "aaaaaaaa"),
      entry("cccccccc", "bbbbbbbb", { title: "t" }, "session_info"),
    );
    expect(await state.readRemoteChanges()).toEqual({ rows: [1, 2], restarted: false });
    expect(told).toEqual(["remote bbbbbbbb", "remote cccccccc", "updated t"]);
    expect(state.leafId).toBe("aaaaaaaa");
    expect(state.reader.leafId).toBe("cccccccc");
    expect(state.info.time.updated).toBe(time);
  });

  test("moves the leaf of a reader", async () => {
    const log = await logWith(entry("aaaaaaaa", null));
    const state = await log.state("read");
    await log.append(
      entry("bbbbbbbb", "aaaaaaaa"),
      entry("cccccccc", "aaaaaaaa", { targetId: "aaaaaaaa" }, "leaf"),
    );
    await state.readRemoteChanges();
    expect(state.leafId).toBe("aaaaaaaa");
    await log.append(entry("dddddddd", "aaaaaaaa"));
    await state.readRemoteChanges();
    expect(state.leafId).toBe("dddddddd");
  });

  test("tells of a child that comes before its parent, once the parent is there", async () => {
    const log = await logWith(entry("bbbbbbbb", "aaaaaaaa"));
    const state = await log.state();
    expect(state.diagnostics.map(({ code }) => code)).toEqual(["ORPHAN"]);
    await log.append(entry("dddddddd", "cccccccc"), entry("cccccccc", "bbbbbbbb"));
    expect((await state.readRemoteChanges()).rows).toEqual([1, 2]);
    expect(state.reader.tree.path("dddddddd").map((node) => node.id)).toEqual([
      "bbbbbbbb",
      "cccccccc",
      "dddddddd",
    ]);
    expect(state.diagnostics.length).toBe(1);
  });

  test("of a log that was replaced starts over, says so, and keeps the leaf where it can", async () => {
    const log = await logWith(entry("aaaaaaaa", null), entry("bbbbbbbb", "aaaaaaaa"));
    const state = await log.state();
    const told: unknown[] = [];
    state.events.on("entry", (event) => told.push(event));
    await log.replace({ ...header, cwd: "/q" }, entry("bbbbbbbb", null), entry("cccccccc", "bbbbbbbb"));
    expect(await state.readRemoteChanges()).toEqual({ rows: [0, 1], restarted: true });
    expect(state.leafId).toBe("bbbbbbbb");
    expect(state.header.cwd).toBe("/q");
    expect(state.diagnostics.map(({ code }) => code)).toEqual(["LOG_REPLACED"]);
    // What the other log had not: whoever follows is to see each entry once, wherever it comes from.
    expect(told).toEqual([{ entry: expect.objectContaining({ id: "cccccccc" }), origin: "remote" }]);
    const look = await state.cache.load([0, 1]);
    expect([look(0), look(1)].map((body) => body?.id)).toEqual(["bbbbbbbb", "cccccccc"]);
    await log.replace(header, entry("dddddddd", null));
    await state.readRemoteChanges();
    expect(state.leafId).toBe("dddddddd");
    expect(state.diagnostics.length).toBe(2);
  });
});

describe("reload", () => {
  test("reads all again without events, and keeps the leaf", async () => {
    const log = await logWith(entry("aaaaaaaa", null), entry("bbbbbbbb", "aaaaaaaa"));
    const state = await log.state();
    state.setLeaf("aaaaaaaa");
    const told: unknown[] = [];
    state.events.on("entry", (event) => told.push(event));
    state.events.on("leaf", (event) => told.push(event));
    await log.replace({ ...header, sessile: 1 }, entry("aaaaaaaa", null), entry("cccccccc", "aaaaaaaa"));
    await state.reload();
    expect([state.leafId, state.header.sessile, told]).toEqual(["aaaaaaaa", 1, []]);
    expect(state.reader.tree.has("cccccccc")).toBe(true);
    state.setLeaf(null);
    await state.reload();
    expect(state.leafId).toBeNull();
    state.setLeaf("cccccccc");
    await log.replace(header, entry("dddddddd", null));
    await state.reload();
    expect(state.leafId).toBe("dddddddd");
  });
});

describe("the rest", () => {
  test("why a handle may not write is in the error", async () => {
    const log = await logWith();
    const reader = await log.state("read");
    expect(() => reader.assertWritable()).toThrow(
      expect.objectContaining({ code: "SESSION_READ_ONLY", details: { id: "s", reason: "mode" } }),
    );
    const writer = await log.state();
    writer.assertWritable();
    await log.replace({ ...header, version: 4 });
    await writer.readRemoteChanges();
    expect(() => writer.assertWritable()).toThrow(
      expect.objectContaining({ code: "SESSION_READ_ONLY", details: { id: "s", reason: "version" } }),
    );
    await writer.close();
    expect(() => writer.assertWritable()).toThrow(expect.objectContaining({ code: "SESSION_CLOSED" }));
  });

  test("a move of the leaf to its place is no event", async () => {
    const state = await (await logWith(entry("aaaaaaaa", null))).state();
    const told: unknown[] = [];
    state.events.on("leaf", (event) => told.push(event));
    state.setLeaf("aaaaaaaa");
    state.setLeaf(null);
    state.setLeaf(null);
    expect(told).toEqual([{ leafId: null, previousLeafId: "aaaaaaaa" }]);
  });

  test("steps get the bodies of the rows that they ask for, and rows without a body get undefined", async () => {
    const log = await logWith(
      entry("aaaaaaaa", null),
      '{"type":"custom","id":"bbbbbbbb","parentId":"aaaaaaaa","timestamp":"","x":\\}',
    );
    const state = await log.state();
    expect(treeRows(state.reader.tree).size).toBe(2);
    const seen = await state.cache.run(
      (function* () {
        const first = yield [0, 1];
        const [a, b] = [first(0), first(1)];
        const second = yield [0];
        return [a?.id, b, second(0) === a];
      })(),
    );
    expect(seen).toEqual(["aaaaaaaa", undefined, true]);
  });

  test("lines that are too long keep the numbers of those behind them right", async () => {
    const log: SessionLog = {
      append: () => Promise.reject(new Error("no")),
      readAt: () => Promise.resolve([]),
      close: () => Promise.resolve(),
      async *read() {
        const lines = [header, "nonsense", entry("aaaaaaaa", null), "more"].map((line) =>
          utf8(line).subarray(0, -1),
        );
        yield {
          lines,
          at: [0, 200, 300, 500],
          tooLong: [
            { at: 100, length: 90 },
            { at: 400, length: 90 },
            { at: 600, length: 90 },
          ],
          next: "x" as never,
        };
      },
    };
    const state = sessionState(log, settings, "read");
    await state.load();
    expect(state.diagnostics.map(({ code, line, offset }) => [code, line, offset])).toEqual([
      ["LINE_TOO_LONG", 2, 100],
      ["INVALID_JSON", 3, 200],
      ["LINE_TOO_LONG", 5, 400],
      ["INVALID_JSON", 6, 500],
      ["LINE_TOO_LONG", 7, 600],
    ]);
  });
});
