import { type ContextMessage, contextFrom } from "sessile";
import {
  type CompactionBudget,
  prompts,
  type RollingSummaryOptions,
  rollingSummary,
} from "sessile/compaction";
import { describe, expect, test } from "vitest";
import { compactNow, gave, lengthOf, saidIn, scripted, sessionOf, told, user } from "./scripted.js";

const empty = contextFrom([]);
const long = "x".repeat(400);

describe("when", () => {
  const asks = (tokens: number, window: number, options = {}) =>
    rollingSummary(options).shouldCompact(empty, { tokens, window });

  // @covers R126
  test("a context exceeds the window without 16,384 tokens, and not before", () => {
    expect([asks(83_616, 100_000), asks(83_617, 100_000)]).toEqual([false, true]);
    expect([asks(183_616, 200_000), asks(183_617, 200_000)]).toEqual([false, true]);
    expect([asks(90, 100, { reserveTokens: 10 }), asks(91, 100, { reserveTokens: 10 })]).toEqual([
      false,
      true,
    ]);
  });

  test("half of a small window is left, and the limit is where it asks", () => {
    expect([asks(8000, 16_000), asks(8001, 16_000)]).toEqual([false, true]);
    const { limit } = rollingSummary();
    expect([100_000, 16_000, 5].map((window) => limit?.(window))).toEqual([83_616, 8000, 2]);
    expect(rollingSummary({ reserveTokens: 0 }).limit?.(50)).toBe(50);
  });

  // @covers R125
  test("disabled it never asks, and compacts when told to", async () => {
    expect(asks(1_000_000, 1000, { enabled: false })).toBe(false);
    const session = await sessionOf([user(long), told(long), user("go on")]);
    const strategy = rollingSummary({ enabled: false, keepRecentTokens: 5, reserveTokens: 0 });
    expect(await compactNow(session, { ...scripted("S"), strategy })).toMatchObject({ status: "compacted" });
  });

  // @covers R125
  test("the defaults are pi's", () => {
    const ask = (options: RollingSummaryOptions, tokens: number) => {
      const strategy = rollingSummary(options);
      const budget = { window: 100_000, tokens, estimate: lengthOf };
      const context = contextFrom(Array.from({ length: 300 }, () => user(long)));
      return [
        strategy.limit?.(100_000),
        strategy.shouldCompact(context, budget),
        strategy.choose(context, budget),
      ];
    };
    const defaults = { enabled: true, reserveTokens: 16_384, keepRecentTokens: 20_000 };
    expect(ask({}, 83_617)).toEqual(ask(defaults, 83_617));
    expect(ask({}, 83_617)).not.toEqual(ask({ ...defaults, keepRecentTokens: 20_001 }, 83_617));
    expect(ask({}, 83_617)).not.toEqual(ask({ ...defaults, reserveTokens: 16_385 }, 83_617));
  });

  test.each([
    { reserveTokens: -1 },
    { reserveTokens: 0.5 },
    { keepRecentTokens: -1 },
    { keepRecentTokens: Number.NaN },
  ])("%j is refused", (options) => {
    expect(() => rollingSummary(options)).toThrow(RangeError);
  });
});

describe("what", () => {
  const choose = (
    messages: readonly ContextMessage[],
    options = {},
    budget: Partial<CompactionBudget> = {},
  ) =>
    rollingSummary({ reserveTokens: 0, ...options }).choose(contextFrom(messages), {
      window: 1000,
      tokens: 0,
      estimate: lengthOf,
      ...budget,
    });
  const idsOf = (choice: ReturnType<typeof choose>) =>
    choice?.parts.map(({ items }) => items.map(({ entryId }) => entryId));

  test("about 20,000 tokens of the end are kept, and never more than half of what is not reserved", () => {
    const talk = Array.from({ length: 300 }, () => user(long));
    expect(choose(talk, {}, { window: 1_000_000 })?.keepFrom).toBe(300 - 50);
    expect(choose(talk, {}, { window: 20_000 })?.keepFrom).toBe(300 - 25);
    expect(choose(talk, { reserveTokens: 10_000 }, { window: 20_000 })?.keepFrom).toBe(300 - 13);
    expect(choose(talk, { keepRecentTokens: 800 }, { window: 20_000 })?.keepFrom).toBe(300 - 2);
    expect(choose(talk, {}, { window: 1_000_000, minimal: true })?.keepFrom).toBe(300);
  });

  test("nothing where the end is all there is", () => {
    expect(choose([user("a"), told("b")])).toBeUndefined();
    const summary: ContextMessage = {
      role: "compactionSummary",
      summary: long,
      tokensBefore: 1,
      timestamp: 1,
    };
    expect(choose([summary, user("a")])).toBeUndefined();
    expect(choose([summary], {}, { minimal: true })).toBeUndefined();
  });

  // @covers R129
  test("one part between turns; two where a turn is cut", () => {
    const talk = [user(long), told(long), user("a"), told("b", ["1"]), gave("1", long), told("c")];
    const whole = choose(talk, { keepRecentTokens: 403 });
    expect(idsOf(whole)).toEqual([["m0", "m1"]]);
    expect(whole?.parts[0]?.prompt).toBe(prompts.checkpoint);
    const cut = choose(talk, { keepRecentTokens: 1 });
    expect(cut?.keepFrom).toBe(5);
    expect(idsOf(cut)).toEqual([
      ["m0", "m1"],
      ["m2", "m3", "m4"],
    ]);
    expect(cut?.parts.map(({ prompt }) => prompt)).toEqual([prompts.checkpoint, prompts.turnPrefix]);
    expect(cut?.parts[1]).not.toHaveProperty("previous");
  });

  test("two texts are joined by a rule and a heading", () => {
    const { join } = rollingSummary();
    expect(join?.(["history"])).toBe("history");
    expect(join?.(["history", "prefix"])).toBe("history\n\n---\n\n## Turn in Progress\n\nprefix");
  });
});

describe("through compact", () => {
  const strategy = rollingSummary({ reserveTokens: 0, keepRecentTokens: 5 });
  const say = (...messages: Parameters<typeof sessionOf>[0]) =>
    messages.map((message) => ({ type: "message" as const, message }));

  // @covers R129
  test("a cut turn asks twice, and one text comes of it", async () => {
    const session = await sessionOf([
      user(long),
      told(long),
      user("the task"),
      told(long, ["1"]),
      gave("1", "found"),
      told("on it"),
    ]);
    const model = scripted("HISTORY", "PREFIX");
    await compactNow(session, { ...model, strategy, window: 2000 });
    expect(
      model.prompts.map(({ text }) => [text.includes("the task"), text.includes("## Original Request")]),
    ).toEqual([
      [false, false],
      [true, true],
    ]);
    expect((await saidIn(session))[0]).toMatch(
      /HISTORY\n\n---\n\n## Turn in Progress\n\nPREFIX\n\n<read-files>/,
    );
  });

  // @covers R131
  test("an earlier summary is brought up to date, without the blocks that closed it", async () => {
    const session = await sessionOf([
      user(long),
      told(long, ["1"]),
      gave("1", "found"),
      user("more"),
      told("ok"),
    ]);
    await compactNow(session, { ...scripted("THE FIRST"), strategy });
    expect((await saidIn(session))[0]).toContain("<read-files>");
    await session.append(say(told(long), user("and more"), told("well")));
    const model = scripted("THE SECOND");
    await compactNow(session, { ...model, strategy });
    const [{ text } = { text: "" }] = model.prompts;
    expect(text).toContain("<previous-summary>\nTHE FIRST\n</previous-summary>");
    expect(text).not.toContain("<read-files>");
    expect(text).toContain(prompts.checkpoint.update);
    const [summary] = await saidIn(session);
    expect(summary).toMatch(/^compactionSummary: THE SECOND\n\n<read-files>\n1\.ts\n<\/read-files>/);
    expect(summary).not.toContain("THE FIRST");
  });

  test("where the turn is all there is, the earlier summary stays as it was, and no model is asked for it", async () => {
    const session = await sessionOf([user(long), told(long), user("more!")]);
    await compactNow(session, { ...scripted("THE FIRST"), strategy });
    await session.append(say(told(long), told("well then")));
    const model = scripted("PREFIX");
    await compactNow(session, { ...model, strategy });
    expect(model.prompts).toHaveLength(1);
    expect((await saidIn(session))[0]).toBe(
      "compactionSummary: THE FIRST\n\n---\n\n## Turn in Progress\n\nPREFIX",
    );
  });
});
