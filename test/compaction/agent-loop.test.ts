import {
  buildSessionContext,
  type ContextMessage,
  contextFrom,
  type EntryDraft,
  type Message,
  memorySessionStore,
  parseSession,
  type Session,
  toolPairs,
} from "sessile";
import {
  type CompactionStrategy,
  compact,
  contextTokens,
  fileLedger,
  findCutPoint,
  type Generate,
  planCompaction,
  pruneThenSummarize,
  recentUserMessages,
  rollingSummary,
  summarizeBranch,
} from "sessile/compaction";
import { estimateMessageTokens } from "sessile/estimate";
import { describe, expect, test } from "vitest";
import { ledgerDetails } from "../../src/compaction/file-ledger/ledger.js";
import { fixture } from "../support/fixtures.js";
import {
  compactNow,
  gave,
  keepLast,
  saidIn,
  scripted,
  sessionOf,
  told,
  tooLong,
  usage,
  user,
} from "./scripted.js";

const say = (message: Message): EntryDraft => ({ type: "message", message });
const words = (tokens: number, word = "word") => `${word} `.repeat(tokens);

const strategies: readonly [string, (window: number) => CompactionStrategy][] = [
  ["rollingSummary", () => rollingSummary()],
  ["recentUserMessages", () => recentUserMessages()],
  ["pruneThenSummarize", () => pruneThenSummarize()],
  [
    "rollingSummary without a reserve",
    (window) => rollingSummary({ reserveTokens: 0, keepRecentTokens: window }),
  ],
];

/** What an agent does before it asks its model; fails where it would go on for ever. */
async function compactAsNeeded(
  session: Session,
  strategy: CompactionStrategy,
  window: number,
  generate: Generate,
): Promise<number> {
  for (let round = 0; round < 3; round++) {
    const context = await session.context();
    if (!strategy.shouldCompact(context, { window, tokens: contextTokens(context) })) return round;
    await compact(session, { strategy, window, generate, retry: { delayMs: () => 0 } });
  }
  throw new Error("it asks again and again");
}

describe.each(strategies)("%s", (_, strategyFor) => {
  test.each([4000, 24_000])(
    "in a window of %d tokens, an agent's loop ends, and its context fits",
    async (window) => {
      const strategy = strategyFor(window);
      const session = await sessionOf([user(`the task ${words(50)}`)]);
      const model = scripted(words(60, "summary"));
      let compactions = 0;
      const size = Math.floor(window / 12);
      for (let turn = 0; turn < 40; turn++) {
        await session.append([
          say(told("on it", [`${turn}`], usage(contextTokens(await session.context())))),
          say(gave(`${turn}`, words(size))),
        ]);
        if (turn % 7 === 6)
          await session.append([say(told(words(30))), say(user(`and ${turn} ${words(40)}`))]);
        compactions += await compactAsNeeded(session, strategy, window, model.generate);
        const context = await session.context();
        expect(contextTokens(context)).toBeLessThanOrEqual(window);
        const { orphans } = toolPairs(context.items.map(({ message }) => message));
        expect(orphans).toEqual([]);
      }
      expect(compactions).toBeGreaterThan(1);
      expect(fileLedger(await session.context()).files).toHaveLength(40);
    },
  );
});

test("a session fifty times past the window is rescued in steps, and no message is left out", async () => {
  const window = 4000;
  const messages = Array.from({ length: 500 }, (_, at) =>
    at % 2 === 0 ? user(`message${at}. ${words(500)}`) : told(`message${at}. ${words(500)}`),
  );
  const session = await sessionOf([...messages, user("where are we?")]);
  expect(contextTokens(await session.context())).toBeGreaterThan(50 * window);
  const seen = new Set<number>();
  const generate: Generate = async ({ text }) => {
    // This model takes even less than it says.
    if (text.length > 11_000) throw tooLong;
    for (const [, at] of text.matchAll(/message(\d+)\./g)) seen.add(Number(at));
    return { text: "So far, so good." };
  };
  const strategy = rollingSummary();
  const result = await compact(session, { strategy, window, generate, retry: { delayMs: () => 0 } });
  expect(result).toMatchObject({ status: "compacted", omitted: 0 });
  const { items } = await session.context();
  const kept = items.flatMap(({ message }) =>
    message.role === "user" || message.role === "assistant" ? [JSON.stringify(message)] : [],
  );
  for (const text of kept) for (const [, at] of text.matchAll(/message(\d+)\./g)) seen.add(Number(at));
  expect(seen.size).toBe(500);
  expect((await saidIn(session)).at(-1)).toBe("user: where are we?");
  expect(contextTokens(await session.context())).toBeLessThanOrEqual(window / 2);
});

describe("a single giant at the end is cut by an edit, and the log keeps it", () => {
  const giant = words(60_000);
  test.each<[string, readonly Message[]]>([
    ["tool result", [user("read it"), told("", ["1"]), gave("1", giant)]],
    ["message of the user", [user("hello"), told("yes?"), user(giant)]],
  ])("%s", async (_, messages) => {
    const session = await sessionOf(messages);
    const leaf = session.leafId as string;
    const strategy = rollingSummary();
    expect(await compactAsNeeded(session, strategy, 32_000, scripted("S").generate)).toBe(1);
    const last = (await session.context()).items.at(-1);
    expect(last).toMatchObject({ entryId: leaf, edited: true });
    expect(JSON.stringify(last?.message)).toContain("tokens left out");
    expect(JSON.stringify(await session.entry(leaf))).toContain(giant);
  });
});

test("what was taken out of the context reaches no prompt and no summary, however often it is compacted", async () => {
  const secret = "hunter2";
  const session = await sessionOf([
    user(words(300)),
    told("", [secret]),
    gave(secret, `the password is ${secret}`),
    user(`it is ${secret}`),
    {
      role: "bashExecution",
      command: `echo ${secret}`,
      output: secret,
      cancelled: false,
      truncated: false,
      excludeFromContext: true,
      timestamp: 1,
    },
    told(words(300)),
    user("go on"),
  ]);
  const ids = (await session.tree()).path(session.leafId).map(({ id }) => id);
  await session.append([
    ...[ids[1], ids[2]].map(
      (targetId) => ({ type: "context_edit", targetId: targetId as string, replacement: null }) as const,
    ),
    { type: "context_edit", targetId: ids[3] as string, replacement: { content: "it is ***" } },
  ]);
  const model = scripted("SUMMARY");
  for (let round = 0; round < 3; round++) {
    await compactNow(session, { ...model, window: 4000 });
    expect(JSON.stringify(await session.context())).not.toContain(secret);
    await session.append([say(told(words(300))), say(user(`go on, ${round}`))]);
  }
  expect(model.prompts).toHaveLength(3);
  expect(JSON.stringify(model.prompts)).not.toContain(secret);
  expect(JSON.stringify(fileLedger(await session.context()))).not.toContain(secret);
});

describe("pins between compactions", () => {
  const long = "x".repeat(400);
  const more = () => [say(told(long)), say(user("next"))];
  const shown = async (session: Session) => (await saidIn(session)).slice(1);

  test("what is pinned stays through all of them, and goes with the next one once it is not", async () => {
    const session = await sessionOf([user("keep me"), told(long), user("now")]);
    const [first] = (await session.tree()).path(session.leafId);
    const pin = (pinned: boolean): EntryDraft => ({
      type: "context_pin",
      targetId: first?.id as string,
      pinned,
    });
    const model = scripted("SUMMARY");
    await session.append([pin(true)]);
    for (let round = 0; round < 2; round++) {
      await compactNow(session, model);
      expect((await shown(session))[0]).toBe("user: keep me");
      await session.append(more());
    }
    await session.append([pin(false)]);
    await compactNow(session, model);
    expect(await shown(session)).toEqual(["user: next"]);
    expect(model.prompts[0]?.text).toContain("keep me");
  });

  test("half of a tool pair that is pinned keeps the other half, and neither is summarised again by a rolling summary", async () => {
    const session = await sessionOf([
      user(long),
      told("look", ["1"]),
      gave("1", "found"),
      told(long),
      user("now"),
    ]);
    const result = (await session.tree()).path(session.leafId)[2]?.id as string;
    await session.append([{ type: "context_pin", targetId: result, pinned: true }]);
    const strategy = rollingSummary({ reserveTokens: 0, keepRecentTokens: 3 });
    const model = scripted("SUMMARY");
    for (let round = 0; round < 3; round++) {
      await compactNow(session, { ...model, strategy });
      expect((await shown(session)).slice(0, 2)).toEqual(["assistant: look<toolCall>", "toolResult: found"]);
      await session.append(more());
    }
    expect(model.prompts.map(({ text }) => text.includes("[Tool result of read]: found"))).toEqual([
      true,
      false,
      false,
    ]);
  });

  test("a pinned giant does not fit, and that is said", async () => {
    const session = await sessionOf([user(long), told("y".repeat(3000)), user("now")]);
    const giant = (await session.tree()).path(session.leafId)[1]?.id as string;
    await session.append([{ type: "context_pin", targetId: giant, pinned: true }]);
    const error = { code: "IRREDUCIBLE", details: { reason: "kept", tokens: 3003 } };
    await expect(compactNow(session, { ...scripted("S"), strategy: keepLast(1) })).rejects.toMatchObject(
      error,
    );
    await session.append([{ type: "context_pin", targetId: giant, pinned: false }]);
    expect(await compactNow(session, scripted("S"))).toMatchObject({ status: "compacted" });
  });
});

describe("stubborn contexts and providers", () => {
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
      const size = (await session.tree()).size;
      const refused = compact(session, {
        strategy: rollingSummary({ keepRecentTokens: 100 }),
        window: 100_000,
        generate: async ({ text }) => {
          if (!text.includes("ask19") || text.includes("ask18")) throw tooLong;
          return { text: "S" };
        },
      });
      await expect(refused).rejects.toMatchObject({
        code: "SUMMARY_FAILED",
        details: { reason: "overflow" },
      });
      expect((await session.tree()).size).toBe(size);
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
    await summarizeBranch(session, root, {
      window: 8_192,
      generate: scripted("x ".repeat(500_000)).generate,
    });
    expect(contextTokens(await session.context())).toBeLessThan(20_000);
  });

  test("a usage that is no count is none, and an estimate that is none is told", () => {
    const context = contextFrom([user("hello"), told("hi", [], usage(1e300))]);
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
});

describe("a real session", () => {
  const real = fixture("pi/large-session.v1.jsonl");

  /** A quarter of a character count, as pi counts. */
  const estimate = (message: ContextMessage): number =>
    estimateMessageTokens(message, { text: "chars/4", image: { kind: "flat", tokens: 1200 } });

  describe.skipIf(real.absent !== undefined)(`a real session of pi's (${real.absent ?? "present"})`, () => {
    function opened() {
      const session = parseSession(real.read());
      const path = session.tree.path(session.leafId);
      const context = buildSessionContext(session);
      const placeOf = (item: number | undefined) =>
        path.findIndex(({ id }) => id === context.items[item ?? -1]?.entryId);
      return { session, path, context, placeOf };
    }

    test("is what the design says it is", () => {
      const { session, path, context } = opened();
      expect(session.entries).toHaveLength(1018);
      expect(path.at(-1)?.id).toBe(session.entries[1017]?.id);
      expect(path).toHaveLength(1018);
      expect(context.items).toHaveLength(914);
      expect(context.model).toEqual({ provider: "anthropic", modelId: "claude-sonnet-4-5" });
      expect(context.thinkingLevel).toBe("off");
    });

    test("comes to 177,657 tokens by its last usage, and to 124,661 by a quarter of its characters", () => {
      const { context } = opened();
      expect(contextTokens(context, { estimate })).toBe(177_657);
      // The last message has a usage, so that nothing is estimated.
      expect(contextTokens(context)).toBe(177_657);
      expect(context.items.reduce((sum, { message }) => sum + estimate(message), 0)).toBe(124_661);
    });

    test("is cut at entry 837 where 20,000 tokens are kept, in the turn that begins at 834", () => {
      const { context, placeOf } = opened();
      const cut = findCutPoint(context.items, { keepTokens: 20_000, estimate });
      expect([placeOf(cut.keepFrom), placeOf(cut.turnStart)]).toEqual([837, 834]);
    });

    test("is planned: 730 messages and the 3 of the turn's beginning, 7 files read and 20 modified", () => {
      const { session, context, placeOf } = opened();
      const { cwd } = session.header ?? {};
      const options = { strategy: rollingSummary(), window: 200_000, estimate };
      const plan = planCompaction(context, { ...options, ...(cwd === undefined ? {} : { cwd }) });
      if (plan === undefined) throw new Error("nothing to do");
      expect(placeOf(plan.keepFrom)).toBe(837);
      expect(plan.parts.map(({ items }) => items.length)).toEqual([730, 3]);
      expect(plan.tokensBefore).toBe(177_657);
      const { readFiles, modifiedFiles } = ledgerDetails(plan.files);
      // As many as pi counts, which takes any call for done: of the 17 edits here that have no result, in an answer that
      // failed and one that was aborted, each is of a file that other edits changed.
      expect([readFiles.length, modifiedFiles.length]).toEqual([7, 20]);
      expect(plan.files.files.filter(({ unconfirmed }) => unconfirmed)).toEqual([]);
      // The newest message of the user is in what stays, and so is every pair.
      expect([plan.retain, plan.edits]).toEqual([[], []]);
    });

    test.each([1, 2000, 20_000, 40_000])(
      "is planned at any time with %d tokens kept, no pair torn",
      (keep) => {
        const { session, path } = opened();
        const options = { strategy: rollingSummary({ keepRecentTokens: keep }), window: 200_000 };
        for (let at = path.length; at > 0; at -= 73) {
          const context = buildSessionContext(session, path[at - 1]?.id ?? null);
          const plan = planCompaction(context, options);
          if (plan === undefined) continue;
          const retained = new Set(plan.retain);
          const kept = context.items.filter(
            ({ entryId }, item) => item >= plan.keepFrom || retained.has(entryId),
          );
          const messages = kept.map(({ message }) => message);
          const { orphans, pairs } = toolPairs(messages);
          expect(orphans).toEqual([]);
          const all = toolPairs(context.items.map(({ message }) => message)).pairs;
          const waiting = all.filter(({ result }) => result === undefined).length;
          expect(pairs.filter(({ result }) => result === undefined).length).toBeLessThanOrEqual(waiting);
          const newest = context.items.findLast(({ message }) => message.role === "user");
          expect(kept.some(({ entryId }) => entryId === newest?.entryId)).toBe(true);
        }
      },
    );
  });
});
