import { describe, expect, it } from "vitest";
import { rejectedChat } from "../../support/providers/openai/chat/rejected.js";
import { chatBreaches, chatRules } from "../../support/providers/openai/chat/rules.js";
import { validChat } from "../../support/providers/openai/chat/valid.js";

describe("the rules of OpenAI Chat Completions", () => {
  it("take a request with everything in it", () => {
    expect(chatBreaches(validChat())).toEqual([]);
  });

  it.each(chatRules.map(({ id }) => id))("%s refuses what breaks it, and nothing else does", (id) => {
    const fixtures = rejectedChat[id] ?? [];
    expect(fixtures.length).toBeGreaterThan(0);
    for (const fixture of fixtures) {
      expect([...new Set(chatBreaches(fixture).map(({ rule }) => rule))]).toEqual([id]);
    }
  });

  it("have fixtures for rules only", () => {
    expect(Object.keys(rejectedChat).sort()).toEqual(chatRules.map(({ id }) => id).sort());
  });
});
