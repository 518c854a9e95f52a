import fc from "fast-check";
import {
  type CachePolicy,
  cacheConversation,
  cacheSystem,
  type NeutralRequest,
  type Part,
  type Turn,
} from "sessile";
import { describe, expect, test } from "vitest";
import { breakpointParts } from "../../src/providers/cache-breakpoints.js";

const origin = { entryId: "e", item: 0 };
const text = (words: string) => ({ type: "text", text: words, origin }) as const;
const user = (words: string): Turn => ({ role: "user", results: [], parts: [text(words)] });
const said = (...parts: readonly Part[]): Turn => ({ role: "assistant", parts: parts as Turn["parts"] & [] });
const call = {
  type: "call",
  id: "c",
  storedId: "c",
  name: "t",
  arguments: {},
  own: true,
  first: true,
  origin,
} as const;
const reasoning = { type: "reasoning", text: "r", signature: "s", redacted: false, origin } as const;
const opaque = { type: "opaque", data: 1, origin } as const;
const result = {
  type: "result",
  callId: "c",
  storedCallId: "c",
  name: "t",
  isError: false,
  parts: [text("r")],
  origin,
} as const;
const answered: Turn = { role: "user", results: [result], parts: [] };

const request = (turns: readonly Turn[], system: readonly string[] = ["s1", "s2"]): NeutralRequest => ({
  system: system.map(text),
  turns,
});
const marked = (one: NeutralRequest, most = 4) => [...breakpointParts(one, cacheConversation, most)];
const wordsOf = (part: Part) => (part.type === "text" ? part.text : part.type);

describe("cacheConversation", () => {
  test("marks the last turn, where the request before had its last mark, and the instructions", () => {
    const turns = [user("a"), said(text("b")), user("c"), said(text("d")), user("e")];
    expect(marked(request(turns)).map(wordsOf)).toEqual(["e", "c", "s2"]);
    expect(marked(request(turns), 1).map(wordsOf)).toEqual(["e"]);
    expect(marked(request(turns.slice(0, 3))).map(wordsOf)).toEqual(["c", "a", "s2"]);
    expect(marked(request(turns.slice(0, 1), [])).map(wordsOf)).toEqual(["a"]);
  });

  test("in a conversation that goes on, finds again what was marked before", () => {
    const turns = Array.from({ length: 20 }, (_, at) => (at % 2 === 0 ? user(`${at}`) : said(text(`${at}`))));
    for (let length = 3; length <= turns.length; length += 2) {
      const [before] = marked(request(turns.slice(0, length - 2)));
      expect(marked(request(turns.slice(0, length)))).toContain(before);
    }
  });
});

describe("markedParts", () => {
  test("marks what can bear a mark: results, text and calls, not reasoning nor what only the provider reads", () => {
    expect(marked(request([user("a"), said(call), answered], [])).map(wordsOf)).toEqual(["result", "a"]);
    const ends = (turn: Turn) => [...breakpointParts(request([turn]), () => [0], 4)].map(wordsOf);
    expect(ends(said(text("a"), reasoning, opaque))).toEqual(["a"]);
    expect(ends(said(text("a"), call, opaque))).toEqual(["call"]);
    expect(ends(said(opaque))).toEqual([]);
  });

  test("takes any marks, those that lead nowhere too, and never too many", () => {
    const mark = fc.oneof(
      fc.constant("system" as const),
      fc.integer({ min: -3, max: 8 }),
      fc.constantFrom(0.5, Number.NaN),
    );
    const turns = [user("a"), said(text("b")), user("c")];
    fc.assert(
      fc.property(fc.array(mark), fc.nat({ max: 5 }), fc.boolean(), (marks, most, hasSystem) => {
        const one = request(turns, hasSystem ? ["s"] : []);
        const parts = breakpointParts(one, () => marks, most);
        expect(parts.size).toBeLessThanOrEqual(most);
        const led = new Set(
          marks.filter((at) => (at === "system" ? hasSystem : at === 0 || at === 1 || at === 2)),
        );
        expect(parts.size).toBe(Math.min(most, led.size));
      }),
    );
  });

  test("tells a policy what there is", () => {
    let told: unknown;
    const policy: CachePolicy = (facts) => {
      told = facts;
      return [];
    };
    breakpointParts(request([user("a"), said(text("b"))], []), policy, 4);
    expect(told).toEqual({ hasSystem: false, turns: 2 });
  });
});

describe("cacheSystem", () => {
  test("marks the instructions alone, where there are some", () => {
    expect([...breakpointParts(request([user("a")]), cacheSystem, 4)].map(wordsOf)).toEqual(["s2"]);
    expect(breakpointParts(request([user("a")], []), cacheSystem, 4).size).toBe(0);
  });
});
