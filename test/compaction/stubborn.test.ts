import {
  type CompactionStrategy,
  compact,
  contextTokens,
  planCompaction,
  pruneThenSummarize,
  recentUserMessages,
  rollingSummary,
  summarizeBranch,
} from "sessile/compaction";
import { contextOf } from "sessile/content";
import { estimateMessageTokens } from "sessile/estimate";
import { memorySessionStore, type Session } from "sessile/session";
import { describe, expect, test } from "vitest";
import type { ledgerDetails } from "../../src/compaction/file-ledger/details.js";
import { gave, scripted, told, tooLong, usage, user } from "./scripted.js";

const created = (): Promise<Session> => memorySessionStore().create({ cwd: "/w" });
const words = (count: number) => "word ".repeat(count);

async function turns(session: Session, count: number, size: number, spent?: number): Promise<void> {
  for (let at = 0; at < count; at++) {
    await session.appendMessage(user(`ask${at} ${words(size)}`));
    await session.appendMessage(
      told(`say${at} ${words(size)}`, [], spent === undefined ? undefined : usage(spent)),
    );
  }
}

const keepTwo: CompactionStrategy = {
  name: "keep-two",
  shouldCompact: (_, { window, tokens }) => tokens > window * 0.8,
  choose: ({ items }, { minimal }) => {
    const keepFrom = minimal ? items.length : Math.max(0, items.length - 4);
    if (keepFrom === 0) return undefined;
    const prompt = { system: "s", instructions: "i", update: "u", maxTokens: 500 };
    return { keepFrom, parts: [{ items: items.slice(0, keepFrom), prompt }] };
  },
};

describe("where a strategy finds nothing to summarise", () => {
  test.each([
    ["rollingSummary", rollingSummary()],
    ["a user's", keepTwo],
  ])("and the provider counts far more than the estimate, %s keeps the least", async (_, strategy) => {
    const session = await created();
    await turns(session, 2, 2000, 93_000);
    const model = scripted("S");
    const result = await compact(session, { strategy, window: 100_000, generate: model.generate });
    expect(result.status).toBe("compacted");
    expect(strategy.shouldCompact(await session.context(), { window: 100_000, tokens: 0 })).toBe(false);
  });

  test("and the provider refused the context, the least is kept", async () => {
    const session = await created();
    await turns(session, 3, 500);
    const options = { strategy: rollingSummary(), window: 100_000, generate: scripted("S").generate };
    expect(await compact(session, options)).toEqual({ status: "nothingToDo" });
    expect(await compact(session, { ...options, trigger: "overflow" })).toMatchObject({
      status: "compacted",
    });
  });
});

describe("a short session that is compacted by hand", () => {
  test.each([
    ["recentUserMessages", recentUserMessages()],
    ["pruneThenSummarize", pruneThenSummarize()],
    ["rollingSummary", rollingSummary()],
  ])("asks no model, with %s", async (_, strategy) => {
    const session = await created();
    await turns(session, 2, 5);
    const model = scripted("S");
    const options = { strategy, window: 100_000, trigger: "manual" as const, generate: model.generate };
    expect(await compact(session, options)).toEqual({ status: "nothingToDo" });
    expect(model.prompts).toEqual([]);
  });
});

test("lists of files have room in a small window: what they leave out is in the details", async () => {
  const session = await created();
  for (let at = 0; at < 220; at++) {
    const path = `packages/some/long/directory/of/a/java/project/Class${at}.java`;
    const call = { type: "toolCall" as const, id: `c${at}`, name: "edit", arguments: { path } };
    await session.appendMessage({ ...told("x"), content: [call] });
    await session.appendMessage(gave(call.id, "done"));
  }
  await session.appendMessage(user("go on"));
  const result = await compact(session, {
    strategy: rollingSummary(),
    window: 8_192,
    generate: scripted("A summary.").generate,
  });
  if (result.status !== "compacted") expect.unreachable();
  expect(result.calls).toBeLessThan(10);
  expect((result.entry.details as ReturnType<typeof ledgerDetails>).files.length).toBeGreaterThan(100);
  expect(result.entry.summary).toMatch(/files touched earlier left out/);
});

describe("a model with a smaller window", () => {
  test("is never asked for an answer of more than half of it", async () => {
    const session = await created();
    await turns(session, 20, 1000);
    const asked: number[] = [];
    await compact(session, {
      strategy: rollingSummary({ keepRecentTokens: 1000 }),
      window: 100_000,
      generateWindow: 8_192,
      generate: async (prompt, { maxTokens }) => {
        asked.push(maxTokens);
        const tokens = estimateMessageTokens(user(prompt.system + prompt.text)) + maxTokens;
        if (tokens > 8_192) throw tooLong;
        return { text: "S" };
      },
    });
    expect(asked.length).toBeGreaterThan(3);
    expect(Math.max(...asked)).toBeLessThanOrEqual(4_096);
  });

  test("brings a summary up to date that is longer than it takes: it is cut", async () => {
    const session = await created();
    await turns(session, 20, 1000);
    const strategy = rollingSummary({ keepRecentTokens: 1000 });
    await compact(session, { strategy, window: 100_000, generate: scripted(words(11_000)).generate });
    await turns(session, 4, 600);
    const sizes: number[] = [];
    await compact(session, {
      strategy,
      window: 12_000,
      generate: async ({ system, text }, { maxTokens }) => {
        sizes.push(estimateMessageTokens(user(system + text)) + maxTokens);
        if ((sizes.at(-1) ?? 0) > 12_000) throw tooLong;
        return { text: "S" };
      },
    });
    expect(Math.max(...sizes)).toBeLessThanOrEqual(12_000);
  });

  test("that talks much in one step loses no history in the next", async () => {
    const session = await created();
    await turns(session, 200, 100);
    let calls = 0;
    const result = await compact(session, {
      strategy: rollingSummary({ keepRecentTokens: 1000 }),
      window: 100_000,
      generateWindow: 16_000,
      generate: async ({ system, text }, { maxTokens }) => {
        if (estimateMessageTokens(user(system + text)) + maxTokens > 16_000) throw tooLong;
        return { text: calls++ === 0 ? words(15_000) : "S" };
      },
    });
    expect(result).toMatchObject({ status: "compacted", omitted: 0 });
  });

  test("that refuses most of a conversation gives no summary of the rest", async () => {
    const session = await created();
    await turns(session, 20, 200);
    const size = session.tree.size;
    const refused = compact(session, {
      strategy: rollingSummary({ keepRecentTokens: 100 }),
      window: 100_000,
      generate: async ({ text }) => {
        if (!text.includes("ask19") || text.includes("ask18")) throw tooLong;
        return { text: "S" };
      },
    });
    await expect(refused).rejects.toMatchObject({ code: "SUMMARY_FAILED", details: { reason: "overflow" } });
    expect(session.tree.size).toBe(size);
  });
});

test("a provider that refuses everything ends an agent's loop after few compactions", async () => {
  const session = await created();
  await turns(session, 20, 200);
  let rounds = 0;
  let length = 3000;
  const strategy = recentUserMessages();
  const options = { strategy, window: 100_000, trigger: "overflow" as const, retry: { attempts: 1 } };
  for (; rounds < 100; rounds++) {
    try {
      await compact(session, { ...options, generate: async () => ({ text: words(length--) }) });
    } catch {
      break;
    }
  }
  expect(rounds).toBeLessThan(5);
});

test("a strategy's edits break nothing: those of calls, and those that take out what has to stay, are left out", async () => {
  const session = await created();
  await turns(session, 4, 300);
  const calls = await session.appendMessage(told("x", ["c"]));
  const result = await session.appendMessage(gave("c", "out"));
  const newest = await session.appendMessage(user("newest"));
  const omit = (targetId: string) => ({ type: "context_edit" as const, targetId, replacement: null });
  const careless: CompactionStrategy = {
    ...keepTwo,
    choose: (context, budget) => {
      const choice = keepTwo.choose(context, budget);
      return choice && { ...choice, edits: [calls, result, newest].map(({ id }) => omit(id)) };
    },
  };
  const done = await compact(session, {
    strategy: careless,
    window: 100_000,
    generate: scripted("S").generate,
  });
  expect(done.status).toBe("compacted");
  const shown = (await session.context()).items.map(({ entryId }) => entryId);
  expect(shown).toEqual(expect.arrayContaining([calls.id, result.id, newest.id]));
});

test("a branch's summary is bounded, whatever the model returns", async () => {
  const session = await created();
  await session.appendMessage(user("root"));
  const root = session.leafId;
  await turns(session, 4, 100);
  await summarizeBranch(session, root, { window: 8_192, generate: scripted("x ".repeat(500_000)).generate });
  expect(contextTokens(await session.context())).toBeLessThan(20_000);
});

test("a usage that is no count is none, and an estimate that is none is told", () => {
  const context = contextOf([user("hello"), told("hi", [], usage(1e300))]);
  expect(contextTokens(context)).toBeLessThan(20);
  const negative = () => contextTokens(context, { estimate: () => -1 });
  expect(negative).toThrow(new RangeError("estimate: expected a number >= 0 of a message, got -1"));
  const options = { strategy: rollingSummary(), window: 100, estimate: () => Number.NaN };
  expect(() => planCompaction(context, options)).toThrow(/^estimate: expected a number >= 0/);
});

test("instructions that are told again at each start are told once", async () => {
  const session = await created();
  const strategy = rollingSummary({ keepRecentTokens: 500 });
  for (let start = 0; start < 12; start++) {
    await session.appendMessage({ role: "system", content: words(2000), timestamp: start });
    await turns(session, 10, 300);
    await compact(session, { strategy, window: 30_000, generate: scripted("S").generate });
  }
  const [system] = (await session.context()).items;
  expect(system && estimateMessageTokens(system.message)).toBeLessThan(2500);
});

test("a session that is open for reading is refused before a model is asked", async () => {
  const store = memorySessionStore();
  const writer = await store.create({ cwd: "/w" });
  await turns(writer, 20, 500);
  const reader = await store.open(writer.id);
  const model = scripted("S");
  const strategy = rollingSummary({ keepRecentTokens: 500 });
  const refused = compact(reader, { strategy, window: 100_000, generate: model.generate });
  await expect(refused).rejects.toMatchObject({ code: "SESSION_READ_ONLY" });
  expect(model.prompts).toEqual([]);
});

test("a view that was asked for last is still asked for", async () => {
  const session = await created();
  await turns(session, 20, 500);
  const [view] = await session.append([{ type: "resource_view", resourceId: "res_0123456789abcdef" }]);
  const options = { strategy: recentUserMessages(), window: 20_000, generate: scripted("S").generate };
  expect(await compact(session, options)).toMatchObject({ status: "compacted" });
  const { items, views } = await session.context();
  expect(views).toEqual([{ entryId: view?.id, resourceId: "res_0123456789abcdef", item: items.length }]);
});

test("a first turn that is cut in two says where its later part goes on", async () => {
  const session = await created();
  await session.appendMessage(user(`do it ${words(500)}`));
  for (let at = 0; at < 10; at++) await session.appendMessage(told(words(500)));
  const strategy = rollingSummary({ keepRecentTokens: 600 });
  const result = await compact(session, { strategy, window: 100_000, generate: scripted("P").generate });
  expect(result).toMatchObject({ calls: 1, entry: { summary: "## Turn in Progress\n\nP" } });
});

test("a summary that is too long is asked for in fewer words, not the history again", async () => {
  const session = await created();
  await turns(session, 250, 40);
  let calls = 0;
  const refused = compact(session, {
    strategy: rollingSummary(),
    window: 8_000,
    generate: async () => {
      calls++;
      return { text: words(4500) };
    },
  });
  await expect(refused).rejects.toMatchObject({ code: "IRREDUCIBLE" });
  const steps = calls;
  calls = 0;
  const once = { strategy: rollingSummary(), window: 8_000, retry: { attempts: 1 } };
  await compact(session, {
    ...once,
    generate: async () => {
      calls++;
      return { text: words(4500) };
    },
  }).catch(() => undefined);
  expect(calls).toBeGreaterThan(3);
  // Two texts, since the cut falls into a turn, and two attempts more.
  expect(steps).toBeLessThanOrEqual(calls + 4);
});
