import {
  type EntryDraft,
  type EphemeralDraft,
  type EphemeralEvent,
  memorySessionStore,
  type Session,
  type SessionEntry,
  userMessage,
} from "sessile";
import { describe, expect, it, vi } from "vitest";
import { entryTypeNames } from "../../src/log/entry-types.js";
import { Events } from "../../src/session/api/events.js";

interface Map {
  one: number;
  two: { readonly text: string };
  error: unknown;
}

describe("Events", () => {
  // @covers R92
  it("calls the listeners of an event with its payload, in the order they came", () => {
    const events = new Events<Map>();
    const calls: unknown[] = [];
    events.on("one", (payload) => calls.push(["first", payload]));
    events.on("one", (payload) => calls.push(["second", payload]));
    events.on("two", (payload) => calls.push(["other", payload]));
    events.emit("one", 1);
    expect(calls).toEqual([
      ["first", 1],
      ["second", 1],
    ]);
  });

  it("gives a function that ends one listening and no other", () => {
    const events = new Events<Map>();
    const listener = vi.fn();
    const undo = events.on("one", listener);
    events.on("one", listener);
    undo();
    undo();
    events.emit("one", 1);
    expect(listener).toHaveBeenCalledTimes(1);
  });

  it("lets a listener end itself while it is called", () => {
    const events = new Events<Map>();
    const after = vi.fn();
    const undo = events.on("one", () => undo());
    events.on("one", after);
    events.emit("one", 1);
    events.emit("one", 2);
    expect(after.mock.calls).toEqual([[1], [2]]);
  });

  // @covers R143
  it("makes an error event of what a listener throws, and calls the others", () => {
    const events = new Events<Map>();
    const error = new Error("listener");
    const errors = vi.fn();
    const after = vi.fn();
    events.on("error", errors);
    events.on("one", () => {
      throw error;
    });
    events.on("one", after);
    events.emit("one", 1);
    expect(errors.mock.calls).toEqual([[{ error, operation: "listener of one" }]]);
    expect(after).toHaveBeenCalledOnce();
  });

  it.each(["one", "error"] as const)(
    "throws what a listener of %s throws where nobody hears of it",
    (event) => {
      const events = new Events<Map>();
      const error = new Error("listener");
      const later: (() => void)[] = [];
      const queue = vi
        .spyOn(globalThis, "queueMicrotask")
        .mockImplementation((callback) => later.push(callback));
      try {
        events.on(event, () => {
          throw error;
        });
        events.emit(event, 1);
      } finally {
        queue.mockRestore();
      }
      expect(later).toHaveLength(1);
      expect(later[0]).toThrow(error);
    },
  );

  it("says whether anybody listens, and forgets all", () => {
    const events = new Events<Map>();
    expect(events.has("one")).toBe(false);
    const listener = vi.fn();
    events.on("one", listener);
    expect([events.has("one"), events.has("two")]).toEqual([true, false]);
    events.clear();
    events.emit("one", 1);
    expect(listener).not.toHaveBeenCalled();
  });
});

const newSession = (): Promise<Session> => memorySessionStore().create({ cwd: "/work" });

describe("the events of a session", () => {
  it("a listener that throws fails no append", async () => {
    const session = await newSession();
    const errors: unknown[] = [];
    session.on("error", ({ error, operation }) => errors.push([operation, (error as Error).message]));
    session.on("entry", () => {
      throw new Error("listener");
    });
    const entry = await session.appendMessage(userMessage("hi"));
    expect(await session.entry(entry.id)).toEqual(entry);
    expect(session.leafId).toBe(entry.id);
    expect(errors).toEqual([["listener of entry", "listener"]]);
  });

  it("a listener may append", async () => {
    const session = await newSession();
    const undo = session.on("entry", ({ entry }) => {
      undo();
      void session.append([{ type: "label", targetId: entry.id, label: "seen" }]);
    });
    const entry = await session.appendMessage(userMessage("hi"));
    await session.flush();
    expect((await session.tree()).label(entry.id)).toBe("seen");
  });

  it("the function that on returns ends listening", async () => {
    const session = await newSession();
    const seen: string[] = [];
    const undo = session.on("entry", ({ entry }) => seen.push(entry.id));
    const entry = await session.appendMessage(userMessage("one"));
    undo();
    await session.appendMessage(userMessage("two"));
    expect(seen).toEqual([entry.id]);
  });

  it("a label or a stage is told like any other entry, a staged one when it is written", async () => {
    const session = await newSession();
    const seen: string[] = [];
    session.on("entry", ({ entry }) => seen.push(entry.type));
    session.stage([{ type: "model_change", provider: "p", modelId: "m" }]);
    expect(seen).toEqual([]);
    await session.appendMessage(userMessage("one"));
    expect(seen).toEqual(["model_change", "message"]);
  });

  it("a parent is told before its child: settings do not wait behind a staged message, or pass a staged setting", async () => {
    const told: SessionEntry[] = [];
    const session = await newSession();
    session.on("entry", ({ entry }) => told.push(entry as SessionEntry));
    session.stage([{ type: "model_change", provider: "p", modelId: "m" }]);
    await session.updateInfo({ title: "settings alone" });
    expect(told.map(({ type }) => type)).toEqual(["model_change", "session_info"]);
    session.stage([{ type: "message", message: userMessage("staged") }]);
    await session.updateInfo({ title: "behind a message" });
    await session.flush();
    expect(told.map(({ type }) => type)).toEqual(["model_change", "session_info", "message", "session_info"]);
    const parents = told.map(({ parentId }) => parentId);
    expect(parents).toEqual([null, ...told.slice(0, -1).map(({ id }) => id)]);
  });

  // @covers R139 R143
  it("diffs of a session_info and of a revert are told", async () => {
    const session = await newSession();
    const diffs: unknown[] = [];
    session.on("diff", (payload) => diffs.push(payload));
    const { id } = await session.appendMessage(userMessage("one"));
    const files = [{ file: "a.ts", additions: 1, deletions: 0 }];
    const stats = { additions: 1, deletions: 0, files: 1, diffs: files };
    await session.updateInfo({ stats });
    const [revert] = await session.append([{ type: "revert", targetId: id, diff: "--- a.ts" }]);
    await session.append([{ type: "revert", targetId: id }]);
    expect(diffs).toEqual([
      { entryId: revert?.parentId, stats, files },
      { entryId: revert?.id, diff: "--- a.ts" },
    ]);
  });
});

describe("every change of a session", () => {
  // @covers R92 R143 R152
  it("is told by name, once, to its handle, to other handles and to the store", async () => {
    const sessions = memorySessionStore();
    const told: string[] = [];
    for (const name of ["created", "updated", "deleted"] as const)
      sessions.on(name, ({ id }) => told.push(`store ${name} ${id}`));
    const names = ["created", "updated", "entry", "leaf", "diff", "error", "deleted", "closed"] as const;
    const listen = (session: Session, who: string) => {
      for (const name of names)
        session.on(name, (payload) =>
          told.push(
            [who, name, "origin" in payload ? `${payload.origin} ${payload.entry.type}` : ""]
              .join(" ")
              .trim(),
          ),
        );
    };
    const during = async (change: () => unknown) => {
      told.length = 0;
      await change();
      return [...told];
    };
    const session = await sessions.create({ cwd: "/work", id: "one" });
    listen(session, "writer");
    const first = await during(() => session.appendMessage(userMessage("one"), {}));
    expect(first.sort()).toEqual([
      "store created one",
      "writer created",
      "writer entry local message",
      "writer leaf",
    ]);
    const id = session.leafId ?? "";
    const reader = await sessions.open("one");
    listen(reader, "reader");

    expect(await during(() => session.append([{ type: "label", targetId: id, label: "x" }]))).toEqual([
      "writer entry local label",
      "writer leaf",
    ]);
    expect((await during(() => reader.refresh())).sort()).toEqual([
      "reader entry remote label",
      "reader leaf",
    ]);
    expect(await during(async () => await session.branch(id))).toEqual(["writer leaf"]);
    expect((await during(() => session.updateInfo({ name: "n" }))).sort()).toEqual([
      "store updated one",
      "writer entry local session_info",
      "writer leaf",
      "writer updated",
    ]);
    const revert: EntryDraft = { type: "revert", targetId: id, diff: "--- a.ts" };
    expect((await during(() => session.append([revert]))).sort()).toEqual([
      "writer diff",
      "writer entry local revert",
      "writer leaf",
    ]);
    expect(await during(() => session.close())).toEqual(["writer closed"]);
    expect(await during(() => sessions.delete("one"))).toContain("store deleted one");
  });
});

function thrownBy(act: () => void): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  return undefined;
}

describe("ephemeral events", () => {
  const events: readonly EphemeralDraft[] = [
    { type: "text_delta", delta: "he" },
    { type: "thinking_delta", delta: "hm", messageId: "m1" },
    { type: "tool_state", toolCallId: "c1", state: "running" },
    { type: "status", status: "retrying", message: "overloaded" },
    { type: "compacting", active: true },
  ];

  // @covers R29
  it("reach listeners with an id, their time and their session, and no log", async () => {
    const now = Date.parse("2026-01-02T03:04:05.678Z");
    const sessions = memorySessionStore({ now: () => now });
    const session = await sessions.create({ cwd: "/work" });
    const seen: EphemeralEvent[] = [];
    session.on("ephemeral", (event) => seen.push(event));
    for (const event of events) session.publish(event);
    const timestamp = "2026-01-02T03:04:05.678Z";
    expect(seen).toEqual(
      events.map((event) => ({ ...event, id: expect.any(String), timestamp, sessionId: session.id })),
    );
    expect(new Set(seen.map(({ id }) => id)).size).toBe(events.length);
    // What an event claims of itself does not count.
    session.publish({
      type: "status",
      status: "idle",
      id: "mine",
      timestamp: "",
      sessionId: "other",
    } as never);
    expect(seen.at(-1)).toMatchObject({ status: "idle", timestamp, sessionId: session.id });
    expect(seen.at(-1)?.id).not.toBe("mine");
    await session.close();
    await expect(sessions.open(session.id)).rejects.toThrow("there is no session");
  });

  // @covers R29
  it("are refused by append, by types and at run time", async () => {
    const session = await newSession();
    const refused = { code: "INVALID_ENTRY", details: { path: "drafts[0].type" } };
    const refuse = (draft: EntryDraft) => expect(session.append([draft])).rejects.toMatchObject(refused);
    // @ts-expect-error An event is no draft.
    await refuse({ type: "text_delta", delta: "he" });
    // @ts-expect-error An event is no draft.
    await refuse({ type: "thinking_delta", delta: "hm" });
    // @ts-expect-error An event is no draft.
    await refuse({ type: "tool_state", toolCallId: "c", state: "running" });
    // @ts-expect-error An event is no draft.
    await refuse({ type: "status", status: "idle" });
    // @ts-expect-error An event is no draft.
    await refuse({ type: "compacting", active: true });
    // @ts-expect-error An event is no draft.
    expect(() => session.stage([{ type: "status", status: "idle" }])).toThrow("publish it");
    expect((await session.tree()).size).toBe(0);
  });

  // @covers R29
  it("are all that publish takes: what is recorded is appended", async () => {
    const session = await newSession();
    const seen: unknown[] = [];
    session.on("ephemeral", (event) => seen.push(event));
    const refused = { code: "INVALID_ENTRY", details: { path: "event.type" } };
    for (const type of [...entryTypeNames, "deleted", "toString", "", undefined, null, 1]) {
      const failure = thrownBy(() => session.publish({ type, message: "x" } as never));
      expect(failure).toMatchObject(refused);
      expect(String(failure).includes("append it")).toBe(entryTypeNames.includes(type as never));
    }
    for (const event of [null, undefined, "status", [{ type: "status" }]])
      expect(thrownBy(() => session.publish(event as never))).toMatchObject({ code: "INVALID_ENTRY" });
    // @ts-expect-error A message is an entry.
    expect(() => session.publish({ type: "message", message: userMessage("x") })).toThrow("append it");
    expect(seen).toEqual([]);
    expect((await session.tree()).size).toBe(0);
  });
});
