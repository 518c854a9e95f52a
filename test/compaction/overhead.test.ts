import fc from "fast-check";
import { type Context, memorySessionStore } from "sessile";
import {
  type CompactionStrategy,
  compact,
  contextTokens,
  type GeneratePrompt,
  planCompaction,
  pruneThenSummarize,
  recentUserMessages,
  rollingSummary,
} from "sessile/compaction";
import { SessileError } from "sessile/errors";
import { estimateMessageTokens } from "sessile/estimate";
import { describe, expect, test } from "vitest";
import { rounds } from "../support/rounds.js";
import { told, usage, user } from "./scripted.js";

const strategies: Readonly<Record<string, () => CompactionStrategy>> = {
  rolling: () => rollingSummary(),
  recent: () => recentUserMessages(),
  prune: () => pruneThenSummarize(),
};

interface Agent {
  readonly window: number;
  /** Tokens of tools and instructions, which the provider counts. */
  readonly overhead: number;
  /** The provider's count of the messages, as a multiple of the estimate. Default 1. */
  readonly factor?: number;
  /** Tokens of an image with each question, which the provider counts and the estimate does not. Default 0. */
  readonly image?: number;
  /** Tokens of a summary. Default 6. */
  readonly summary?: number;
  /** Words of each message. */
  readonly words: readonly number[];
  readonly strategy: CompactionStrategy;
  /** Whether the caller measures the whole request before it sends it. */
  readonly measures?: boolean;
  readonly turns: number;
  /** A turn, and the overhead from it on. */
  readonly less?: readonly [number, number];
}

/** What an agent paid for its summaries. */
interface Bill {
  compactions: number;
  /** The most compactions in a row after which the next request was too large again, though little was added. */
  withoutGain: number;
  calls: number;
  errors: SessileError<"IRREDUCIBLE">[];
  /** Calls of the model in compactions that wrote nothing. */
  wasted: number;
}

const sizeOf = ({ items }: Context) =>
  items.reduce((sum, { message }) => sum + estimateMessageTokens(message), 0);

/** Turns of a user and an answer with the provider's count, and a compaction whenever the trigger asks. */
async function play({
  window,
  overhead,
  factor = 1,
  image = 0,
  summary = 6,
  words,
  strategy,
  measures,
  turns,
  less: [from, rest] = [turns, overhead],
}: Agent): Promise<Bill> {
  const session = await memorySessionStore().create({ cwd: "/w" });
  const bill: Bill = { compactions: 0, withoutGain: 0, calls: 0, errors: [], wasted: 0 };
  const prompts: GeneratePrompt[] = [];
  const generate = async (prompt: GeneratePrompt) => {
    prompts.push(prompt);
    return { text: `The goal, and the progress. ${"word ".repeat(summary - 6)}` };
  };
  const fits = (context: Context) => overhead + sizeOf(context) <= window;
  let last: number | undefined;
  let inARow = 0;
  for (let turn = 0; turn < turns; turn++) {
    const count = words[turn % words.length] ?? 1;
    await session.appendMessage(user(`Question ${turn} ${"word ".repeat(count)}`));
    const answer = told(`Answer ${turn} ${"word ".repeat(count)}`);
    const sent = await session.context();
    const images = image * sent.items.filter(({ message }) => message.role === "user").length;
    const beside = turn < from ? overhead : rest;
    const counted = beside + factor * sizeOf(sent) + images;
    const output = factor * estimateMessageTokens(answer);
    await session.appendMessage({
      ...answer,
      usage: usage(Math.ceil(counted), { output: Math.ceil(output) }),
    });
    const context = await session.context();
    const tokens = contextTokens(context);
    if (!strategy.shouldCompact(context, { window, tokens })) continue;
    const before = prompts.length;
    try {
      const result = await compact(session, { strategy, window, generate, ...(measures && { fits }) });
      if (result.status !== "compacted") continue;
      const size = sizeOf(context);
      const limit = strategy.limit?.(window) ?? window;
      const isGain =
        last === undefined || image > 0 || Math.min(size - last, limit - last - overhead) >= limit / 32;
      inARow = isGain ? 0 : inARow + 1;
      bill.withoutGain = Math.max(bill.withoutGain, inARow);
      bill.compactions++;
      const after = await session.context();
      expect(strategy.shouldCompact(after, { window, tokens: contextTokens(after) })).toBe(false);
      last = sizeOf(after);
    } catch (error) {
      if (!SessileError.is(error, "IRREDUCIBLE")) throw error;
      bill.errors.push(error);
      bill.wasted += prompts.length - before;
    }
  }
  bill.calls = prompts.length;
  return bill;
}

describe("tools and instructions that fill the window", () => {
  test.each(Object.keys(strategies))(
    "%s: two compactions at most, then an error that says so",
    async (name) => {
      const strategy = (strategies[name] as () => CompactionStrategy)();
      for (const measures of [false, true]) {
        const agent = { window: 200_000, overhead: 190_000, words: [400], strategy, measures, turns: 12 };
        const bill = await play(agent);
        expect([bill.compactions <= 2, bill.wasted]).toEqual([true, 0]);
        const { details, message } = bill.errors.at(-1) as SessileError<"IRREDUCIBLE">;
        expect(Math.abs(details.overhead - 190_000)).toBeLessThan(10);
        expect(message).toContain(`tools and instructions beside them have ${details.overhead}`);
      }
    },
  );

  test("are paid for at most twice by an agent that ignores the error, until they get smaller", async () => {
    for (const words of [1_000, 2_000, 4_000]) {
      const agent = { window: 200_000, words: [words], summary: 150, strategy: rollingSummary() };
      const full = await play({ ...agent, overhead: 180_000, turns: 15 });
      expect([words, full.compactions <= 2, full.errors.length > 8, full.wasted]).toEqual([
        words,
        true,
        true,
        0,
      ]);
      // From the 12th turn on there are half as many tools.
      const smaller = await play({ ...agent, overhead: 180_000, less: [12, 90_000], turns: 50 });
      const isFull = words >= 2_000;
      expect([words, smaller.errors.length > 0, smaller.compactions > 2]).toEqual([words, true, isFull]);
    }
  });

  test("leave room for a summary of some length, or count as if they left none", async () => {
    for (const left of [20, 60, 200, 400]) {
      const strategy = rollingSummary();
      const overhead = 200_000 - 16_384 - left;
      const bill = await play({ window: 200_000, overhead, words: [100], summary: 150, strategy, turns: 8 });
      expect([left, bill.compactions <= 3, bill.compactions > 0, bill.wasted]).toEqual([left, true, true, 0]);
    }
  });

  test("refuse no compaction that the user asks for", async () => {
    const session = await memorySessionStore().create({ cwd: "/w" });
    const options = { strategy: rollingSummary(), window: 20_000, generate: async () => ({ text: "S." }) };
    const statuses: string[] = [];
    for (let turn = 0; turn < 5; turn++) {
      await session.appendMessage(user("word ".repeat(300)));
      await session.appendMessage(told("word ".repeat(300), [], usage(19_000)));
      statuses.push((await compact(session, { ...options, trigger: "manual" })).status);
    }
    expect(statuses).toEqual(Array.from({ length: 5 }, () => "compacted"));
  });

  test("are paid for at most twice without gain, whatever the window, the messages and the strategy", async () => {
    const agents = fc.record({
      window: fc.constantFrom(4_000, 20_000, 60_000, 200_000),
      part: fc.oneof(fc.constantFrom(0, 0.5, 0.9, 0.95, 1, 1.2), fc.double({ min: 0, max: 1, noNaN: true })),
      words: fc.array(fc.constantFrom(1, 20, 300, 2_000), { minLength: 1, maxLength: 4 }),
      name: fc.constantFrom(...Object.keys(strategies)),
      measures: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(agents, async ({ window, part, words, name, measures }) => {
        const strategy = (strategies[name] as () => CompactionStrategy)();
        const overhead = Math.round(window * part);
        const bill = await play({ window, overhead, words, strategy, measures, turns: 15 });
        expect(bill.withoutGain).toBeLessThanOrEqual(2);
        expect(bill.wasted).toBe(0);
        const limit = strategy.limit?.(window) ?? window;
        if (overhead >= limit) expect(bill.compactions).toBeLessThanOrEqual(2);
      }),
      { numRuns: rounds(8, 500) },
    );
  });

  test("refuse no session that has room beside them, whatever the error of the estimate", async () => {
    const agents = fc.record({
      window: fc.constantFrom(20_000, 60_000),
      part: fc.constantFrom(0, 0.25, 0.5),
      factor: fc.constantFrom(0.7, 1, 1.4),
      name: fc.constantFrom(...Object.keys(strategies)),
    });
    await fc.assert(
      fc.asyncProperty(agents, async ({ window, part, factor, name }) => {
        const strategy = (strategies[name] as () => CompactionStrategy)();
        const limit = strategy.limit?.(window) ?? window;
        const words = [Math.floor(limit / 30)];
        const bill = await play({ window, overhead: limit * part, factor, words, strategy, turns: 30 });
        expect(bill.errors).toEqual([]);
        expect(bill.compactions).toBeGreaterThan(0);
        expect(bill.withoutGain).toBe(0);
      }),
      { numRuns: rounds(4, 100) },
    );
  });

  test.each(Object.keys(strategies))(
    "%s: refuse no session of images alone, whatever the estimate",
    async (name) => {
      for (const image of [4_800, 20_000, 60_000]) {
        const strategy = (strategies[name] as () => CompactionStrategy)();
        const turns = Math.ceil(1_200_000 / image);
        const bill = await play({ window: 200_000, overhead: 5_000, image, words: [100], strategy, turns });
        expect([image, bill.errors, bill.compactions >= 5]).toEqual([image, [], true]);
      }
    },
  );

  test("leave a tail that has room beside them", async () => {
    for (const [name, strategyOf] of Object.entries(strategies)) {
      const session = await memorySessionStore().create({ cwd: "/w" });
      for (let turn = 0; turn < 20; turn++)
        await session.appendMessage(user(`${turn} ${"word ".repeat(180)}`));
      await session.appendMessage(told("Done.", [], usage(6_300)));
      const context = await session.context();
      const strategy = strategyOf();
      const budgets: (readonly [number | undefined, number])[] = [];
      const spy: CompactionStrategy = {
        ...strategy,
        choose: (context, budget) => {
          const choice = strategy.choose(context, budget);
          budgets.push([budget.limit, choice?.keepFrom ?? -1]);
          return choice;
        },
      };
      const plan = planCompaction(context, { strategy: spy, window: 12_000 });
      expect([name, plan?.overhead]).toEqual([name, 6_300 - sizeOf(context)]);
      // The first choice was enough.
      expect([name, budgets]).toEqual([name, [[plan?.limit, plan?.keepFrom]]]);
    }
  });
});

describe("the tokens of a context", () => {
  test("include what the last compaction measured beside the messages, until the next usage", async () => {
    const session = await memorySessionStore().create({ cwd: "/w" });
    for (let turn = 0; turn < 8; turn++) {
      await session.appendMessage(user(`Question ${turn} ${"word ".repeat(2_000)}`));
      const counted = Math.ceil(50_000 + sizeOf(await session.context()));
      await session.appendMessage(told("Answer", [], usage(counted)));
    }
    const strategy = rollingSummary({ keepRecentTokens: 3_000 });
    const before = contextTokens(await session.context());
    const generate = async () => ({ text: "Summary." });
    const result = await compact(session, { strategy, window: 80_000, generate });
    const after = await session.context();
    expect(result).toMatchObject({ status: "compacted", tokensBefore: before });
    expect(contextTokens(after)).toBe((result as { readonly tokensAfter: number }).tokensAfter);
    expect(contextTokens(after) - sizeOf(after)).toBeGreaterThan(49_900);
    await session.appendMessage(told("Next", [], usage(9_000)));
    expect(contextTokens(await session.context())).toBe(9_000);
  });

  test("with a recorded size of any shape are numbers", () => {
    const values = [
      undefined,
      null,
      1,
      "x",
      {},
      { overhead: -1 },
      { overhead: Number.NaN },
      { overhead: "9" },
    ];
    for (const size of values) {
      const message = {
        role: "compactionSummary",
        summary: "S",
        tokensBefore: 0,
        details: { size },
        timestamp: 0,
      };
      const items = [{ entryId: "a", origin: "summary", message }] as unknown as Context["items"];
      expect(contextTokens({ items, usageSince: 1 })).toBe(Math.ceil(sizeOf({ items } as Context)));
    }
  });
});
