import { compact, initialContext, summarizeBranch } from "sessile/compaction";
import type { Message } from "sessile/content";
import { memorySessionStore, type Session } from "sessile/session";
import { describe, expect, test } from "vitest";
import { memoryBackend } from "../../src/session/memory.js";
import { sessionStore } from "../../src/session/store.js";
import { gate, hookedBackend } from "../session/hooked-backend.js";
import { compactNow, gave, keepLast, saidIn, scripted, sessionOf, told, user } from "./scripted.js";

const long = "x".repeat(400);
const talk: readonly Message[] = [user(long), told(long, ["1"]), gave("1", long), user("now this")];
const say = (message: Message) => ({ type: "message" as const, message });

/** A model that does something while it is asked, the first time. */
function meanwhile(act: () => unknown) {
  let isDone = false;
  return async () => {
    if (!isDone) {
      isDone = true;
      await act();
    }
    return { text: "SUMMARY" };
  };
}
/** The summary and what follows; the summary without its blocks. */
const shown = async (session: Session) =>
  (await saidIn(session)).map((line) => line.replace(/\n\n<[\s\S]*$/, ""));

describe("what is appended while the model writes", () => {
  test("by the same handle stays, behind what was kept", async () => {
    const session = await sessionOf(talk);
    const generate = meanwhile(() => session.append([say(told("on it")), say(user("and that"))]));
    expect(await compactNow(session, { generate })).toMatchObject({ status: "compacted" });
    expect(await shown(session)).toEqual([
      "compactionSummary: SUMMARY",
      "user: now this",
      "assistant: on it",
      "user: and that",
    ]);
  });

  test("and is still on its way to the log, stays too", async () => {
    const session = await sessionOf(talk);
    const generate = meanwhile(() => void session.append([say(told("on it"))]));
    await compactNow(session, { generate });
    expect(await shown(session)).toEqual([
      "compactionSummary: SUMMARY",
      "user: now this",
      "assistant: on it",
    ]);
  });

  test("a pin of what would be summarised holds, and so do a label and a tool's late result", async () => {
    const session = await sessionOf([user(long), told("keep this"), user(long), told("", ["2"])]);
    const ids = session.tree.path(session.leafId).map(({ id }) => id);
    const generate = meanwhile(() =>
      session.append([
        { type: "context_pin", targetId: ids[1] as string, pinned: true },
        { type: "label", targetId: ids[0] as string, label: "start" },
        say(gave("2", "found")),
      ]),
    );
    await compactNow(session, { generate, strategy: keepLast(2) });
    expect(await shown(session)).toEqual([
      "compactionSummary: SUMMARY",
      "assistant: keep this",
      `user: ${long}`,
      "assistant: <toolCall>",
      "toolResult: found",
    ]);
  });

  test("that leaves no room is CONCURRENT_WRITER, and stays", async () => {
    const session = await sessionOf(talk);
    const generate = meanwhile(() => session.append([say(told("y".repeat(5000)))]));
    await expect(compactNow(session, { generate })).rejects.toMatchObject({ code: "CONCURRENT_WRITER" });
    expect(session.tree.size).toBe(5);
  });

  test("and is an edit is CONCURRENT_WRITER: the summary is of another context", async () => {
    const session = await sessionOf(talk);
    const [first] = session.tree.path(session.leafId);
    const generate = meanwhile(() =>
      session.append([
        { type: "context_edit", targetId: first?.id as string, replacement: { content: "less" } },
      ]),
    );
    await expect(compactNow(session, { generate })).rejects.toMatchObject({ code: "CONCURRENT_WRITER" });
    expect([...session.tree.walk()].map(({ node }) => node.type)).not.toContain("compaction");
  });
});

describe("what comes from elsewhere is CONCURRENT_WRITER, and nothing is written", () => {
  test("another handle's entry", async () => {
    const store = memorySessionStore();
    const session = await store.create({ cwd: "/w" });
    await session.append(talk.map(say));
    const other = (await store.open(session.id, { mode: "write" })) as Session;
    const generate = meanwhile(() => other.append([say(user("from elsewhere"))]));
    await expect(compactNow(session, { generate })).rejects.toMatchObject({ code: "CONCURRENT_WRITER" });
    await other.refresh();
    expect(other.tree.size).toBe(5);
    expect(await saidIn(session)).toHaveLength(4);
  });

  test("the tip moved to another branch, a shorter one, or to no entry", async () => {
    for (const at of [0, 2, undefined]) {
      const session = await sessionOf(talk);
      const ids = session.tree.path(session.leafId).map(({ id }) => id);
      const to = at === undefined ? null : (ids[at] as string);
      const generate = meanwhile(() => session.branch(to));
      await expect(compactNow(session, { generate })).rejects.toMatchObject({ code: "CONCURRENT_WRITER" });
      expect([session.tree.size, session.leafId]).toEqual([4, to]);
    }
  });

  test("the second of two compactions at once", async () => {
    const session = await sessionOf(talk);
    const done = await Promise.allSettled([
      compactNow(session, scripted("A")),
      compactNow(session, scripted("B")),
    ]);
    expect(done.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    expect(done[1]).toMatchObject({ reason: { code: "CONCURRENT_WRITER" } });
    expect((await shown(session))[0]).toBe("compactionSummary: A");
    expect([...session.tree.walk()].filter(({ node }) => node.type === "compaction")).toHaveLength(1);
  });

  test("a branch that is left meanwhile", async () => {
    const session = await sessionOf(talk);
    const [first] = session.tree.path(session.leafId);
    const generate = meanwhile(() =>
      summarizeBranch(session, first?.id as string, { ...scripted("LEFT"), window: 10_000 }),
    );
    await expect(compactNow(session, { generate })).rejects.toMatchObject({ code: "CONCURRENT_WRITER" });
    expect((await saidIn(session))[1]).toMatch(/^branchSummary: LEFT/);
  });
});

describe("the batch", () => {
  const giant = "line of text\n".repeat(2000);

  test("is one append of the store: what is told again, edits, the compaction last", async () => {
    const appends: number[] = [];
    const backend = hookedBackend(memoryBackend(Date.now), {
      append: (lines, _, append) => {
        appends.push(lines.length);
        return append();
      },
    });
    const session = await sessionStore(backend, {}).create({ cwd: "/w" });
    await session.append([
      initialContext("old rules"),
      ...[user(long), told("", ["1"]), gave("1", giant)].map(say),
    ]);
    appends.length = 0;
    const result = await compactNow(session, {
      ...scripted("SUMMARY"),
      strategy: keepLast(2),
      window: 12_000,
      initialContext: { content: "new rules" },
    });
    expect(result.status === "compacted" && result.entries.map(({ type }) => type)).toEqual([
      "custom_message",
      "context_edit",
      "compaction",
    ]);
    expect(appends).toEqual([3]);
  });

  test("that the store refuses leaves nothing, and the next one succeeds", async () => {
    let fails = false;
    const backend = hookedBackend(memoryBackend(Date.now), {
      append: (_lines, _expected, append) =>
        fails ? Promise.reject(Object.assign(new Error("disk full"), { code: "ENOSPC" })) : append(),
    });
    const store = sessionStore(backend, {});
    const session = await store.create({ cwd: "/w" });
    await session.append(talk.map(say));
    const before = await saidIn(session);
    fails = true;
    await expect(compactNow(session, scripted("A"))).rejects.toThrow();
    fails = false;
    const again = (await store.open(session.id, { mode: "write" })) as Session;
    expect(await saidIn(again)).toEqual(before);
    expect(await compactNow(again, scripted("B"))).toMatchObject({ status: "compacted" });
    expect((await shown(again))[0]).toBe("compactionSummary: B");
  });

  test("that was written though the process never heard of it is not done again", async () => {
    const store = memorySessionStore();
    const session = await store.create({ cwd: "/w" });
    await session.append(talk.map(say));
    await compactNow(session, scripted("A"));
    // The process ends here; another one opens what is there, and compacts again.
    const again = (await store.open(session.id, { mode: "write" })) as Session;
    const before = await saidIn(again);
    const model = scripted("B");
    const strategy = keepLast(1, {
      choose: ({ items }) =>
        items.length > 3 ? keepLast(1).choose({ items } as never, {} as never) : undefined,
    });
    expect(await compactNow(again, { ...model, strategy })).toEqual({ status: "nothingToDo" });
    expect([await saidIn(again), model.prompts]).toEqual([before, []]);
  });

  test("waits in line behind what is being written, and an abort withdraws it", async () => {
    const { opened, open } = gate();
    let holds = false;
    const backend = hookedBackend(memoryBackend(Date.now), {
      append: async (_lines, _expected, append) => {
        if (holds) await opened;
        return append();
      },
    });
    const session = await sessionStore(backend, {}).create({ cwd: "/w" });
    await session.append(talk.map(say));
    const controller = new AbortController();
    const reason = new Error("enough");
    const model = meanwhile(() => {
      holds = true;
      void session.append([say(told("on it"))]);
      setTimeout(() => {
        controller.abort(reason);
        open();
      }, 2);
    });
    await expect(
      compact(session, { generate: model, strategy: keepLast(1), window: 1000, signal: controller.signal }),
    ).rejects.toBe(reason);
    await session.flush();
    expect([...session.tree.walk()].map(({ node }) => node.type)).not.toContain("compaction");
  });
});
