import fc from "fast-check";
import {
  type EntryDraft,
  type Session,
  type SessionBackend,
  SessionTree,
  sessionStore,
  userMessage,
} from "sessile";
import { SessileError } from "sessile/errors";
import { describe, expect, test, vi } from "vitest";
import { treeRows } from "../../src/session/internal.js";
import { storedLines } from "../../src/session/runtime/log-lines.js";
import type { LiveSession } from "../../src/session/runtime/session.js";
import { branchEnds } from "../../src/session/tree/session-tree.js";
import { SimulatedDisk } from "../support/simulated-disk.js";
import { gate, hookedBackend, hookedMemory, type LogHooks } from "./hooked-backend.js";

const say = (text: string): EntryDraft => ({ type: "message", message: userMessage(text) });
const refused = new SessileError("STORAGE_FAILED", "no space", {
  details: { operation: "append to", path: "x", errno: "ENOSPC" },
});

async function setting() {
  const hooks: LogHooks = {};
  const backend: SessionBackend = hookedMemory();
  const store = sessionStore(hookedBackend(backend, hooks));
  const session = await store.create({ cwd: "/p", id: "s" });
  const other = () => sessionStore(backend).open("s", { mode: "write" });
  return { hooks, store, session, other };
}

/** Entry types in the order of the file. */
async function types(session: Session): Promise<string[]> {
  const found: string[] = [];
  for await (const { bytes } of storedLines((session as LiveSession).source.log)) {
    found.push(JSON.parse(new TextDecoder().decode(bytes)).type);
  }
  return found;
}

describe("the leaf at close", () => {
  test("is that of another handle which went on behind the end that this one followed", async () => {
    const { session, other } = await setting();
    await session.append([say("a")]);
    const second = await other();
    const [b] = await second.append([say("b")]);
    await session.refresh();
    await session.branch(b?.id ?? null);
    const [c] = await second.append([say("c")]);
    await session.refresh();
    await session.close();
    expect((await other()).leafId).toBe(c?.id);
  });

  test("is written where it was moved, and nothing was appended since", async () => {
    const { session, other } = await setting();
    const [a, b] = await session.append([say("a"), say("b")]);
    await session.branch(a?.id ?? null);
    await session.close();
    const again = await other();
    expect(again.leafId).toBe(a?.id);
    expect(await types(again)).toEqual(["session", "message", "message", "leaf"]);
    // Back to where the log ends, or nowhere at all, writes nothing more.
    await again.branch(b?.id ?? null);
    await again.branch(null);
    await again.branch(a?.id ?? null);
    await again.close();
    expect(await types(await other())).toEqual(["session", "message", "message", "leaf"]);
  });

  test("is not written where something was appended after the move", async () => {
    const { session, other } = await setting();
    const [a] = await session.append([say("a"), say("b")]);
    await session.branch(a?.id ?? null);
    const [c] = await session.append([say("c")]);
    await session.close();
    const again = await other();
    expect(again.leafId).toBe(c?.id);
    expect(await types(again)).toEqual(["session", "message", "message", "message"]);
  });

  test("before the first entry is written too, and the next entry is a new root", async () => {
    const { session, other } = await setting();
    const [a] = await session.append([say("a")]);
    await session.branch(null);
    expect((await session.context()).items).toEqual([]);
    await session.flush();
    await session.flush();
    await session.close();
    const again = await other();
    expect(again.leafId).toBeNull();
    const [b] = await again.append([say("b")]);
    expect((await again.tree()).children(null).map((node) => node.id)).toEqual([
      a?.id,
      expect.any(String),
      b?.id,
    ]);
    expect(await types(again)).toEqual(["session", "message", "leaf", "message"]);
  });

  test("at what is only staged, or in a session that was never written, is not written", async () => {
    const { session, other } = await setting();
    await session.branch(null);
    session.stage([say("staged")]);
    await session.branch(null);
    await session.close();
    await expect(other()).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });

    const second = await setting();
    const [a] = await second.session.append([say("a")]);
    const [staged] = second.session.stage([say("staged")]);
    await second.session.branch(a?.id ?? null);
    await second.session.branch(staged?.id ?? null);
    await second.session.close();
    expect(await types(await second.other())).toEqual(["session", "message"]);
  });

  test("that cannot be written is an event, and the session closes all the same", async () => {
    const { hooks, session, other } = await setting();
    await session.append([say("a")]);
    const events: unknown[] = [];
    session.on("error", (event) => events.push(event));
    session.on("closed", (event) => events.push(event));
    await session.branch(null);
    hooks.append = () => Promise.reject(refused);
    await session.close();
    expect(events).toEqual([{ error: refused, operation: "close" }, { id: "s" }]);
    expect((await (await other()).tree()).size).toBe(1);
  });

  test("of another writer is left alone by one who only looked", async () => {
    const { session, other } = await setting();
    const [a] = await session.append([say("a"), say("b")]);
    const writer = await other();
    const [c] = await writer.append([say("c")]);
    await session.refresh();
    await session.branch(a?.id ?? null);
    await session.branch(c?.id ?? null);
    await session.close();
    expect(await types(writer)).toEqual(["session", "message", "message", "message"]);
  });
});

describe("close", () => {
  test("waits for what was called before it, and refuses what comes after", async () => {
    const { hooks, session, other } = await setting();
    const { opened, open } = gate();
    hooks.append = async (_lines, _expected, append) => {
      await opened;
      return append();
    };
    let closes = 0;
    hooks.close = () => closes++;
    const appends = [session.append([say("a")]), session.append([say("b")])];
    const closing = session.close();
    const late: (() => unknown)[] = [
      () => session.append([say("late")]),
      () => session.appendMessage(userMessage("late")),
      () => session.updateInfo({ title: "late" }),
      () => session.approveAlways({ permission: "p", pattern: "*" }),
      () => session.branchWithSummary(null, "late"),
    ];
    for (const act of late) await expect(act()).rejects.toMatchObject({ code: "SESSION_CLOSED" });
    expect(() => session.stage([say("late")])).toThrow(expect.objectContaining({ code: "SESSION_CLOSED" }));
    await expect(session.branch(null)).rejects.toThrow(expect.objectContaining({ code: "SESSION_CLOSED" }));
    expect(closes).toBe(0);
    open();
    await closing;
    expect(session.close()).toBe(closing);
    expect(closes).toBe(1);
    expect(session.writable).toBe(false);
    await expect(session.refresh()).rejects.toMatchObject({ code: "SESSION_CLOSED" });
    for (const append of appends) expect((await append).length).toBe(1);
    expect((await (await other()).tree()).size).toBe(2);
  });

  test("comes at the end of a scope", async () => {
    const { store } = await setting();
    const closed: unknown[] = [];
    {
      await using session = await store.create({ cwd: "/p", id: "scoped" });
      session.on("closed", (event) => closed.push(event));
      await session.append([say("a")]);
    }
    expect(closed).toEqual([{ id: "scoped" }]);
    expect((await (await store.open("scoped")).tree()).size).toBe(1);
  });

  test("fails appends that fail, not itself", async () => {
    const { hooks, session } = await setting();
    hooks.append = () => Promise.reject(refused);
    const append = session.append([say("a")]).catch((error: unknown) => error);
    await session.close();
    expect(await append).toBe(refused);
  });
});

describe("branchWithSummary", () => {
  test("that cannot be written leaves the leaf where it was", async () => {
    const { hooks, session } = await setting();
    const [a, b] = await session.append([say("a"), say("b")]);
    hooks.append = () => Promise.reject(refused);
    await expect(session.branchWithSummary(a?.id ?? null, "left")).rejects.toBe(refused);
    expect([session.leafId, (await session.tree()).size]).toEqual([b?.id, 2]);
    delete hooks.append;
    const [c] = await session.append([say("c")]);
    expect(c?.parentId).toBe(b?.id);
  });

  test("that cannot be written leaves a leaf alone that was moved meanwhile", async () => {
    const { hooks, session } = await setting();
    const [a] = await session.append([say("a"), say("b")]);
    hooks.append = () => Promise.reject(refused);
    const failing = session.branchWithSummary(a?.id ?? null, "left");
    await session.branch(null);
    await expect(failing).rejects.toBe(refused);
    expect(session.leafId).toBeNull();
  });

  test("takes the entry's other fields, an abort signal, and null for a new root", async () => {
    const { session } = await setting();
    const [a] = await session.append([say("a")]);
    const signal = AbortSignal.abort("no");
    await expect(session.branchWithSummary(null, "left", { signal })).rejects.toBe("no");
    expect(session.leafId).toBe(a?.id);
    const summary = await session.branchWithSummary(null, "left", { details: { files: 1 }, fromHook: true });
    expect(summary).toMatchObject({
      parentId: null,
      fromId: a?.id,
      summary: "left",
      details: { files: 1 },
      fromHook: true,
    });
    const again = await session.branchWithSummary(null, "once more");
    expect(again.fromId).toBe(summary.id);
    await expect(session.branchWithSummary("none", "x")).rejects.toMatchObject({ code: "ENTRY_NOT_FOUND" });
  });

  test("of a session that has no leaf says root", async () => {
    const { session } = await setting();
    expect((await session.branchWithSummary(null, "s")).fromId).toBe("root");
  });
});

describe("reading", () => {
  test("goes on while an append is being written, and sees it when it is", async () => {
    const { hooks, session } = await setting();
    await session.append([say("a")]);
    const { opened, open } = gate();
    hooks.append = async (_lines, _expected, append) => {
      await opened;
      return append();
    };
    const writing = session.append([say("b")]);
    expect((await session.context()).items.length).toBe(1);
    expect((await session.turn()).thinkingLevel).toBe("off");
    expect(await session.toolStates()).toEqual([]);
    open();
    await writing;
    expect((await session.context()).items.length).toBe(2);
  });

  test("of an entry that is not there: undefined where absence is an answer, an error where it is none", async () => {
    const { session } = await setting();
    await session.append([say("a")]);
    expect(await session.entry("none")).toBeUndefined();
    expect(await session.raw("none")).toBeUndefined();
    const notFound = { code: "ENTRY_NOT_FOUND", details: { entryId: "none" } };
    await expect(session.context("none")).rejects.toMatchObject(notFound);
    await expect(session.turn("none")).rejects.toMatchObject(notFound);
    await expect(session.extract("none")).rejects.toMatchObject(notFound);
    await expect(session.branch("none")).rejects.toThrow(expect.objectContaining(notFound));
    await session.branch(null);
    await expect(session.extract()).rejects.toThrow(
      "leafId: expected an entry id, and the session has no leaf",
    );
  });

  test("of a session that was not written yet finds nothing, and is no error", async () => {
    const { session } = await setting();
    expect(await session.refresh()).toEqual([]);
    expect(await session.diagnose()).toEqual([]);
    expect((await session.context()).items).toEqual([]);
    await session.flush();
    expect(session.leafId).toBeNull();
  });

  test("an entry that is only staged has a body and no line", async () => {
    const { session } = await setting();
    const [staged] = session.stage([say("a")]);
    expect(await session.entry(staged?.id ?? "")).toEqual(staged);
    expect(await session.raw(staged?.id ?? "")).toBeUndefined();
    expect((await session.context()).items.length).toBe(1);
  });
});

describe("follow", () => {
  test("ends when the session is deleted by another program, and says so", async () => {
    const disk = new SimulatedDisk();
    const session = await disk.sessions({ dir: "/s" }).create({ cwd: "/p", id: "s" });
    await session.append([say("a")]);
    const deleted = vi.fn();
    session.on("deleted", deleted);
    const following = (async () => {
      for await (const _ of session.follow({ signal: new AbortController().signal, pollMs: 1 })) {
        // Nothing comes.
      }
    })();
    await disk.sessions({ dir: "/s" }).delete("s");
    await following;
    expect(deleted).toHaveBeenCalledWith({ id: "s" });
    await session.close();
  });

  test("takes a limit that is one, ends at once for a signal that is, and leaves no listener", async () => {
    const { session } = await setting();
    const signal = AbortSignal.abort();
    await expect(session.follow({ signal, pollMs: 0 })[Symbol.asyncIterator]().next()).rejects.toThrow(
      RangeError,
    );
    for await (const _ of session.follow({ signal })) expect.unreachable();
    const controller = new AbortController();
    const iterator = session.follow({ signal: controller.signal, pollMs: 5 })[Symbol.asyncIterator]();
    const next = iterator.next();
    await session.append([say("a")]);
    expect((await next).value).toMatchObject({ type: "message" });
    await iterator.return?.(undefined);
    controller.abort();
    await session.close();
  });
});

describe("events", () => {
  test("end when the function that on returned is called", async () => {
    const { session } = await setting();
    const seen: string[] = [];
    const off = session.on("entry", ({ entry }) => seen.push(entry.type));
    await session.append([say("a")]);
    off();
    await session.append([say("b")]);
    expect(seen).toEqual(["message"]);
  });

  test("that are not kept reach those who listen now; a compaction at work shows in the info", async () => {
    const { session } = await setting();
    const seen: unknown[] = [];
    session.on("ephemeral", (event) => seen.push(event));
    session.publish({ type: "text_delta", delta: "x" });
    session.publish({ type: "compacting", active: true });
    expect(session.info.time.compacting).toMatch(/^\d{4}-/);
    session.publish({ type: "compacting", active: false });
    expect(session.info.time.compacting).toBeUndefined();
    expect(seen.length).toBe(3);
    expect((await session.tree()).size).toBe(0);
    await expect(session.append([{ type: "text_delta", delta: "x" } as never])).rejects.toThrow("publish it");
  });

  test("of a listener that throws are an error event, and the append is written", async () => {
    const { session } = await setting();
    const errors: unknown[] = [];
    session.on("error", ({ operation }) => errors.push(operation));
    session.on("entry", () => {
      throw new Error("mine");
    });
    await session.append([say("a")]);
    expect(errors).toEqual(["listener of entry"]);
    expect((await session.tree()).size).toBe(1);
  });
});

describe("path", () => {
  const stored = (lines: readonly object[]) =>
    [
      { type: "session", version: 3, id: "s", timestamp: "2026-01-01T00:00:00.000Z", cwd: "/p" },
      ...lines,
    ].map((line) => new TextEncoder().encode(`${JSON.stringify(line)}\n`));
  const message = (id: string, parentId: string | null) => ({
    type: "message",
    id,
    parentId,
    timestamp: "2026-01-01T00:00:00.000Z",
    message: { role: "user", content: id, timestamp: 0 },
  });
  async function openedOn(lines: readonly Uint8Array[]) {
    const reads: number[] = [];
    const backend = hookedMemory({
      readAt: (places) => void reads.push(places.length),
    });
    const { log, position } = await backend.create({ id: "s", partition: "", cwd: "/p", timestamp: "" });
    await log.append(lines, position);
    return { session: await sessionStore(backend).open("s"), reads };
  }

  test("reads the bodies that are not cached in one call, and none the second time", async () => {
    const { session, reads } = await openedOn(
      stored([message("a", null), message("b", "a"), message("other", "a"), message("c", "b")]),
    );
    await session.context("b");
    expect(reads.splice(0)).toEqual([2]);
    expect((await session.path()).map(({ id }) => id)).toEqual(["a", "b", "c"]);
    expect(reads.splice(0)).toEqual([1]);
    expect(await session.path("b")).toEqual([await session.entry("a"), await session.entry("b")]);
    expect(reads).toEqual([]);
  });

  test("has unknown entries as they are, before a compaction too, and leaves out a damaged body", async () => {
    const unknown = { type: "other_program", id: "b", parentId: "a", timestamp: "t", field: [1] };
    const lines = stored([message("a", null), unknown, message("c", "b"), message("d", "c")]);
    const damaged = lines[3] as Uint8Array;
    damaged.set(new TextEncoder().encode("x"), damaged.length - 3);
    const { session } = await openedOn([
      ...lines,
      ...stored([
        {
          type: "compaction",
          id: "e",
          parentId: "d",
          timestamp: "t",
          summary: "s",
          firstKeptEntryId: "d",
          tokensBefore: 1,
        },
      ]).slice(1),
    ]);
    const path = await session.path();
    expect(path.map(({ id }) => id)).toEqual(["a", "b", "d", "e"]);
    expect(path[1]).toMatchObject({ type: "unknown", entryType: "other_program" });
    expect(session.diagnostics.map(({ code, entryId }) => [code, entryId])).toEqual([["INVALID_JSON", "c"]]);
  });

  test("has entries that are only staged", async () => {
    const { session } = await setting();
    await session.append([say("a")]);
    const [staged] = session.stage([{ type: "thinking_level_change", thinkingLevel: "high" }]);
    expect((await session.path()).at(-1)).toEqual(staged);
  });
});

describe("leaves", () => {
  const ends = async (session: Session) =>
    (await session.leaves()).map(({ id, current }) => (current ? `${id}*` : id));
  const said = (id: string): EntryDraft => ({ ...say(id), id });

  test("are the ends of the conversation: metadata makes none, before and behind it", async () => {
    const { session } = await setting();
    expect(await session.leaves()).toEqual([]);
    await session.append([{ type: "session_info", title: "title" }]);
    expect(await session.leaves()).toEqual([]);
    await session.append([said("a"), { type: "label", targetId: "a", label: "start" }, said("b")]);
    expect(await ends(session)).toEqual(["b*"]);
    // Each hangs on another entry, and on the path to the leaf.
    await session.branch("a");
    await session.append([{ type: "label", targetId: "b", label: "left" }]);
    await session.branch("b");
    await session.append([
      { type: "session_info", name: "name" },
      { type: "label", targetId: "a" },
    ]);
    expect(await ends(session)).toEqual(["b*"]);
    expect(await session.leaves()).toEqual([
      { ...(await session.tree()).node("b"), type: "message", role: "user", label: "left", current: true },
    ]);
    // The labels behind the end are not the end.
    await session.branch("b");
    expect(await ends(session)).toEqual(["b*"]);
    await session.append([said("c")]);
    expect(await ends(session)).toEqual(["c*"]);
  });

  test("are newest first in the log, and none is current after a move to an entry within a branch", async () => {
    const { session, other } = await setting();
    await session.append([said("a"), said("b"), said("c")]);
    await session.branch("b");
    await session.append([said("d")]);
    await session.branch(null);
    await session.append([said("e")]);
    await session.branch("b");
    expect(await ends(session)).toEqual(["e", "d", "c"]);
    await session.flush();
    expect(await ends(session)).toEqual(["e", "d", "c"]);
    await session.branch("c");
    expect(await ends(session)).toEqual(["e", "d", "c*"]);
    await session.append([said("f")]);
    expect(await ends(session)).toEqual(["f*", "e", "d"]);
    const [first] = await ends(await other());
    expect(first).toBe("f*");
  });

  test("of any tree: those that no entry of the conversation follows, by a plain walk", () => {
    const types = ["message", "label", "session_info", "usage", "leaf", "custom", "model_change"] as const;
    const outside = new Set<string>(["label", "session_info", "usage", "leaf"]);
    const place = fc.record({ type: fc.constantFrom(...types), parent: fc.nat({ max: 40 }) });
    fc.assert(
      fc.property(fc.array(place, { maxLength: 40 }), (places) => {
        // Also parents that come later, cycles, and parents that are missing.
        const entries = places.map(({ type, parent }, at) => ({
          type,
          id: `e${at}`,
          parentId: parent === at ? null : `e${parent}`,
          timestamp: "t",
          message: { role: "user", content: "", timestamp: 0 },
        }));
        const tree = new SessionTree(entries as never);
        const hasNext = (id: string): boolean =>
          tree.children(id).some((node) => !outside.has(node.type) || hasNext(node.id));
        const expected = entries
          .map(({ id }) => tree.node(id))
          .filter((node) => node !== undefined && !outside.has(node.type) && !hasNext(node.id))
          .reverse();
        const rows = treeRows(tree);
        expect(branchEnds(rows).map((row) => rows.id(row))).toEqual(expected.map((node) => node?.id));
      }),
    );
  });
});
