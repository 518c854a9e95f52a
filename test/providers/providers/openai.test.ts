import { describe, expect, it } from "vitest";
import { rejectedChat } from "../../support/providers/openai/chat/rejected.js";
import { chatRules } from "../../support/providers/openai/chat/rules.js";
import { validChat } from "../../support/providers/openai/chat/valid.js";
import { rejectedLedger, rejectedResponses } from "../../support/providers/openai/responses/rejected.js";
import { responsesRules } from "../../support/providers/openai/responses/rules.js";
import { validResponses } from "../../support/providers/openai/responses/valid.js";
import { breaches } from "../../support/providers/rule.js";

describe.each([
  { api: "Chat Completions", rules: chatRules, rejected: rejectedChat, valid: validChat },
  {
    api: "Responses",
    rules: responsesRules(rejectedLedger),
    rejected: rejectedResponses,
    valid: validResponses,
  },
])("the rules of OpenAI $api", ({ rules, rejected, valid }) => {
  const broken = (body: unknown) => [...new Set(breaches(body, rules).map(({ rule }) => rule))];

  it("take a request with everything in it", () => {
    expect(breaches(valid(), rules)).toEqual([]);
  });

  it.each(rules.map(({ id }) => id))("%s refuses what breaks it, which breaks nothing else", (id) => {
    const requests = rejected[id] ?? [];
    expect(requests.length).toBeGreaterThan(0);
    for (const request of requests) expect(broken(request)).toEqual([id]);
  });

  it("have a source each, and no request is kept for a rule that is gone", () => {
    for (const { source } of rules) expect(source).toMatch(/https:\/\/\S+.*2026-11-21\)/s);
    expect(Object.keys(rejected).sort()).toEqual(rules.map(({ id }) => id).sort());
  });
});
