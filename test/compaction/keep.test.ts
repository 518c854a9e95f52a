import fc from "fast-check";
import { type Context, type ContextMessage, contextOf, toolPairs } from "sessile/content";
import { describe, expect, test } from "vitest";
import { retainedItems } from "../../src/compaction/retention.js";
import { gave, told, user } from "./scripted.js";

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
  return { ...contextOf(messages), pins: pins.map((at) => `m${at}`) };
}
const kept = (
  messages: readonly ContextMessage[],
  from: number,
  retain: readonly number[] = [],
  pins: readonly number[] = [],
  isMinimal = true,
) =>
  retainedItems(context(messages, pins), { keepFrom: from, retain: retain.map((at) => `m${at}`) }, isMinimal);

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
    // Nobody waits once somebody spoke.
    expect(kept([...talk, user("never mind")], 4).retained).toEqual([3]);
    expect(kept([...talk, told("never mind")], 4).retained).toEqual([0]);
  });

  test("never a summary or a system message, and an initial context only where it is pinned", () => {
    const talk = [instructions, system, user("a"), system, told("b")];
    expect(kept(talk, 5, [0, 1, 2, 3, 4]).retained).toEqual([2, 4]);
    expect(kept(talk, 5, [], [0, 1, 3]).retained).toEqual([0, 2]);
    expect(kept([summary, user("a")], 2, [0, 1], [0]).retained).toEqual([1]);
  });
});

test("what of a compaction's own a strategy would keep in its place is retained, and the tail begins behind it", () => {
  const items = contextOf([summary, user("a"), told("b"), user("c")]).items.map((item, at) =>
    at === 1 || at === 2 ? { ...item, origin: "retained" as const } : item,
  );
  expect(retainedItems({ ...context([]), items }, { keepFrom: 0 }, true)).toEqual({
    from: 3,
    retained: [1, 2],
  });
  expect(retainedItems({ ...context([]), items }, { keepFrom: 2 }, true)).toEqual({ from: 3, retained: [2] });
});

test("ids that no item has are nothing", () => {
  expect(kept([user("a"), user("b")], 1, [77], [99])).toEqual({ from: 1, retained: [] });
});

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
