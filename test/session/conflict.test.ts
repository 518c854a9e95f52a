import { appendFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import fc from "fast-check";
import {
  assistantMessage,
  type EntryDraft,
  memorySessionStore,
  type Session,
  type SessionEntry,
  type SessionStore,
  userMessage,
} from "sessile";
import { SessileError } from "sessile/errors";
import { fileSessionStore } from "sessile/node";
import { describe, expect, test } from "vitest";
import { temporaryDirectory } from "./node/temporary-directory.js";

type Mode = "reject" | "branch" | "follow" | "rebase";

/** One call on one handle; a label for a rebase, else messages. */
interface Call {
  readonly type: "append";
  readonly handle: number;
  readonly mode: Mode;
  readonly count: number;
  /** Staged in front of it, where nothing waits. */
  readonly staged: boolean;
}

type Step = Call | { readonly type: "refresh"; readonly handle: number };

const handle = fc.nat({ max: 2 });
const call = fc.record<Call>({
  type: fc.constant("append"),
  handle,
  mode: fc.constantFrom<Mode>("reject", "branch", "follow", "follow", "rebase"),
  count: fc.integer({ min: 1, max: 2 }),
  staged: fc.boolean(),
});
const refresh = fc.record({ type: fc.constant("refresh" as const), handle });
/** Rounds of calls that nobody waits for in between. */
const rounds = fc.array(fc.array(fc.oneof({ weight: 5, arbitrary: call }, refresh), { maxLength: 4 }), {
  maxLength: 8,
});

const isConversation = (type: string) => type !== "label";

async function play(
  stores: () => SessionStore,
  plan: readonly (readonly Step[])[],
  count: number,
): Promise<void> {
  const first = await stores().create({ cwd: "/p" });
  await first.append([{ type: "message", message: userMessage("root") }]);
  const root = first.leafId as string;
  const handles = [first];
  while (handles.length < count) handles.push(await stores().open(first.id, { mode: "write" }));
  const owner = new Map<string, Session>();
  const promised = new Map<string, { readonly mode: Mode; readonly parent: string }>();
  const acknowledged: SessionEntry[] = [];
  let text = 0;
  const message = (): EntryDraft => ({ type: "message", message: userMessage(String(text++)) });
  for (const steps of plan) {
    const chained = new Map<Session, string | undefined>();
    const calls = steps.map(async (step) => {
      const session = handles[step.handle % count] as Session;
      if (step.type === "refresh") {
        await session.refresh();
        return;
      }
      const { mode } = step;
      const drafts: EntryDraft[] =
        mode === "rebase"
          ? [{ type: "label", targetId: root, label: String(text++) }]
          : Array.from({ length: step.count }, message).map((draft, at) => ({
              ...draft,
              id: `${text}x${at}`,
            }));
      const parent = chained.get(session) ?? (session.leafId as string);
      if (mode !== "rebase") {
        chained.set(session, drafts.at(-1)?.id);
        promised.set(drafts[0]?.id as string, { mode, parent });
      }
      try {
        const entries = await session.append(drafts, { conflict: mode });
        for (const entry of entries) {
          owner.set(entry.id, session);
          acknowledged.push(entry);
        }
      } catch (error) {
        if (!SessileError.is(error, "CONCURRENT_WRITER")) throw error;
      }
    });
    await Promise.all(calls);
    for (const step of steps) {
      const session = handles[step.handle % count] as Session;
      if (step.type !== "append" || !step.staged) continue;
      for (const entry of session.stage([{ type: "thinking_level_change", thinkingLevel: "high" }]))
        owner.set(entry.id, session);
    }
  }
  for (const session of handles) await session.append([], { conflict: "branch" });
  const read = await stores().open(first.id);
  const nodes = Array.from((await read.tree()).walk(), ({ node }) => node);
  for (const session of handles) {
    await session.refresh();
    expect(Array.from((await session.tree()).walk(), ({ node }) => node)).toEqual(nodes);
  }
  expect(read.diagnostics).toEqual([]);
  const tree = await read.tree();
  for (const entry of acknowledged) expect(await read.entry(entry.id)).toEqual(entry);
  expect(new Set(acknowledged.map(({ id }) => id)).size).toBe(acknowledged.length);
  /** The entry, or the last one of the conversation above it; staged settings count for nothing either. */
  const said = (id: string | null): string | null => {
    let at = id;
    while (at !== null && tree.node(at)?.type !== "message") at = tree.node(at)?.parentId ?? null;
    return at;
  };
  const order = await inFileOrder(read);
  for (const [id, { mode, parent }] of promised) {
    const session = owner.get(id);
    if (session === undefined) continue;
    const actual = said(tree.node(id)?.parentId ?? null);
    const before = order
      .slice(0, order.indexOf(id))
      .filter((each) => isConversation(tree.node(each)?.type ?? ""));
    // Behind what it staged itself, which goes where it goes.
    const newest = before.findLast(
      (each) => tree.node(each)?.type === "message" || owner.get(each) !== session,
    );
    if (mode === "follow" && newest !== undefined && owner.get(newest) !== session) {
      expect(actual).toBe(said(newest));
    } else expect(actual).toBe(said(parent));
  }
  for (const session of [...handles, read]) await session.close();
}

/** The ids of a session's entries as its lines stand. */
async function inFileOrder(session: Session): Promise<string[]> {
  const sizes = await Promise.all(
    Array.from((await session.tree()).walk(), async ({ node }) => ({
      id: node.id,
      entry: await session.entry(node.id),
    })),
  );
  const { treeRows } = await import("../../src/session/tree/session-tree.js");
  const rows = treeRows(await session.tree());
  return sizes.map(({ id }) => id).sort((a, b) => rows.row(a) - rows.row(b));
}

describe("handles with any mode of conflict", () => {
  test("keep every acknowledged entry once, where it was promised, in memory", async () => {
    await fc.assert(
      fc.asyncProperty(rounds, fc.integer({ min: 2, max: 3 }), async (plan, count) => {
        const store = memorySessionStore();
        await play(() => store, plan, count);
      }),
      { numRuns: 100 },
    );
  });

  test("keep an append on their branch if a label before it went to another's", async () => {
    const append = { type: "append", count: 1, staged: false } as const;
    const plan: readonly (readonly Step[])[] = [
      [{ ...append, handle: 1, mode: "reject" }],
      [
        { ...append, handle: 0, mode: "rebase" },
        { type: "refresh", handle: 0 },
        { ...append, handle: 0, mode: "reject" },
        { ...append, handle: 1, mode: "rebase" },
      ],
    ];
    const other: readonly (readonly Step[])[] = [
      [
        { ...append, handle: 1, mode: "reject" },
        { ...append, handle: 0, mode: "reject" },
      ],
      [
        { ...append, handle: 0, mode: "rebase" },
        { ...append, handle: 1, mode: "rebase" },
        { ...append, handle: 1, mode: "follow" },
      ],
    ];
    for (const steps of [plan, other]) {
      const store = memorySessionStore();
      await play(() => store, steps, 2);
    }
  });

  // @covers R156
  test("keep every acknowledged entry once, where it was promised, in files", async () => {
    await fc.assert(
      fc.asyncProperty(rounds, fc.integer({ min: 2, max: 3 }), async (plan, count) => {
        const dir = temporaryDirectory();
        await play(() => fileSessionStore({ dir, durability: "os" }), plan, count);
        rmSync(dir, { recursive: true });
      }),
      { numRuns: 25 },
    );
  });
});

describe("the error of a conflict", () => {
  const say = (text: string, id: string): EntryDraft => ({ type: "message", id, message: userMessage(text) });
  const failure = async (act: Promise<unknown>): Promise<SessileError<"CONCURRENT_WRITER">> => {
    const error = await act.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (!SessileError.is(error, "CONCURRENT_WRITER")) throw new Error(`no conflict: ${String(error)}`);
    // JSON-safe.
    expect(JSON.parse(JSON.stringify(error.details))).toEqual(error.details);
    return error;
  };
  const pair = async (store: SessionStore = memorySessionStore()) => {
    const first = await store.create({ cwd: "/p", id: "s" });
    await first.append([say("root", "root")]);
    return { first, second: await store.open("s", { mode: "write" }) };
  };

  test("has the entries that came first, both leaves and the remedy, no positions", async () => {
    const { first, second } = await pair();
    const call = { type: "toolCall", id: "c", name: "n", arguments: {} } as const;
    const reply = assistantMessage({ provider: "p", model: "m" }, call);
    await first.append([say("a", "a"), { type: "message", id: "b", message: reply }]);
    await first.append([{ type: "label", id: "l", targetId: "a", label: "x" }], { conflict: "rebase" });
    const error = await failure(second.append([say("mine", "mine")]));
    expect(error.message).toBe(
      "another process or handle appended 3 entries to session s first: user message a, assistant message b, label l; " +
        "its leaf is l, this handle's is root. Nothing was written: append again with conflict " +
        '"branch" or "follow" (a label, session_info or usage: "rebase"), or call branch(details.leafId) first',
    );
    expect(error.details).toEqual({
      expected: "root",
      actual: "l",
      leafId: "l",
      added: 3,
      entryIds: ["a", "b", "l"],
      entries: [
        { id: "a", type: "message", role: "user" },
        { id: "b", type: "message", role: "assistant" },
        { id: "l", type: "label" },
      ],
    });
    expect(error.cause).toMatchObject({ code: "CONCURRENT_WRITER" });
  });

  test("counts more entries than it lists", async () => {
    const { first, second } = await pair();
    const ids = Array.from({ length: 120 }, (_, at) => `e${at}`);
    await first.append(ids.map((id) => say("x", id)));
    const { message, details } = await failure(second.append([say("mine", "mine")]));
    expect(message).toContain(
      "120 entries to session s first: user message e0, user message e1, user message e2 and 117 more;",
    );
    expect([details.added, details.entries?.length, details.entries?.at(-1)?.id]).toEqual([120, 100, "e119"]);
    expect(details.entryIds).toEqual(ids.slice(-100));
  });

  test("of a log that was replaced says so, and offers no mode that cannot help", async () => {
    const session = await fileSessionStore({ dir: temporaryDirectory() }).create({ cwd: "/p", id: "s" });
    await session.append([say("a", "a")]);
    await session.append([say("b", "b")]);
    const path = session.location as string;
    writeFileSync(path, readFileSync(path, "utf8").split("\n").slice(0, 2).join("\n").concat("\n"));
    const { message, details } = await failure(session.append([say("mine", "mine")], { conflict: "branch" }));
    expect(message).toBe(
      "another program replaced the log of session s, which was read again; its leaf is a. " +
        "Nothing was written: check the session's context and append again",
    );
    expect(details).toMatchObject({ expected: "a", actual: "a", leafId: "a" });
    await session.close();
  });

  test("is none for an append after an entry that only a name, a label or usage follows", async () => {
    const { first } = await pair();
    await first.updateInfo({ name: "named" });
    await first.append([{ type: "label", targetId: "root", label: "l" }]);
    const [leaf] = await first.leaves();
    expect(leaf).toMatchObject({ id: "root", current: true });
    await first.append([say("x", "x")], { after: "root" });
    await expect(first.append([say("y", "y")], { after: "root" })).rejects.toMatchObject({
      code: "CONCURRENT_WRITER",
    });
    await expect(first.append([say("y", "y")], { after: "nowhere" })).rejects.toMatchObject({
      code: "CONCURRENT_WRITER",
    });
    expect(first.leafId).toBe("x");
  });

  test("of an append whose place is another says which, and so does one that cannot follow", async () => {
    const { first, second } = await pair();
    const after = await failure(first.append([say("x", "x")], { after: null }));
    expect(after.message).toBe(
      "the append must follow no entry (after: null), but the leaf is root. " +
        "Nothing was written: make the entries for the leaf, or move it by branch()",
    );
    const call = { type: "toolCall", id: "c", name: "n", arguments: {} } as const;
    const reply = assistantMessage({ provider: "p", model: "m" }, call);
    await first.append([{ type: "message", id: "b", message: reply }]);
    const error = await failure(second.append([say("x", "x")], { conflict: "follow" }));
    expect(error.message).toBe(
      "the entries cannot move from behind root to behind another writer's b: a tool call there has no result yet. " +
        'Nothing was written: append again with conflict "branch", or with "follow" once the result is there',
    );
    expect(error.details).toMatchObject({
      expected: "root",
      actual: "b",
      leafId: "b",
      reason: "pendingCall",
    });
  });

  test("names the process that held the lock, if this append waited for it", async () => {
    const dir = temporaryDirectory();
    const { first, second } = await pair(fileSessionStore({ dir }));
    // In one tick: the first takes the lock, the second waits for it.
    const written = first.append([say("a", "a")]);
    const { message, details } = await failure(second.append([say("mine", "mine")]));
    await written;
    expect(details.holder).toEqual({ pid: process.pid, host: expect.stringContaining(hostname()) });
    expect(message).toContain(
      `process ${process.pid} on ${details.holder?.host} appended 1 entry to session s first:`,
    );
    // Within one acquisition there is no other holder: a program that ignores locks wrote.
    await second.append([say("mine", "mine")]);
    const line = { type: "message", id: "z", parentId: null, timestamp: "t", message: userMessage("theirs") };
    appendFileSync(second.location as string, `${JSON.stringify(line)}\n`);
    const foreign = await failure(second.append([say("more", "more")]));
    expect(foreign.details).not.toHaveProperty("holder");
    await first.close();
    await second.close();
  });
});
