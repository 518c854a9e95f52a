import fc from "fast-check";
import { contextTokens } from "sessile/compaction";
import { type ContextMessage, contextOf } from "sessile/content";
import { estimateMessageTokens } from "sessile/estimate";
import { expect, test } from "vitest";
import { message } from "../arbitraries/messages.js";
import { gave, lengthOf, sessionOf, told, usage, user } from "./scripted.js";

const countOf = (...messages: readonly ContextMessage[]) =>
  contextTokens(contextOf(messages), { estimate: lengthOf });

test("is the latest usage, and an estimate of what came since", () => {
  expect(
    countOf(
      user("long ago"),
      told("x", ["c"], usage(1000)),
      told("y", ["d"], usage(2000)),
      gave("d", "four"),
      user("five!"),
    ),
  ).toBe(2009);
  expect(countOf(user("abc"), told("defg"))).toBe(7);
  expect(countOf()).toBe(0);
});

test.each([
  ["aborted", { ...told("1234", [], usage(500)), stopReason: "aborted" as const }],
  ["error", { ...told("1234", [], usage(500)), stopReason: "error" as const }],
  ["zero", told("1234", [], usage(0))],
  ["zero in all", told("1234", [], usage(0, { totalTokens: 0 }))],
  ["none", told("1234")],
])("passes over a usage that is %s, and estimates its message", (_, passedOver) => {
  expect(countOf(user("ab"), told("", [], usage(70)), passedOver, user("c"))).toBe(75);
});

test("a usage is its total, or else the sum of its four parts", () => {
  const parts = { output: 20, cacheRead: 300, cacheWrite: 4000 };
  expect(countOf(told("", [], usage(1, parts)))).toBe(4321);
  expect(countOf(told("", [], usage(1, { ...parts, totalTokens: 9 })))).toBe(9);
  expect(countOf(told("", [], usage(1, { ...parts, totalTokens: 0 })))).toBe(4321);
});

test("is whole, and estimates as estimateMessageTokens by default", () => {
  expect(contextTokens(contextOf([user("a"), user("b")]), { estimate: () => 0.3 })).toBe(1);
  fc.assert(
    fc.property(fc.array(message, { maxLength: 5 }), (messages) => {
      const bare = messages.map((of) => (of.role === "assistant" ? { ...of, usage: undefined } : of));
      const context = contextOf(bare as typeof messages);
      const sum = bare.reduce((total, of) => total + estimateMessageTokens(of as ContextMessage), 0);
      expect(contextTokens(context)).toBe(Math.ceil(sum));
    }),
  );
});

test("no usage before the latest compaction or context edit counts, though all be of one millisecond", async () => {
  const session = await sessionOf([user("abc"), told("de", [], usage(900))]);
  const tokens = async () => contextTokens(await session.context(), { estimate: lengthOf });
  const [first] = session.tree.path(session.leafId);
  expect(await tokens()).toBe(900);
  await session.append([
    { type: "context_edit", targetId: first?.id ?? "", replacement: { content: "a" } },
    { type: "message", message: user("f") },
  ]);
  expect(await tokens()).toBe(4);
  await session.append([{ type: "message", message: told("gh", [], usage(800)) }]);
  expect(await tokens()).toBe(800);
  const kept = session.leafId as string;
  await session.append([{ type: "compaction", summary: "sum", firstKeptEntryId: kept, tokensBefore: 800 }]);
  expect(await tokens()).toBe(5);
  await session.append([
    { type: "message", message: told("", [], usage(40)) },
    { type: "message", message: user("12") },
  ]);
  expect(await tokens()).toBe(42);
});
