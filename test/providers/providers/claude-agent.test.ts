import { describe, expect, test } from "vitest";
import { acceptedMessages, rejectedMessages } from "../../support/providers/claude-agent/rejected.js";
import { claudeAgentRules } from "../../support/providers/claude-agent/rules.js";
import { breaches } from "../../support/providers/rule.js";

describe("the rules of the Claude Agent SDK", () => {
  test("take a message", () => {
    expect(breaches<unknown>(acceptedMessages, claudeAgentRules)).toEqual([]);
  });

  test.each(rejectedMessages)("%s: %s", (rule, _, messages) => {
    expect(breaches(messages, claudeAgentRules)[0]?.rule).toBe(rule);
  });

  test.each(claudeAgentRules)("$id refuses something", ({ id }) => {
    expect(rejectedMessages.map(([rule]) => rule)).toContain(id);
  });
});
