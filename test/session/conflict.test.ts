import { rmSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { userMessage } from "../../src/content/index.js";
import { SessileError } from "../../src/errors/index.js";
import type { EntryDraft, SessionEntry } from "../../src/session/api/entries.js";
import type { Session, SessionStore } from "../../src/session/api/types.js";
import { fileSessionStore } from "../../src/session/node/index.js";
import { memorySessionStore } from "../../src/session/store/memory-backend.js";
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
  const nodes = Array.from(read.tree.walk(), ({ node }) => node);
  for (const session of handles) {
    await session.refresh();
    expect(Array.from(session.tree.walk(), ({ node }) => node)).toEqual(nodes);
  }
  expect(read.diagnostics).toEqual([]);
  const { tree } = read;
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
    Array.from(session.tree.walk(), async ({ node }) => ({
      id: node.id,
      entry: await session.entry(node.id),
    })),
  );
  const { entryTableOf } = await import("../../src/session/tree/session-tree.js");
  const rows = entryTableOf(session.tree);
  return sizes.map(({ id }) => id).sort((a, b) => rows.row(a) - rows.row(b));
}

describe("handles with any mode of conflict", () => {
  test("keep every acknowledged entry once, where it was promised, in memory", async () => {
    await fc.assert(
      fc.asyncProperty(rounds, fc.integer({ min: 2, max: 3 }), async (plan, count) => {
        const store = memorySessionStore();
        await play(() => store, plan, count);
      }),
      { numRuns: 300 },
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
  }, 60_000);
});
