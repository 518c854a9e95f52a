import { describe, expect, test } from "vitest";
import { breaches, type ProviderRule } from "./rule.js";

/** A body that breaks one rule and no other. */
export interface Rejected<Body> {
  readonly rule: string;
  /** What is wrong with it, for the test's title. */
  readonly what: string;
  readonly body: Body;
}

/** Tests of the rules themselves: each refuses what it is there for, and none refuses what is right. */
export function testRules<Body>(
  rules: readonly ProviderRule<Body>[],
  accepted: Readonly<Record<string, Body>>,
  rejected: readonly Rejected<Body>[],
): void {
  describe("the rules", () => {
    test.each(Object.entries(accepted))("accept %s", (_, body) => {
      expect(breaches(body, rules)).toEqual([]);
    });

    test.each(rejected)("$rule refuses $what, and is alone in that", ({ rule, body }) => {
      expect(new Set(breaches(body, rules).map((breach) => breach.rule))).toEqual(new Set([rule]));
    });

    test("have a source and a fixture each, and an id of their own", () => {
      const ids = rules.map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
      expect(new Set(rejected.map(({ rule }) => rule))).toEqual(new Set(ids));
      for (const { source } of rules) expect(source).not.toBe("");
    });
  });
}
