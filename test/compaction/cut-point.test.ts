import fc from "fast-check";
import { findCutPoint } from "sessile/compaction";
import { type ContextMessage, contextOf } from "sessile/content";
import { describe, expect, test } from "vitest";
import { gave, lengthOf, told, user } from "./scripted.js";

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
  contextOf(given.map(([kind, size]) => messageOf(kind, size))).items;
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
    const { items } = contextOf([
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
