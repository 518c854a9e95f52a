import {
  type CompactionStrategy,
  compact,
  contextTokens,
  fileLedger,
  type Generate,
  pruneThenSummarize,
  recentUserMessages,
  rollingSummary,
} from "sessile/compaction";
import { type Message, toolPairs } from "sessile/content";
import type { EntryDraft, Session } from "sessile/session";
import { describe, expect, test } from "vitest";
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
  const ids = session.tree.path(session.leafId).map(({ id }) => id);
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
    const [first] = session.tree.path(session.leafId);
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
    const result = session.tree.path(session.leafId)[2]?.id as string;
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
    const giant = session.tree.path(session.leafId)[1]?.id as string;
    await session.append([{ type: "context_pin", targetId: giant, pinned: true }]);
    const error = { code: "IRREDUCIBLE", details: { reason: "kept", tokens: 3003 } };
    await expect(compactNow(session, { ...scripted("S"), strategy: keepLast(1) })).rejects.toMatchObject(
      error,
    );
    await session.append([{ type: "context_pin", targetId: giant, pinned: false }]);
    expect(await compactNow(session, scripted("S"))).toMatchObject({ status: "compacted" });
  });
});
