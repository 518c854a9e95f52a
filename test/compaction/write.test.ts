import fc from "fast-check";
import {
  type Context,
  type ContextItem,
  type ContextMessage,
  contextFrom,
  type Message,
  memorySessionStore,
  type Session,
  sessionStore,
} from "sessile";
import {
  type CompactionPlan,
  compact,
  initialContext,
  type PlanOptions,
  planCompaction,
  summarizeBranch,
} from "sessile/compaction";
import { SessileError } from "sessile/errors";
import { describe, expect, test } from "vitest";
import { compactionDrafts } from "../../src/compaction/compact.js";
import { previewItems, verify } from "../../src/compaction/plan.js";
import { gate, hookedMemory } from "../session/hooked-backend.js";
import {
  compactNow,
  gave,
  keepLast,
  lengthOf,
  saidIn,
  scripted,
  sessionOf,
  textOf,
  told,
  usage,
  user,
} from "./scripted.js";

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
  // @covers R95
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
    const ids = (await session.tree()).path(session.leafId).map(({ id }) => id);
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
    expect((await session.tree()).size).toBe(5);
  });

  test("and is an edit is CONCURRENT_WRITER: the summary is of another context", async () => {
    const session = await sessionOf(talk);
    const [first] = (await session.tree()).path(session.leafId);
    const generate = meanwhile(() =>
      session.append([
        { type: "context_edit", targetId: first?.id as string, replacement: { content: "less" } },
      ]),
    );
    await expect(compactNow(session, { generate })).rejects.toMatchObject({ code: "CONCURRENT_WRITER" });
    expect([...(await session.tree()).walk()].map(({ node }) => node.type)).not.toContain("compaction");
  });
});

describe("a compaction that meets other entries again and again", () => {
  /** A session that does something before each append of a compaction, and counts them. */
  async function contended(act: (session: Session, attempt: number) => Promise<unknown>) {
    const session = await sessionOf(talk);
    const attempts: (string | null | undefined)[] = [];
    const append = session.append.bind(session);
    session.append = async (drafts, options) => {
      if (drafts.some(({ type }) => type === "compaction")) {
        attempts.push(options?.after);
        await act(session, attempts.length);
      }
      return append(drafts, options);
    };
    return { session, attempts };
  }

  test("is planned on all of them, each time after the leaf of its time", async () => {
    const leaves: (string | null)[] = [];
    const { session, attempts } = await contended(async (own, attempt) => {
      leaves.push(own.leafId);
      if (attempt <= 3) await own.append([say(user(`more ${attempt}`))]);
    });
    expect(await compactNow(session, scripted("SUMMARY"))).toMatchObject({ status: "compacted" });
    expect(attempts).toEqual(leaves);
    expect(await shown(session)).toEqual([
      "compactionSummary: SUMMARY",
      ...["now this", "more 1", "more 2", "more 3"].map((text) => `user: ${text}`),
    ]);
  });

  test("gives up after nine attempts", async () => {
    const { session, attempts } = await contended((own, attempt) => own.append([say(user(`${attempt}`))]));
    await expect(compactNow(session, scripted("SUMMARY"))).rejects.toMatchObject({
      code: "CONCURRENT_WRITER",
    });
    expect(attempts).toHaveLength(9);
    expect([...(await session.tree()).walk()].map(({ node }) => node.type)).not.toContain("compaction");
  });

  test("gives up at once where the leaf is that of its last plan, or for another error", async () => {
    for (const [code, count] of [
      ["CONCURRENT_WRITER", 2],
      ["SESSION_LOCKED", 1],
    ] as const) {
      const { session, attempts } = await contended(async (own, attempt) => {
        if (attempt === 1) await own.append([say(user("more"))]);
        if (attempt === count)
          throw Object.assign(
            new SessileError("CONCURRENT_WRITER", "refused", { details: { expected: "a", actual: "b" } }),
            {
              code,
            },
          );
      });
      await expect(compactNow(session, scripted("SUMMARY"))).rejects.toMatchObject({ code });
      expect(attempts).toHaveLength(count);
    }
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
    expect((await other.tree()).size).toBe(5);
    expect(await saidIn(session)).toHaveLength(4);
  });

  test("the leaf moved to another branch, a shorter one, or to no entry", async () => {
    for (const at of [0, 2, undefined]) {
      const session = await sessionOf(talk);
      const ids = (await session.tree()).path(session.leafId).map(({ id }) => id);
      const to = at === undefined ? null : (ids[at] as string);
      const generate = meanwhile(() => session.branch(to));
      await expect(compactNow(session, { generate })).rejects.toMatchObject({ code: "CONCURRENT_WRITER" });
      expect([(await session.tree()).size, session.leafId]).toEqual([4, to]);
    }
  });

  // @covers R95
  test("the second of two compactions at once", async () => {
    const session = await sessionOf(talk);
    const done = await Promise.allSettled([
      compactNow(session, scripted("A")),
      compactNow(session, scripted("B")),
    ]);
    expect(done.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    expect(done[1]).toMatchObject({ reason: { code: "CONCURRENT_WRITER" } });
    expect((await shown(session))[0]).toBe("compactionSummary: A");
    expect([...(await session.tree()).walk()].filter(({ node }) => node.type === "compaction")).toHaveLength(
      1,
    );
  });

  test("a branch that is left meanwhile", async () => {
    const session = await sessionOf(talk);
    const [first] = (await session.tree()).path(session.leafId);
    const generate = meanwhile(() =>
      summarizeBranch(session, first?.id as string, { ...scripted("LEFT"), window: 10_000 }),
    );
    await expect(compactNow(session, { generate })).rejects.toMatchObject({ code: "CONCURRENT_WRITER" });
    expect((await saidIn(session))[1]).toMatch(/^branchSummary: LEFT/);
  });
});

describe("the batch", () => {
  const giant = "line of text\n".repeat(2000);

  // @covers R95
  test("is one append of the store: what is told again, edits, the compaction last", async () => {
    const appends: number[] = [];
    const backend = hookedMemory({
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
    const backend = hookedMemory({
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
    const backend = hookedMemory({
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
    expect([...(await session.tree()).walk()].map(({ node }) => node.type)).not.toContain("compaction");
  });
});

describe("drafts", () => {
  const long = "x".repeat(400);
  const context = contextFrom([user(long), told(long, ["1"]), gave("1", long), user("now"), told("this")]);
  const summary = { text: "SUMMARY", fromHook: false };
  const planFor = (of: Context, more: Partial<PlanOptions> = {}) =>
    planCompaction(of, {
      strategy: keepLast(1),
      window: 1000,
      estimate: lengthOf,
      ...more,
    }) as CompactionPlan;
  const size = { messages: 10, overhead: 0, withoutGain: 0 };
  const compactionOf = (
    of: Context,
    plan = planFor(of),
    written: Parameters<typeof compactionDrafts>[2] = summary,
  ) => {
    const draft = compactionDrafts(of, plan, written, size).at(-1);
    return draft?.type === "compaction" ? draft : undefined;
  };

  test("edits alone are the batch where no summary is written", () => {
    const edits = [{ type: "context_edit", targetId: "m0", replacement: null }] as const;
    expect(compactionDrafts(context, { ...planFor(context), edits }, undefined, size)).toBe(edits);
  });

  test("first what is told again, then edits, and last the compaction, which lists what is told again in its place", () => {
    const edits = [{ type: "context_edit", targetId: "m4", replacement: { content: [] } }] as const;
    const drafts = compactionDrafts(
      context,
      { ...planFor(context), edits, retain: ["a", "b"], initialContext: { content: "rules", at: 1 } },
      summary,
      size,
    );
    expect(drafts.map(({ type }) => type)).toEqual(["custom_message", "context_edit", "compaction"]);
    const [rules, , compaction] = drafts;
    expect(rules?.id).toMatch(/^[0-9a-f]{8}$/);
    expect(compaction).toMatchObject({ retain: ["a", rules?.id, "b"] });
  });

  test("the first kept entry is the first item's, or that of a view before it; of nothing kept, its own", () => {
    expect(compactionOf(context)?.firstKeptEntryId).toBe("m4");
    const viewed = {
      ...context,
      views: [
        { entryId: "v1", resourceId: "res_1", item: 3 },
        { entryId: "v2", resourceId: "res_1", item: 4 },
      ],
    };
    expect(compactionOf(viewed)?.firstKeptEntryId).toBe("v2");
    const none = compactionOf(context, planFor(context, { strategy: keepLast(0) }));
    expect(none?.firstKeptEntryId).toBe(none?.id);
    expect(none?.id).toMatch(/^[0-9a-f]{8}$/);
  });

  test("what there is nothing of is left out", () => {
    const plain = contextFrom([told(long), user("now")]);
    const { id, ...draft } = compactionOf(plain) ?? {};
    expect(draft).toEqual({
      type: "compaction",
      summary: "SUMMARY",
      firstKeptEntryId: "m1",
      tokensBefore: 403,
      details: expect.not.objectContaining({ resources: expect.anything() }),
      strategy: "keep-last",
    });
  });

  test("what there is is written", () => {
    const system = { role: "system", content: "be kind", timestamp: 1 } as const;
    const of = contextFrom([system, user("a"), told(long), told("b")]);
    const model = { provider: "p", modelId: "m" };
    const written = { text: "MINE", fromHook: true, usage: usage(5), model };
    const resources = [{ resourceId: "res_00000000000000aa", kind: "image" }] as const;
    expect(compactionOf(of, { ...planFor(of), resources }, written)).toMatchObject({
      summary: "MINE",
      fromHook: true,
      usage: usage(5),
      model,
      systemMessage: system,
      retain: ["m1"],
      details: { resources },
    });
  });
});

describe("verification", () => {
  const long = "x".repeat(400);
  const context = contextFrom([user(long), told(long, ["1"]), gave("1", long), user("now"), told("this")]);
  const options = { strategy: keepLast(2), window: 1000, estimate: lengthOf };
  const plan = planCompaction(context, options) as CompactionPlan;

  test("says what is left, and whether it is less and little enough", async () => {
    expect(await verify(context, plan, "SUMMARY", options)).toEqual({ tokensAfter: 14 });
    expect(await verify(context, plan, "y".repeat(1200), options)).toEqual({
      tokensAfter: 1207,
      shortfall: "longer",
    });
    expect(await verify(context, plan, "y".repeat(1199), options)).toEqual({
      tokensAfter: 1206,
      shortfall: "over-limit",
    });
  });

  test("an estimate need not be whole, and a result that is less by a part is less", async () => {
    const estimate = (message: ContextMessage) => lengthOf(message) / 4;
    const { shortfall } = await verify(context, plan, "y".repeat(1199), { ...options, estimate });
    expect(shortfall).not.toBe("over-limit");
  });

  test("edits alone need only free something", async () => {
    const edits = [
      { type: "context_edit", targetId: "m0", replacement: { content: long.slice(1) } },
    ] as const;
    const pruning: CompactionPlan = { ...plan, parts: [], edits, keepFrom: 0, retain: [], limit: 5 };
    expect(await verify(context, pruning, undefined, options)).toEqual({ tokensAfter: 1206 });
    const none = { ...pruning, edits: [] };
    expect(await verify(context, none, undefined, options)).toEqual({
      tokensAfter: 1207,
      shortfall: "longer",
    });
  });

  test.each<[string, Partial<CompactionPlan>, RegExp]>([
    ["a tool pair", { keepFrom: 2 }, /break a tool pair/],
    [
      "a tool pair by an edit",
      { parts: [], keepFrom: 0, edits: [{ type: "context_edit", targetId: "m1", replacement: null }] },
      /break a tool pair/,
    ],
    ["the newest message of the user", { keepFrom: 4 }, /lose the newest message/],
  ])("a plan that would lose %s is never written", async (_, broken, words) => {
    const summary = broken.parts === undefined ? "SUMMARY" : undefined;
    await expect(verify(context, { ...plan, ...broken }, summary, options)).rejects.toThrow(words);
  });

  test("what was broken before is no fault of the plan's", async () => {
    const broken = contextFrom([gave("9", long), user(long), told("a", ["8"]), user("now"), told("this")]);
    const made = planCompaction(broken, options) as CompactionPlan;
    expect(await verify(broken, made, "SUMMARY", options)).toEqual({ tokensAfter: 14 });
  });

  test("the strategy is shown the context as it will be, with its trigger", async () => {
    const seen: unknown[] = [];
    const strategy = keepLast(2, {
      shouldCompact: ({ items, usageSince, views }, budget) => {
        seen.push(
          items.map(({ message }) => message.role),
          [usageSince, views],
          budget,
        );
        return false;
      },
    });
    await verify(context, plan, "SUMMARY", { ...options, strategy, trigger: "overflow" });
    expect(seen).toEqual([
      ["compactionSummary", "user", "assistant"],
      [3, []],
      { window: 1000, tokens: 14, trigger: "overflow", estimate: lengthOf },
    ]);
  });
});

describe("previews", () => {
  const long = "line of text\n".repeat(2000);
  const shown = (items: readonly ContextItem[]) =>
    items.map(({ origin, message }) => [origin, message.role, textOf(message)]);

  test("what a plan leaves is what the session shows after it", async () => {
    const message = (of: Parameters<typeof sessionOf>[0][number]) =>
      ({ type: "message", message: of }) as const;
    const system = (content: string) => message({ role: "system", content, timestamp: 1 });
    const written = [
      system("be kind"),
      initialContext("old rules"),
      message(user("first")),
      message(told("on it", ["1"])),
      message(gave("1", long)),
      system("be short"),
      message(user(long)),
      message(told("and", ["2"])),
      initialContext("late rules"),
      message(gave("2", long)),
    ];
    const at = fc.nat({ max: written.length - 1 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(at, { maxLength: 3 }),
        fc.nat({ max: 9 }),
        fc.boolean(),
        fc.boolean(),
        async (pins, keep, tells, twice) => {
          const session = await sessionOf([]);
          const ids = (await session.append(written)).map(({ id }) => id);
          await session.append(
            pins.map((index) => ({ type: "context_pin", targetId: ids[index] as string, pinned: true })),
          );
          for (const round of twice ? [1, 2] : [1]) {
            let planned: readonly [CompactionPlan, Context] | undefined;
            const done = await compactNow(session, {
              ...scripted("S".repeat(300 - 100 * round)),
              strategy: keepLast(keep + 1),
              window: 40_000,
              before: (plan, context) => {
                planned = [plan, context];
                return undefined;
              },
              ...(tells ? { initialContext: { content: `rules ${round}`, mode: "before-last-user" } } : {}),
            }).catch((error: unknown) => error as { readonly code: string });
            if (planned === undefined || !("status" in done) || done.status !== "compacted") return;
            const [plan, context] = planned;
            const { items } = await session.context();
            expect(shown(items)).toEqual(shown(previewItems(context, plan, done.entry.summary)));
          }
        },
      ),
      { numRuns: 50 },
    );
  });
});
