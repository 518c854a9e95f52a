import { describe, expect, test } from "vitest";
import { rejectedRequests } from "../../support/providers/anthropic/rejected.js";
import { anthropicBreaches, anthropicRules } from "../../support/providers/anthropic/rules.js";
import { richRequest } from "../../support/providers/anthropic/valid.js";

describe("the rules of the Messages API", () => {
  test("take a request with all that a session can have", () => {
    expect(anthropicBreaches(richRequest())).toEqual([]);
  });

  test.each(rejectedRequests)("$rule: $why", ({ rule, path, body }) => {
    const found = anthropicBreaches(body);
    expect(found.map((breach) => breach.rule)).toEqual(found.map(() => rule));
    expect(found[0]?.path).toBe(path);
  });

  test.each(anthropicRules)("$id has a source and something that it refuses", ({ id, source }) => {
    expect(source).toMatch(/https:\/\/\S+ \(stored copy read 2026-11-21\)|@anthropic-ai\/sdk 1\.11\.0/);
    expect(rejectedRequests.map(({ rule }) => rule)).toContain(id);
    expect(anthropicRules.filter((rule) => rule.id === id)).toHaveLength(1);
  });
});
