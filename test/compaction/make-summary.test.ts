import { type CompactOptions, compact } from "sessile/compaction";
import type { Message } from "sessile/content";
import { describe, expect, test } from "vitest";
import { compactNow, keepLast, saidIn, scripted, sessionOf, shortPrompt, told, user } from "./scripted.js";

const talk: readonly Message[] = [user("x".repeat(900)), told("y".repeat(900)), user("now this")];
const longer = "z".repeat(3000);
const attempt = async (options: Partial<CompactOptions> & Pick<CompactOptions, "generate">) =>
  compactNow(await sessionOf(talk), options);
const asking = (maxTokens: number) => ({ ...shortPrompt, maxTokens });
const inParts = (...lengths: readonly number[]) =>
  keepLast(1, {
    choose: ({ items }) => ({
      keepFrom: 2,
      parts: lengths.map((length, at) => ({ items: items.slice(at, at + 1), prompt: asking(length) })),
    }),
  });

describe("a summary that is longer than what it replaces", () => {
  test("is asked for again, half as long each time", async () => {
    const model = scripted(longer, longer, "SUMMARY");
    expect(await attempt({ ...model, window: 40_000, strategy: inParts(4000) })).toMatchObject({
      status: "compacted",
      calls: 3,
    });
    expect(model.options.map(({ maxTokens }) => maxTokens)).toEqual([4000, 2000, 1000]);
    expect(model.prompts[2]?.text).toContain("Write at most 700 words.");
  });

  test("is IRREDUCIBLE when the attempts run out, and never a loop", async () => {
    for (const attempts of [1, 2, 4]) {
      const model = scripted(longer);
      const error = { code: "IRREDUCIBLE", details: { reason: "longer", tokens: 3008, tokensBefore: 1808 } };
      await expect(attempt({ ...model, window: 40_000, retry: { attempts } })).rejects.toMatchObject(error);
      expect(model.prompts).toHaveLength(attempts);
    }
  });

  test("by as much as nothing is too long, too", async () => {
    const same = scripted("z".repeat(1800));
    await expect(attempt({ ...same, window: 40_000 })).rejects.toMatchObject({
      details: { reason: "longer" },
    });
    expect(await attempt({ ...scripted("z".repeat(1799)), window: 40_000 })).toMatchObject({
      status: "compacted",
      tokensAfter: 1807,
    });
  });
});

describe("a summary that leaves too much is over the limit", () => {
  test.each<[string, Partial<CompactOptions>]>([
    ["of the strategy", { strategy: keepLast(1, { limit: () => 1000 }) }],
    [
      "since the strategy would compact again",
      { strategy: keepLast(1, { shouldCompact: (_, { tokens }) => tokens > 900 }) },
    ],
    [
      "since the caller cannot send it",
      {
        fits: ({ items }) =>
          !items.some(({ message }) => message.role === "compactionSummary" && message.summary.length > 900),
      },
    ],
    [
      "since the caller cannot send it, as it finds out later",
      { fits: async ({ items }) => items.length > 2 },
    ],
  ])("%s", async (_, options) => {
    const model = scripted("z".repeat(1500));
    const error = { code: "IRREDUCIBLE", details: { reason: "over-limit" } };
    await expect(attempt({ ...model, window: 40_000, ...options })).rejects.toMatchObject(error);
    expect(model.prompts).toHaveLength(3);
    if (!_.endsWith("later")) {
      expect(await attempt({ ...scripted("z".repeat(1500), "S"), window: 40_000, ...options })).toMatchObject(
        { calls: 2 },
      );
    }
  });

  test("a context of exactly the limit fits", async () => {
    const strategy = keepLast(1, { limit: () => 1008 });
    expect(await attempt({ ...scripted("z".repeat(1000)), window: 40_000, strategy })).toMatchObject({
      tokensAfter: 1008,
    });
  });
});

describe("the length that is asked for", () => {
  const lengths = async (options: Partial<CompactOptions>) => {
    const model = scripted("S");
    await attempt({ ...model, ...options });
    return model.options.map(({ maxTokens }) => maxTokens);
  };

  test("is the prompt's, and no more than what is kept leaves to each part", async () => {
    expect(await lengths({ window: 40_000, strategy: inParts(5000, 300) })).toEqual([5000, 300]);
    expect(await lengths({ window: 2008, strategy: inParts(5000, 300) })).toEqual([1000, 300]);
  });

  test("is at least 256 tokens", async () => {
    expect(await lengths({ window: 40_000, strategy: inParts(10) })).toEqual([256]);
  });
});

test("texts are joined by a rule where the strategy has no way of its own", async () => {
  const session = await sessionOf(talk);
  await compactNow(session, { ...scripted("A", "B"), strategy: inParts(300, 300) });
  expect((await saidIn(session))[0]).toBe("compactionSummary: A\n\n---\n\nB");
});

test("edits that free nothing are nothing to do", async () => {
  const session = await sessionOf(talk);
  const [first] = session.tree.path(session.leafId);
  const edit = {
    type: "context_edit",
    targetId: first?.id as string,
    replacement: { content: "w".repeat(900) },
  } as const;
  const strategy = keepLast(1, { choose: () => ({ keepFrom: 0, parts: [], edits: [edit] }) });
  expect(await compactNow(session, { ...scripted("S"), strategy, window: 40_000 })).toEqual({
    status: "nothingToDo",
  });
  const asking = { ...strategy, shouldCompact: () => true };
  await expect(compactNow(session, { ...scripted("S"), strategy: asking })).rejects.toMatchObject({
    details: { reason: "nothing-to-summarize" },
  });
  expect(session.tree.size).toBe(3);
});

test("counts by estimateMessageTokens where no estimator is given", async () => {
  const session = await sessionOf(talk);
  const result = await compact(session, { ...scripted("S"), strategy: keepLast(1), window: 10_000 });
  expect(
    result.status === "compacted" && [result.tokensBefore > result.tokensAfter, result.tokensAfter],
  ).toEqual([true, expect.toSatisfy((tokens: number) => tokens < 10)]);
});
