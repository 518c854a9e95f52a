import fc from "fast-check";
import { currentTurnStart } from "sessile/attachments";
import { assistantMessage, type ContextItem, contextOf, toolResult, userMessage } from "sessile/content";
import { describe, expect, test } from "vitest";

const user = userMessage("u");
const answer = assistantMessage({ provider: "p", model: "m" }, "a");
const result = toolResult({ id: "c", name: "t" }, "r");
const custom = { role: "custom", customType: "x", content: "c", display: false, timestamp: 0 } as const;
const summary = { role: "compactionSummary", summary: "s", tokensBefore: 1, timestamp: 0 } as const;
const bash = {
  role: "bashExecution",
  command: "c",
  output: "",
  cancelled: false,
  truncated: false,
  timestamp: 0,
} as const;

describe("currentTurnStart", () => {
  test.each([
    ["nothing", [], 0],
    ["one message", [user], 0],
    ["a question after an answer", [user, answer, user], 2],
    ["the rounds of its tools", [user, answer, user, answer, result, answer], 2],
    ["two messages that no answer separates", [user, answer, user, user], 2],
    ["what an extension or a shell put between them", [user, answer, user, custom, bash, user], 2],
    ["an extension's message before the user's", [user, answer, custom, user], 3],
    ["a tool's result in between", [user, answer, result, user], 3],
    ["a turn whose beginning was compacted", [summary, answer, result], 0],
    ["a turn behind a summary", [summary, user, answer], 1],
  ])("%s", (_, messages, start) => {
    expect(currentTurnStart(contextOf(messages))).toBe(start);
  });

  const items = (
    ...origins: readonly ContextItem["origin"][]
  ): { readonly items: readonly ContextItem[] } => ({
    items: origins.map((origin, at) => ({ entryId: `m${at}`, origin, message: user })),
  });

  test("does not take messages that a compaction retained for one turn", () => {
    expect(currentTurnStart(items("retained", "retained", "message"))).toBe(2);
    expect(currentTurnStart(items("retained", "retained"))).toBe(1);
  });

  test("is where the latest run of user messages begins", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom("u", "a"), { maxLength: 12 }), (roles) => {
        const text = roles.join("");
        const runs = [...text.matchAll(/u+/g)];
        const context = contextOf(roles.map((role) => (role === "u" ? user : answer)));
        expect(currentTurnStart(context)).toBe(runs.at(-1)?.index ?? 0);
      }),
    );
  });
});
