import fc from "fast-check";
import {
  type Context,
  type ContextItem,
  type ContextMessage,
  contextFrom,
  toolCalls,
  toolPairs,
} from "sessile";
import {
  type CompactionChoice,
  type CompactionStrategy,
  findCutPoint,
  type PlanOptions,
  planCompaction,
  type SummaryPart,
} from "sessile/compaction";
import { describe, expect, test } from "vitest";
import {
  headLength,
  isCutPoint,
  itemsForLedger,
  keptTextTokens,
  newestUserIndex,
  retainedItems,
  shrinkingEdits,
  startsTurn,
} from "../../src/compaction/retention.js";
import { attachment, gave, keepLast, lengthOf, shortPrompt, told, user } from "./scripted.js";

const long = "x".repeat(500);
const talk: readonly ContextMessage[] = [
  user(long),
  told(long, ["1"]),
  gave("1", long),
  told("d"),
  user("e"),
  told("f"),
];

function contextFor(messages: readonly ContextMessage[], pins: readonly number[] = []): Context {
  return { ...contextFrom(messages), pins: pins.map((at) => `m${at}`) };
}
const plan = (context: Context, strategy: CompactionStrategy, more: Partial<PlanOptions> = {}) =>
  planCompaction(context, { strategy, window: 1000, estimate: lengthOf, ...more });
/** A strategy that chooses what it is told to. */
const chooses = (
  choice: (context: Context) => CompactionChoice | undefined,
  more: Partial<CompactionStrategy> = {},
) => keepLast(0, { choose: choice, ...more });
const part = (context: Context, from = 0, to?: number): SummaryPart => ({
  items: context.items.slice(from, to),
  prompt: shortPrompt,
});
const edit = (at: number, content: string) =>
  ({ type: "context_edit", targetId: `m${at}`, replacement: { content } }) as const;

describe("a plan", () => {
  test("says what is summarised and kept, and what that comes to", () => {
    const made = plan(contextFor(talk), keepLast(2));
    expect(made).toMatchObject({ strategy: "keep-last", keepFrom: 4, retain: [], edits: [], limit: 1000 });
    expect([made?.tokensBefore, made?.tokensKept]).toEqual([1503, 2]);
    expect(made?.parts.map(({ items }) => items.map(({ entryId }) => entryId))).toEqual([
      ["m0", "m1", "m2", "m3"],
    ]);
    expect(made?.files.files.map(({ path }) => path)).toEqual(["1.ts"]);
  });

  test("retains what a careless strategy would lose: newest user message, pins, and the halves of pairs", () => {
    expect(plan(contextFor(talk), keepLast(1))?.retain).toEqual(["m4"]);
    expect(plan(contextFor(talk, [2]), keepLast(0))?.retain).toEqual(["m1", "m2", "m4"]);
    expect(plan(contextFor(talk.slice(0, 3)), keepLast(1))).toMatchObject({
      keepFrom: 2,
      retain: ["m0", "m1"],
    });
    expect(
      plan(
        contextFor(talk),
        chooses((context) => ({ keepFrom: 6, retain: ["m3"], parts: [part(context)] })),
      )?.retain,
    ).toEqual(["m3", "m4"]);
  });

  test("is none where the strategy chooses nothing, or nothing is summarised or edited", () => {
    expect(
      plan(
        contextFor(talk),
        chooses(() => undefined),
      ),
    ).toBeUndefined();
    expect(
      plan(
        contextFor(talk),
        chooses(() => ({ keepFrom: 3, parts: [] })),
      ),
    ).toBeUndefined();
    expect(
      plan(
        contextFor(talk),
        chooses((context) => ({ keepFrom: 0, parts: [part(context, 0, 0)] })),
      ),
    ).toBeUndefined();
    expect(plan(contextFor([]), keepLast(1))).toBeUndefined();
  });

  test("is edits alone where there is nothing to summarise, the last of each entry", () => {
    const made = plan(
      contextFor(talk),
      chooses(() => ({ keepFrom: 3, parts: [], edits: [edit(0, "1"), edit(2, "2"), edit(0, "3")] })),
    );
    expect(made).toMatchObject({ parts: [], keepFrom: 0, retain: [], resources: [] });
    expect(made?.edits).toEqual([edit(0, "3"), edit(2, "2")]);
  });

  test("edits what stays and nothing else, and no pinned item", () => {
    const edits = [edit(0, "covered"), edit(3, "kept"), edit(4, "pinned"), edit(99, "nobody")];
    const choice = (context: Context): CompactionChoice => ({
      keepFrom: 3,
      edits,
      parts: [part(context, 0, 3)],
    });
    const made = plan(contextFor(talk, [4]), chooses(choice));
    expect(made?.edits).toEqual([edit(3, "kept")]);
    expect(made?.tokensKept).toBe("kept".length + 2);
  });

  test.each([-1, 7, 1.5, Number.NaN])("%d is no place to keep from", (keepFrom) => {
    const wrong = chooses((context) => ({ keepFrom, parts: [part(context)] }));
    expect(() => plan(contextFor(talk), wrong)).toThrow(
      new RangeError(`keepFrom: expected an integer from 0 to 6, got ${keepFrom}`),
    );
  });

  test.each([0, -5, 0.5, Number.NaN])("a window of %d tokens is none", (window) => {
    expect(() => plan(contextFor(talk), keepLast(1), { window })).toThrow(
      /^window: expected an integer >= 1/,
    );
  });

  test("changes nothing of what it is given, and is the same each time", () => {
    const context = contextFor(talk, [1]);
    const before = structuredClone(context);
    expect(plan(context, keepLast(1))).toEqual(plan(context, keepLast(1)));
    expect(context).toEqual(before);
  });
});

test("system messages become one, which counts, and no summary covers them", () => {
  const made = plan(
    contextFor([
      { role: "system", content: "be kind", timestamp: 1 },
      ...talk,
      { role: "system", content: "be short", timestamp: 2 },
      user("g"),
    ]),
    keepLast(1),
  );
  expect(made?.systemMessage?.content).toEqual([
    { type: "text", text: "be kind" },
    { type: "text", text: "be short" },
  ]);
  expect(made?.parts[0]?.items.map(({ message }) => message.role)).not.toContain("system");
  expect(made?.tokensKept).toBe("be kindbe shortg".length);
});

describe("where what stays leaves no room for a summary", () => {
  const cutting = (asked: unknown[], limit: number): CompactionStrategy =>
    keepLast(1, {
      limit: () => limit,
      choose: (context, { minimal }) => {
        asked.push(minimal);
        const keepFrom = minimal ? context.items.length : 1;
        return { keepFrom, parts: [part(context, 0, keepFrom)] };
      },
    });

  test("the strategy is asked for the least it would keep", () => {
    const asked: unknown[] = [];
    expect(plan(contextFor(talk), cutting(asked, 1003 + 20))?.keepFrom).toBe(1);
    expect(asked).toEqual([undefined]);
    expect(plan(contextFor(talk), cutting(asked, 1003 + 19))?.keepFrom).toBe(6);
    expect(asked).toEqual([undefined, undefined, true]);
  });

  test("a strategy that has no less keeps its first choice", () => {
    const stubborn = chooses((context) => ({ keepFrom: 1, parts: [part(context, 0, 1)] }), {
      limit: () => 10,
    });
    expect(plan(contextFor(talk), stubborn)?.keepFrom).toBe(1);
    const first = stubborn.choose;
    const gives = {
      ...stubborn,
      choose: (context: Context, budget: Parameters<typeof first>[1]) =>
        budget.minimal ? undefined : first(context, budget),
    };
    expect(plan(contextFor(talk), gives)?.keepFrom).toBe(1);
  });

  test("instructions and what is told again take their part of the room", () => {
    const system: ContextMessage = { role: "system", content: "s".repeat(1000), timestamp: 1 };
    const made = (head: readonly ContextMessage[], more: Partial<PlanOptions> = {}) =>
      plan(
        contextFor([...head, user(long), told("", ["1"]), gave("1", "line\n".repeat(1800))]),
        keepLast(2),
        {
          window: 10_000,
          ...more,
        },
      )?.edits.length;
    const content = "r".repeat(1000);
    expect([made([]), made([system]), made([], { initialContext: { content } })]).toEqual([0, 1, 1]);
  });

  test("a giant result in the tail is cut by an edit", () => {
    const giant = "line\n".repeat(20_000);
    const made = plan(contextFor([user(long), told("", ["1"]), gave("1", giant)]), keepLast(2), {
      window: 12_000,
    });
    expect(made?.edits.map(({ targetId }) => targetId)).toEqual(["m2"]);
    expect(made?.tokensKept).toBeLessThan(12_000);
  });
});

test("a quarter of a small limit is left for the summary, and what the prompts ask for of a large one", () => {
  const keepsAt = (limit: number, size: number) => {
    const strategy = keepLast(1, {
      limit: () => limit,
      choose: (context, { minimal }) => {
        const keepFrom = minimal ? 2 : 1;
        return { keepFrom, parts: [part(context, 0, keepFrom)] };
      },
    });
    return plan(contextFor([user(long), user("y".repeat(size))]), strategy)?.keepFrom;
  };
  expect([keepsAt(40, 30), keepsAt(40, 31), keepsAt(1000, 980), keepsAt(1000, 981)]).toEqual([1, 2, 1, 2]);
});

test("the limit is the window less 16,384 tokens, and at least half of it, where the strategy has none", () => {
  const { limit: _, ...strategy } = keepLast(1);
  const limitFor = (window: number) => plan(contextFor(talk), strategy, { window })?.limit;
  expect([limitFor(100_000), limitFor(32_768), limitFor(32_767), limitFor(1001)]).toEqual([
    83_616, 16_384, 16_383, 500,
  ]);
});

// @covers R100
test("the trigger is by default where in a turn the context ends", () => {
  const seen = (messages: readonly ContextMessage[], trigger?: "manual") => {
    let said: unknown;
    plan(
      contextFor(messages),
      keepLast(1, {
        choose: (_, budget) => {
          said = budget.trigger;
          return undefined;
        },
      }),
      trigger ? { trigger } : {},
    );
    return said;
  };
  expect(seen(talk)).toBe("pre-turn");
  expect(seen(talk.slice(0, 5))).toBe("mid-turn");
  expect(seen(talk.slice(0, 3))).toBe("mid-turn");
  expect(seen(talk.slice(0, 2))).toBe("mid-turn");
  expect(seen([])).toBe("pre-turn");
  expect(seen(talk.slice(0, 3), "manual")).toBe("manual");
});

describe("retention", () => {
  const summary: ContextMessage = { role: "compactionSummary", summary: "s", tokensBefore: 1, timestamp: 1 };
  const system: ContextMessage = { role: "system", content: "s", timestamp: 1 };
  const instructions: ContextMessage = {
    role: "custom",
    customType: "sessile.initial_context",
    content: "r",
    display: false,
    timestamp: 1,
  };

  function context(messages: readonly ContextMessage[], pins: readonly number[] = []): Context {
    return { ...contextFrom(messages), pins: pins.map((at) => `m${at}`) };
  }
  const kept = (
    messages: readonly ContextMessage[],
    from: number,
    retain: readonly number[] = [],
    pins: readonly number[] = [],
    isMinimal = true,
  ) =>
    retainedItems(
      context(messages, pins),
      { keepFrom: from, retain: retain.map((at) => `m${at}`) },
      isMinimal,
    );

  describe("besides what was chosen, what stays is", () => {
    test("the newest message of the user, where it is not in the tail", () => {
      expect(kept([user("a"), user("b"), told("c"), told("d")], 3)).toEqual({ from: 3, retained: [1] });
      expect(kept([user("a"), user("b"), told("c"), told("d")], 1)).toEqual({ from: 1, retained: [] });
      expect(kept([told("c"), told("d")], 2)).toEqual({ from: 2, retained: [] });
    });

    test("pinned items, and with half of a tool pair the other half and its whole family", () => {
      const talk = [user("a"), told("b", ["1", "2"]), gave("1", "x"), gave("2", "y"), told("c"), user("d")];
      expect(kept(talk, 5, [], [4]).retained).toEqual([4]);
      for (const half of [1, 2, 3]) {
        expect(kept(talk, 5, [], [half]).retained).toEqual([1, 2, 3]);
        expect(kept(talk, 5, [half]).retained).toEqual([1, 2, 3]);
      }
    });

    test("the call of a result in the tail, and its other results", () => {
      const talk = [user("a"), told("b", ["1", "2"]), gave("1", "x"), gave("2", "y"), user("d")];
      expect(kept(talk, 3)).toEqual({ from: 3, retained: [1, 2] });
    });

    test("results that no model has seen, with their calls, unless as little as can be is to be kept", () => {
      const talk = [
        user("a"),
        told("b", ["0"]),
        gave("0", "w"),
        told("c", ["1", "2"]),
        gave("1", "x"),
        gave("2", "y"),
      ];
      expect(kept(talk, 6, [], [], false).retained).toEqual([0, 3, 4, 5]);
      expect(kept(talk, 6).retained).toEqual([0]);
      expect(kept([...talk, told("seen")], 7, [], [], false).retained).toEqual([0]);
      expect(kept([...talk, user("and now")], 7, [], [], false).retained).toEqual([6]);
    });

    test("a call that waits for its result, with those it has", () => {
      const talk = [user("a"), told("b", ["1", "2"]), gave("1", "x")];
      expect(kept(talk, 3).retained).toEqual([0, 1, 2]);
      const custom: ContextMessage = {
        role: "custom",
        customType: "x",
        content: "",
        display: true,
        timestamp: 1,
      };
      expect(kept([...talk, custom], 4).retained).toEqual([0, 1, 2]);
      expect(kept([...talk, gave("2", "y")], 4).retained).toEqual([0]);
      // A user message ends the wait.
      expect(kept([...talk, user("never mind")], 4).retained).toEqual([3]);
      expect(kept([...talk, told("never mind")], 4).retained).toEqual([0]);
    });

    // @covers R98
    test("never a summary or a system message, and an initial context only where it is pinned", () => {
      const talk = [instructions, system, user("a"), system, told("b")];
      expect(kept(talk, 5, [0, 1, 2, 3, 4]).retained).toEqual([2, 4]);
      expect(kept(talk, 5, [], [0, 1, 3]).retained).toEqual([0, 2]);
      expect(kept([summary, user("a")], 2, [0, 1], [0]).retained).toEqual([1]);
    });
  });

  test("what of a compaction's own a strategy would keep in its place is retained, and the tail begins behind it", () => {
    const items = contextFrom([summary, user("a"), told("b"), user("c")]).items.map((item, at) =>
      at === 1 || at === 2 ? { ...item, origin: "retained" as const } : item,
    );
    expect(retainedItems({ ...context([]), items }, { keepFrom: 0 }, true)).toEqual({
      from: 3,
      retained: [1, 2],
    });
    expect(retainedItems({ ...context([]), items }, { keepFrom: 2 }, true)).toEqual({
      from: 3,
      retained: [2],
    });
  });

  test("ids that no item has are nothing", () => {
    expect(kept([user("a"), user("b")], 1, [77], [99])).toEqual({ from: 1, retained: [] });
  });

  // @covers R128
  test("whatever is chosen, no pair is broken that was whole", () => {
    const part = fc.oneof(
      fc.constant(user("u")),
      fc
        .array(fc.constantFrom("1", "2", "3", "4"), { maxLength: 3 })
        .map((ids) => told("t", [...new Set(ids)])),
      fc.constantFrom("1", "2", "3", "4").map((id) => gave(id, "r")),
    );
    const broken = (messages: readonly ContextMessage[]) => {
      const { pairs, orphans } = toolPairs(messages);
      return orphans.length + pairs.filter(({ result }) => result === undefined).length;
    };
    fc.assert(
      fc.property(
        fc.array(part, { maxLength: 14 }),
        fc.nat(),
        fc.array(fc.nat({ max: 13 })),
        fc.array(fc.nat({ max: 13 }), { maxLength: 2 }),
        (talk, at, retain, pins) => {
          const from = at % (talk.length + 1);
          const { retained } = kept(talk, from, retain, pins);
          const stays = [...retained.map((index) => talk[index] as ContextMessage), ...talk.slice(from)];
          expect(broken(stays)).toBeLessThanOrEqual(broken(talk));
          expect(retained).toEqual([...new Set(retained)].sort((a, b) => a - b));
          for (const index of [...retain, ...pins]) if (index < from) expect(retained).toContain(index);
        },
      ),
      { numRuns: 2000 },
    );
  });
});

describe("calls of the file ledger", () => {
  const { items } = contextFrom([
    user("a"),
    told("b", ["1", "2"]),
    gave("1", "x"),
    told("c", ["3"]),
    user("d"),
    gave("2", "late"),
  ]);
  const callsIn = (from: number, retained: readonly number[]) =>
    itemsForLedger(items, { from, retained }).flatMap(({ message }) =>
      message.role === "assistant" ? toolCalls(message).map(({ id }) => id) : [],
    );

  test("are those before the tail; one that stays and has no result there is left to the next ledger", () => {
    expect(callsIn(4, [])).toEqual(["1", "2", "3"]);
    expect(callsIn(4, [0])).toEqual(["1", "2", "3"]);
    expect(callsIn(4, [1])).toEqual(["1", "3"]);
    expect(callsIn(4, [3])).toEqual(["1", "2"]);
    expect(callsIn(4, [1, 2, 3])).toEqual(["1"]);
    expect(callsIn(6, [1])).toEqual(["1", "2", "3"]);
  });

  test("nothing is copied that need not be, and nothing is changed", () => {
    const before = structuredClone(items);
    expect(itemsForLedger(items, { from: 3, retained: [] })[1]).toBe(items[1]);
    expect(itemsForLedger(items, { from: 4, retained: [3] })[1]).toBe(items[1]);
    expect(itemsForLedger(items, { from: 4, retained: [1] })[1]).not.toBe(items[1]);
    expect(items).toEqual(before);
  });
});

describe("shrinking edits", () => {
  const long = "line of text\n".repeat(5000);
  const tokensOf = (messages: readonly ContextMessage[]) =>
    messages.reduce((sum, of) => sum + lengthOf(of), 0);
  function fitting(messages: readonly ContextMessage[], room: number, pinned: readonly number[] = []) {
    const { items } = contextFrom(messages);
    return shrinkingEdits(items, new Set(pinned.map((at) => `m${at}`)), tokensOf(messages), room, lengthOf);
  }
  const targets = (...given: Parameters<typeof fitting>) => fitting(...given).map(({ targetId }) => targetId);

  describe("what is cut so that what is kept fits", () => {
    const talk = [user(long), told("", ["1", "2"]), gave("1", long), gave("2", long), user(long)];
    const all = tokensOf(talk);
    const atMost = keptTextTokens * 4;

    test("is nothing where it fits", () => {
      expect(fitting(talk, all)).toEqual([]);
    });

    test("are tool results first, oldest first, then what users said, and no more than is needed", () => {
      expect(targets(talk, all - 1)).toEqual(["m2"]);
      expect(targets(talk, all - long.length)).toEqual(["m2", "m3"]);
      expect(targets(talk, all - 2 * long.length)).toEqual(["m2", "m3", "m0"]);
      expect(targets(talk, 0)).toEqual(["m2", "m3", "m0", "m4"]);
    });

    test("are never pinned items, what a model said, or what is short already", () => {
      expect(targets(talk, 0, [2, 0])).toEqual(["m3", "m4"]);
      expect(fitting([told(long), user("short"), gave("1", "short")], 0)).toEqual([]);
    });

    test("is cut to about 2,000 tokens and says how much went", () => {
      expect(keptTextTokens).toBe(2000);
      const [edit, other] = fitting([gave("1", long), user(long)], 0);
      for (const of of [edit, other]) {
        const content = of?.replacement?.content as string | readonly { readonly text: string }[];
        const text = typeof content === "string" ? content : (content[0]?.text ?? "");
        expect(text).toMatch(/\[… \d+ tokens left out …\]/);
        expect(text.length).toBeGreaterThan(atMost / 2);
        expect(text.length).toBeLessThanOrEqual(atMost);
      }
      // The role's own form of content stays.
      expect(typeof other?.replacement?.content).toBe("string");
      expect(Array.isArray(edit?.replacement?.content)).toBe(true);
    });

    test("attachments and images of a message stay", () => {
      const image = { type: "image" as const, data: "AAAA", mimeType: "image/png" };
      const block = { type: "text" as const, text: "d", resource: attachment };
      const message = { ...user(""), content: [{ type: "text" as const, text: long }, block, image] };
      const [edit] = fitting([message], 0);
      expect(edit?.replacement?.content).toEqual([
        { type: "text", text: expect.stringContaining("left out") },
        block,
        image,
      ]);
    });
  });
});

describe("cut points", () => {
  type Kind =
    | "user"
    | "assistant"
    | "toolResult"
    | "bashExecution"
    | "custom"
    | "branchSummary"
    | "system"
    | "compactionSummary";

  function messageOf(kind: Kind, size: number): ContextMessage {
    const text = "x".repeat(size);
    switch (kind) {
      case "user":
        return user(text);
      case "assistant":
        return told(text);
      case "toolResult":
        return gave("c", text);
      case "bashExecution":
        return { role: kind, command: "", output: text, cancelled: false, truncated: false, timestamp: 1 };
      case "custom":
        return { role: kind, customType: "x", content: text, display: true, timestamp: 1 };
      case "branchSummary":
        return { role: kind, summary: text, fromId: "root", timestamp: 1 };
      case "system":
        return { role: kind, content: text, timestamp: 1 };
      case "compactionSummary":
        return { role: kind, summary: text, tokensBefore: 0, timestamp: 1 };
    }
  }

  const kinds: readonly Kind[] = [
    "user",
    "assistant",
    "toolResult",
    "bashExecution",
    "custom",
    "branchSummary",
  ];
  const mayBegin = (kind: Kind) => kinds.includes(kind) && kind !== "toolResult";
  const u = (size = 10): [Kind, number] => ["user", size];
  const a = (size = 10): [Kind, number] => ["assistant", size];
  const r = (size = 10): [Kind, number] => ["toolResult", size];
  const itemsOf = (given: readonly [Kind, number][]) =>
    contextFrom(given.map(([kind, size]) => messageOf(kind, size))).items;
  const cut = (given: readonly [Kind, number][], keepTokens: number, from?: number) =>
    findCutPoint(itemsOf(given), { keepTokens, estimate: lengthOf, ...(from === undefined ? {} : { from }) });

  /** The rule as the documentation says it, without a thought for how long it takes. */
  function naive(given: readonly [Kind, number][], keepTokens: number, from: number) {
    const candidates = given.flatMap(([kind], at) => (mayBegin(kind) ? [at] : []));
    const kept = (at: number) => given.slice(at).reduce((sum, [, size]) => sum + size, 0);
    const points = given.flatMap((_, at) => (at >= from && kept(at) >= keepTokens ? [at] : []));
    const point = points.at(-1);
    const keepFrom =
      point === undefined
        ? (candidates.find((at) => at >= from) ?? from)
        : (candidates.find((at) => at >= point) ?? Math.max(from, candidates.at(-1) ?? from));
    const kind = given[keepFrom]?.[0];
    const begins = (of: Kind | undefined) => of !== undefined && mayBegin(of) && of !== "assistant";
    if (kind === undefined || begins(kind)) return { keepFrom };
    const turnStart = given.findLastIndex(([of], at) => at >= from && at < keepFrom && begins(of));
    return turnStart < 0 ? { keepFrom } : { keepFrom, turnStart };
  }

  describe("findCutPoint", () => {
    test("is what the rule says", () => {
      const kind = fc.constantFrom<Kind>(...kinds, "toolResult", "system", "compactionSummary");
      fc.assert(
        fc.property(
          fc.array(fc.tuple(kind, fc.nat({ max: 6 })), { maxLength: 14 }),
          fc.nat({ max: 40 }),
          fc.nat({ max: 16 }),
          (given, keepTokens, at) => {
            const from = Math.min(at, given.length);
            expect(cut(given, keepTokens, from)).toEqual(naive(given, keepTokens, from));
          },
        ),
        { numRuns: 3000 },
      );
    });

    test("cuts at the first that may begin a context at or behind the point where enough is kept", () => {
      expect(cut([u(), a(), u(), a(), u(), a()], 20)).toEqual({ keepFrom: 4 });
      expect(cut([u(), a(), u(), a(), u(), a()], 21)).toEqual({ keepFrom: 3, turnStart: 2 });
      expect(cut([u(), a(), r(30), r(), u()], 25)).toEqual({ keepFrom: 4 });
    });

    // @covers R128
    test("never cuts at a tool's result: behind the last candidate there is none", () => {
      expect(cut([u(), a(), r(), r()], 5)).toEqual({ keepFrom: 1, turnStart: 0 });
      expect(cut([u(), u(), r(), a(), r(900)], 5)).toEqual({ keepFrom: 3, turnStart: 1 });
    });

    test("of less than is to be kept, the first; of nothing that may begin, `from`", () => {
      expect(cut([r(), u(), a()], 1000)).toEqual({ keepFrom: 1 });
      expect(cut([r(), r()], 1000)).toEqual({ keepFrom: 0 });
      expect(cut([r(), r()], 1, 1)).toEqual({ keepFrom: 1 });
      expect(cut([], 10)).toEqual({ keepFrom: 0 });
      expect(cut([u()], 10, 1)).toEqual({ keepFrom: 1 });
    });

    test("keeps the last message where nothing is to be kept", () => {
      expect(cut([u(), a(), u()], 0)).toEqual({ keepFrom: 2 });
      expect(cut([u(), a(), r()], 0)).toEqual({ keepFrom: 1, turnStart: 0 });
    });

    test.each<Kind>(["custom", "branchSummary", "bashExecution"])(
      "a %s begins a context and a turn",
      (kind) => {
        expect(cut([u(), [kind, 10], a()], 20)).toEqual({ keepFrom: 1 });
        expect(cut([u(), [kind, 10], a()], 10)).toEqual({ keepFrom: 2, turnStart: 1 });
      },
    );

    test("nothing before `from` is kept, nor begins the turn; by default what a compaction made is before it", () => {
      expect(cut([u(), a(), u(), a()], 1000, 3)).toEqual({ keepFrom: 3 });
      const { items } = contextFrom([
        messageOf("compactionSummary", 5),
        ...[u(), a(), u()].map(([k, s]) => messageOf(k, s)),
      ]);
      const retained = items.map((item, at) => (at === 1 ? { ...item, origin: "retained" as const } : item));
      expect(findCutPoint(retained, { keepTokens: 1000, estimate: lengthOf })).toEqual({ keepFrom: 2 });
    });

    test("looks only at what it keeps", () => {
      const history = Array.from({ length: 2000 }, (_, at) => (at % 2 === 0 ? u() : a()));
      let asked = 0;
      const estimate = (message: ContextMessage) => {
        asked++;
        return lengthOf(message);
      };
      findCutPoint(itemsOf(history), { keepTokens: 100, estimate });
      expect(asked).toBe(10);
    });
  });
});

describe("items", () => {
  const bash: ContextMessage = {
    role: "bashExecution",
    command: "ls",
    output: "",
    cancelled: false,
    truncated: false,
    timestamp: 1,
  };
  const custom: ContextMessage = {
    role: "custom",
    customType: "x",
    content: "",
    display: true,
    timestamp: 1,
  };
  const branch: ContextMessage = { role: "branchSummary", summary: "", fromId: "root", timestamp: 1 };
  const summary: ContextMessage = { role: "compactionSummary", summary: "", tokensBefore: 1, timestamp: 1 };
  const system: ContextMessage = { role: "system", content: "", timestamp: 1 };

  test.each<[ContextMessage, boolean, boolean]>([
    [user(""), true, true],
    [told("", ["c"]), true, false],
    [bash, true, true],
    [custom, true, true],
    [branch, true, true],
    [gave("c", ""), false, false],
    [summary, false, false],
    [system, false, false],
  ])("of what may begin a context, and a turn: $role", (message, mayBegin, beginsTurn) => {
    const [item] = contextFrom([message]).items as [ContextItem];
    expect([isCutPoint(item), startsTurn(item)]).toEqual([mayBegin, beginsTurn]);
  });

  test("the head is what a compaction made and what it retained, up to the first of the context's own messages", () => {
    const { items } = contextFrom([system, summary, user("a"), user("b"), summary]);
    const of = (origins: readonly ContextItem["origin"][]) =>
      headLength(items.map((item, at) => ({ ...item, origin: origins[at] as ContextItem["origin"] })));
    expect(of(["system", "summary", "retained", "message", "summary"])).toBe(3);
    expect(of(["message", "summary", "retained", "message", "summary"])).toBe(0);
    expect(of(["system", "summary", "retained", "retained", "summary"])).toBe(5);
    expect(headLength([])).toBe(0);
  });

  test("the newest message of a user", () => {
    expect(newestUserIndex(contextFrom([user("a"), user("b"), custom, told("")]).items)).toBe(1);
    expect(newestUserIndex(contextFrom([custom, told("")]).items)).toBe(-1);
  });
});
