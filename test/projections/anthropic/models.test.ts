import { describe, expect, test } from "vitest";
import { bindsReasoning, seesFinely, takesPrefill } from "../../../src/projections/anthropic/types.js";

const facts = { prefill: takesPrefill, fine: seesFinely, binds: bindsReasoning };
const of = (model: string) => Object.entries(facts).flatMap(([name, fact]) => (fact(model) ? [name] : []));

describe("a model's id tells", () => {
  test.each([
    ["claude-3-5-sonnet-20241022", ["prefill"]],
    ["claude-3-7-sonnet-latest", ["prefill"]],
    ["claude-opus-4-20250514", ["prefill"]],
    ["claude-sonnet-4-5", ["prefill"]],
    ["claude-haiku-4-5-20251001", ["prefill"]],
    ["claude-opus-4-5@20251101", ["prefill"]],
    ["anthropic.claude-sonnet-4-5-20250929-v1:0", ["prefill"]],
    ["claude-opus-4-6", []],
    ["us.anthropic.claude-opus-4-6-v1", []],
    ["claude-opus-4-7", ["fine"]],
    ["claude-sonnet-5", ["fine"]],
    ["claude-opus-5", ["fine"]],
    ["claude-fable-5", ["fine"]],
    ["claude-fable-5-1", ["fine", "binds"]],
    ["claude-mythos-5-2", ["fine", "binds"]],
    ["claude-opus-5-5", ["fine", "binds"]],
    ["claude-sonnet-6", ["fine", "binds"]],
    ["claude-mythos-preview", ["prefill", "fine"]],
    ["glm-4.6", ["prefill", "fine"]],
  ])("%s: %j", (model, expected) => {
    expect(of(model)).toEqual(expected);
  });

  test("however long it is", () => {
    for (const piece of ["claude-", "claude-a-", "a-"]) {
      expect(of(piece.repeat(300_000 / piece.length))).toEqual(["prefill", "fine"]);
    }
  });
});
