import { type ContextMessage, contextFrom, type UserMessage, userMessage } from "sessile";
import {
  type CompactionBudget,
  prompts,
  type RecentUserMessagesOptions,
  recentUserMessages,
} from "sessile/compaction";
import { describe, expect, test } from "vitest";
import {
  attachment,
  compactNow,
  gave,
  lengthOf,
  saidIn,
  scripted,
  sessionOf,
  told,
  user,
} from "./scripted.js";

const empty = contextFrom([]);
/** So many tokens, at four bytes each. */
const words = (tokens: number, letter = "x") => letter.repeat(tokens * 4);

describe("when", () => {
  const asks = (tokens: number, window: number, options = {}) =>
    recentUserMessages(options).shouldCompact(empty, { tokens, window });

  // @covers R101
  test("a context has 90 % of the window, or the limit that was set, whichever is less", () => {
    expect([asks(899, 1000), asks(900, 1000)]).toEqual([false, true]);
    expect([asks(499, 1000, { tokenLimit: 500 }), asks(500, 1000, { tokenLimit: 500 })]).toEqual([
      false,
      true,
    ]);
    expect([asks(899, 1000, { tokenLimit: 5000 }), asks(900, 1000, { tokenLimit: 5000 })]).toEqual([
      false,
      true,
    ]);
  });

  test("what it leaves is below that, so that it does not ask at once again", () => {
    const { limit } = recentUserMessages();
    expect([limit?.(1000), limit?.(2), limit?.(1)]).toEqual([899, 1, 1]);
  });

  test("the defaults are codex's", () => {
    const talk = Array.from({ length: 60 }, () => user(words(1000)));
    const explicit = { tokenLimit: 270_000, keepUserTokens: 20_000 };
    const window = 300_000;
    expect([asks(269_999, window), asks(270_000, window)]).toEqual([false, true]);
    const chosen = (options: RecentUserMessagesOptions) =>
      recentUserMessages(options).choose(contextFrom(talk), { window, tokens: 0 });
    expect(chosen({})).toEqual(chosen(explicit));
    expect(chosen({})).not.toEqual(chosen({ ...explicit, keepUserTokens: 20_001 }));
  });

  test.each([
    { tokenLimit: -1 },
    { tokenLimit: 0.5 },
    { keepUserTokens: -1 },
    { keepUserTokens: 1.5 },
    { tokenLimit: 0 },
    { tokenLimit: Number.NaN },
  ])("%j is refused", (options) => {
    expect(() => recentUserMessages(options)).toThrow(RangeError);
  });
});

describe("what", () => {
  const choose = (
    messages: readonly ContextMessage[],
    options = {},
    budget: Partial<CompactionBudget> = {},
  ) => recentUserMessages(options).choose(contextFrom(messages), { window: 1_000_000, tokens: 0, ...budget });

  // @covers R97
  test("users' messages stay, newest first, as far as the tokens go; all is summarised anew", () => {
    const talk = [
      user(words(3)),
      told("a"),
      user(words(4)),
      told("b", ["1"]),
      gave("1", "c"),
      user(words(6)),
    ];
    const made = choose(talk, { keepUserTokens: 10 });
    expect(made?.retain).toEqual(["m5", "m2"]);
    expect(made).toMatchObject({ keepFrom: 6, edits: [] });
    expect(made?.parts).toEqual([{ items: contextFrom(talk).items, prompt: prompts.handoff }]);
  });

  test("the one that has no room in whole is cut, and the last", () => {
    const talk = [user("short"), user(words(400, "o")), user(words(60, "n"))];
    const made = choose(talk, { keepUserTokens: 100 });
    expect(made?.retain).toEqual(["m2", "m1"]);
    expect(made?.edits).toHaveLength(1);
    expect(made?.edits?.[0]).toMatchObject({ type: "context_edit", targetId: "m1" });
    const text = JSON.stringify(made?.edits?.[0]?.replacement).match(/"text":"(.*)"/)?.[1] ?? "";
    expect(text).toMatch(/^o+(\\n)?\[… \d+ tokens left out …\](\\n)?o+$/);
    expect(text.length).toBeLessThanOrEqual(40 * 4);
  });

  // @covers R97
  test("about 20,000 tokens, never more than a quarter of the limit, and none where the least is asked for", () => {
    const talk = Array.from({ length: 60 }, () => user(words(1000)));
    expect(choose(talk)?.retain).toHaveLength(20);
    expect(choose(talk, {}, { window: 40_000 })?.retain).toHaveLength(9);
    expect(choose(talk, { tokenLimit: 8000 })?.retain).toHaveLength(2);
    expect(choose(talk, { keepUserTokens: 0 })?.retain).toEqual([]);
    expect(choose(talk, {}, { minimal: true })?.retain).toEqual([]);
  });

  test("tokens are a quarter of the bytes", () => {
    expect(choose([user("a"), user("é".repeat(20))], { keepUserTokens: 10 })?.retain).toEqual(["m1"]);
    expect(choose([user("a"), user("é".repeat(18))], { keepUserTokens: 10 })?.retain).toEqual(["m1", "m0"]);
  });

  test("an inline image becomes words, and an attachment keeps its descriptor", () => {
    const data = "A".repeat(4000);
    const picture: UserMessage = {
      role: "user",
      content: [
        { type: "text", text: "look" },
        { type: "image", data, mimeType: "image/png" },
      ],
      timestamp: 1,
    };
    const attached = userMessage({ type: "text", text: "[image a.png]", resource: attachment });
    const made = choose([attached, picture]);
    expect(made?.retain).toEqual(["m1", "m0"]);
    expect(made?.edits).toEqual([
      {
        type: "context_edit",
        targetId: "m1",
        replacement: {
          content: [
            { type: "text", text: "look" },
            { type: "text", text: "[image] (left out: the conversation was compacted)" },
          ],
        },
      },
    ]);
  });
});

describe("through compact", () => {
  const long = words(200);

  test("the summary comes first, below the preface, then what users said in order", async () => {
    const session = await sessionOf([
      user("one"),
      told(long),
      user("two"),
      told(long, ["1"]),
      gave("1", long),
      told("done"),
    ]);
    const model = scripted("SUMMARY");
    await compactNow(session, { ...model, strategy: recentUserMessages(), window: 4000 });
    const [summary, ...rest] = await saidIn(session);
    expect(summary).toMatch(
      /^compactionSummary: Another model began this work, .* what is done\.\n\nSUMMARY\n/,
    );
    expect(rest).toEqual(["user: one", "user: two"]);
    expect(model.prompts[0]?.text).toContain("## Remaining Steps");
  });

  test("a preface of one's own", async () => {
    const session = await sessionOf([user("one"), told(long)]);
    await compactNow(session, {
      ...scripted("SUMMARY"),
      strategy: recentUserMessages({ preface: "Read this." }),
    });
    expect((await saidIn(session))[0]).toBe("compactionSummary: Read this.\n\nSUMMARY");
  });

  test("an earlier summary goes into the next, as part of the conversation", async () => {
    const session = await sessionOf([user("one"), told(long)]);
    const strategy = recentUserMessages();
    await compactNow(session, { ...scripted("FIRST"), strategy });
    await session.append([{ type: "message", message: told(long) }]);
    const model = scripted("SECOND");
    await compactNow(session, { ...model, strategy });
    expect(model.prompts[0]?.text).toMatch(/\[Earlier summary\]: [\s\S]*FIRST/);
    expect(model.prompts[0]?.text).not.toContain("<previous-summary>");
    expect((await saidIn(session)).join()).not.toContain("FIRST");
  });

  test("says so where no summary came, and only at the last attempt", async () => {
    const session = await sessionOf([user("one"), told(long)]);
    const model = scripted(" ");
    await compactNow(session, {
      ...model,
      strategy: recentUserMessages({ preface: "P" }),
      estimate: lengthOf,
    });
    expect(model.prompts).toHaveLength(3);
    expect((await saidIn(session))[0]).toBe("compactionSummary: P\n\n(no summary available)");
    const other = await sessionOf([user("one"), told(long)]);
    await compactNow(other, { ...scripted("", "THERE"), strategy: recentUserMessages({ preface: "P" }) });
    expect((await saidIn(other))[0]).toBe("compactionSummary: P\n\nTHERE");
  });
});
