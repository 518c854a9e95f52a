import {
  type CompactionChoice,
  type CompactionStrategy,
  type PlanOptions,
  planCompaction,
  type SummaryPart,
} from "sessile/compaction";
import { type Context, type ContextMessage, contextOf } from "sessile/content";
import { describe, expect, test } from "vitest";
import { gave, keepLast, lengthOf, shortPrompt, told, user } from "./scripted.js";

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
  return { ...contextOf(messages), pins: pins.map((at) => `m${at}`) };
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
