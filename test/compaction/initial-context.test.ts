import { type ContextMessage, contextFrom, type SystemMessage } from "sessile";
import {
  type CompactionTrigger,
  hasInitialContext,
  initialContext,
  type Reinjection,
} from "sessile/compaction";
import { describe, expect, test } from "vitest";
import { foldSystemMessages } from "../../src/compaction/retention.js";
import { compactNow, gave, keepLast, saidIn, scripted, sessionOf, told, user } from "./scripted.js";

const rules = "the rules of this project";
const long = "a long history ".repeat(20);

async function started(...tail: Parameters<typeof sessionOf>[0]) {
  const session = await sessionOf([]);
  await session.append([
    initialContext(rules),
    ...[user(long), told(long), ...tail].map((message) => ({ type: "message" as const, message })),
  ]);
  return session;
}
const reinject = (content: string, mode?: Reinjection["mode"]): Reinjection => ({
  content,
  ...(mode === undefined ? {} : { mode }),
});

// @covers R103
test("is a marked custom message that no person is shown, and is found again", async () => {
  expect(initialContext("x")).toEqual({
    type: "custom_message",
    customType: "sessile.initial_context",
    content: "x",
    display: false,
  });
  const session = await started();
  expect(hasInitialContext(await session.context())).toBe(true);
  expect(hasInitialContext(await (await sessionOf([user("a")])).context())).toBe(false);
});

describe("told again", () => {
  // @covers R102
  test("before the last message of the user where that is retained, and never summarised", async () => {
    const session = await started(user("now this"), told("on it", ["c"]), gave("c", "found"));
    const model = scripted("SUMMARY");
    await compactNow(session, {
      ...model,
      strategy: keepLast(2),
      trigger: "mid-turn",
      initialContext: reinject("new rules"),
    });
    expect((await saidIn(session)).slice(1)).toEqual([
      "custom: new rules",
      "user: now this",
      "assistant: on it<toolCall>",
      "toolResult: found",
    ]);
    expect(model.prompts.map(({ text }) => text).join()).not.toContain(rules);
    const [, context] = (await session.context()).items;
    expect(context?.origin).toBe("retained");
    expect(context?.message).toMatchObject({
      role: "custom",
      customType: "sessile.initial_context",
      display: false,
    });
  });

  test("between what was retained and the tail where the last message of the user is in the tail", async () => {
    const session = await started(user("now this"));
    await compactNow(session, {
      ...scripted("SUMMARY"),
      trigger: "mid-turn",
      initialContext: reinject("new rules"),
    });
    expect((await saidIn(session)).slice(1)).toEqual(["custom: new rules", "user: now this"]);
  });

  // @covers R98
  test("is never twice in context, however often it is compacted, nor is it ever summarised", async () => {
    const session = await started(user("now this"));
    const model = scripted("SUMMARY");
    for (let round = 0; round < 4; round++) {
      await session.append(
        [told(long), user(`next ${round}`), told("on it")].map((message) => ({ type: "message", message })),
      );
      await compactNow(session, {
        ...model,
        strategy: keepLast(round % 2 === 0 ? 1 : 2),
        trigger: "mid-turn",
        initialContext: reinject(`rules ${round}`),
      });
      const said = (await saidIn(session)).filter((line) => line.startsWith("custom"));
      expect(said).toEqual([`custom: rules ${round}`]);
    }
    expect(model.prompts).toHaveLength(4);
    expect(model.prompts.map(({ text }) => text).join()).not.toContain("rules");
  });

  test("one that the tail holds makes way for the new one, and the log keeps it", async () => {
    const session = await started();
    await session.append([initialContext("old rules"), { type: "message", message: user("now this") }]);
    await compactNow(session, {
      ...scripted("SUMMARY"),
      strategy: keepLast(2),
      trigger: "mid-turn",
      initialContext: reinject("new rules"),
    });
    expect((await saidIn(session)).slice(1)).toEqual(["custom: new rules", "user: now this"]);
    expect(
      [...(await session.tree()).walk()].filter(({ node }) => node.type === "custom_message"),
    ).toHaveLength(3);
  });
});

test("one that was told again goes with the next compaction, also where the tail goes back to before it was written", async () => {
  const session = await started(user("now this"), told("on it"));
  const first = scripted("a long summary ".repeat(30));
  await compactNow(session, {
    ...first,
    strategy: keepLast(2),
    trigger: "mid-turn",
    initialContext: reinject("new rules"),
  });
  expect(hasInitialContext(await session.context())).toBe(true);
  const result = await compactNow(session, { ...scripted("SHORT"), strategy: keepLast(2) });
  expect(await saidIn(session)).toEqual(["compactionSummary: SHORT", "user: now this", "assistant: on it"]);
  expect(result).toMatchObject({ tokensAfter: "SHORTnow thison it".length });
});

// @covers R100
test.each<[CompactionTrigger | undefined, Reinjection["mode"], boolean]>([
  ["manual", undefined, false],
  ["pre-turn", undefined, false],
  ["mid-turn", undefined, true],
  ["overflow", undefined, true],
  [undefined, undefined, true],
  ["mid-turn", "defer", false],
  ["manual", "before-last-user", true],
])("by %s and the mode %s, told again at once: %s", async (trigger, mode, atOnce) => {
  const session = await started(user("now this"));
  await compactNow(session, {
    ...scripted("S"),
    ...(trigger === undefined ? {} : { trigger }),
    initialContext: reinject("new rules", mode),
  });
  expect(hasInitialContext(await session.context())).toBe(atOnce);
});

// @covers R103
test("deferred, one in the tail goes; without any word of it, it stays", async () => {
  for (const given of [true, false]) {
    const session = await started();
    await session.append([initialContext("late rules"), { type: "message", message: user("now this") }]);
    await compactNow(session, {
      ...scripted("S"),
      strategy: keepLast(2),
      ...(given ? { initialContext: reinject("new rules", "defer") } : {}),
    });
    expect(hasInitialContext(await session.context())).toBe(!given);
  }
});

test("pinned, an old one stays beside a new one", async () => {
  const session = await started(user("now this"));
  const [first] = (await session.tree()).path(session.leafId);
  await session.append([{ type: "context_pin", targetId: first?.id as string, pinned: true }]);
  await compactNow(session, { ...scripted("S"), trigger: "mid-turn", initialContext: reinject("new rules") });
  expect((await saidIn(session)).slice(1)).toEqual([
    `custom: ${rules}`,
    "custom: new rules",
    "user: now this",
  ]);
});

// @covers R96
test("word of a switch of models reaches no summary, and what else to skip is the caller's", async () => {
  for (const skip of [undefined, () => false]) {
    const session = await sessionOf([user(long)]);
    await session.append([
      {
        type: "custom_message",
        customType: "sessile.model_switch",
        content: "you are another now",
        display: false,
      },
      { type: "message", message: user("now this") },
    ]);
    const model = scripted("S");
    await compactNow(session, { ...model, ...(skip === undefined ? {} : { skip }) });
    expect(model.prompts[0]?.text.includes("you are another now")).toBe(skip !== undefined);
  }
});

describe("system messages", () => {
  const system = (more: Partial<SystemMessage>, timestamp = 1): SystemMessage => ({
    role: "system",
    content: "",
    ...more,
    timestamp,
  });
  const fold = (...messages: readonly ContextMessage[]) => foldSystemMessages(contextFrom(messages).items);

  test("of none there is none, and one alone stays as it is", () => {
    expect(fold(user("a"))).toBeUndefined();
    const one = system({ content: "be kind", sections: { a: null }, toolsRemoved: ["x"] });
    expect(fold(user("a"), one)).toBe(one);
  });

  test("texts in order, sections as the latest has them, tools that were added and not removed", () => {
    const folded = fold(
      system({
        content: "be kind",
        sections: { style: "short", env: "linux" },
        toolsAdded: [{ name: "read", v: 1 }, "bash"],
      }),
      user("a"),
      system({ content: "", sections: { env: null, style: "long" }, toolsRemoved: ["bash"] }),
      system(
        {
          content: [{ type: "text", text: "be exact" }],
          toolsAdded: [{ name: "edit" }],
          toolsRemoved: [{ name: "read" }],
        },
        7,
      ),
    );
    expect(folded).toEqual({
      role: "system",
      content: [
        { type: "text", text: "be kind" },
        { type: "text", text: "be exact" },
      ],
      sections: { style: "long" },
      toolsAdded: [{ name: "edit" }],
      timestamp: 7,
    });
  });

  test("a tool that is removed and added in one message is there as it was added", () => {
    const folded = fold(
      system({ toolsAdded: [{ name: "read", v: 1 }] }),
      system({ toolsAdded: [{ name: "read", v: 2 }], toolsRemoved: [{ name: "read" }] }),
    );
    expect(folded?.toolsAdded).toEqual([{ name: "read", v: 2 }]);
  });

  test("a section and a tool that are no more leave nothing, and names of the prototype are names", () => {
    const folded = fold(
      system({
        sections: JSON.parse('{"__proto__":"p","constructor":"c"}') as Record<string, string>,
        toolsAdded: ["x", 5],
      }),
      system({ sections: { constructor: null }, toolsRemoved: ["x", 5] }),
    );
    expect(Object.entries(folded?.sections ?? {})).toEqual([["__proto__", "p"]]);
    expect(folded).not.toHaveProperty("toolsAdded");
    const gone = fold(system({ sections: { a: "x" } }), system({ sections: { a: null } }));
    expect(gone).not.toHaveProperty("sections");
  });
});
