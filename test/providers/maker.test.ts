import { assistantMessage, type ModelRef } from "sessile";
import { describe, expect, test } from "vitest";
import { isOwn } from "../../src/providers/target.js";

const maker: ModelRef = { provider: "anthropic", model: "claude-sonnet-4-5" };
const said = (more: object = {}) => ({ ...assistantMessage(maker, "hi"), ...more });

describe("isOwn", () => {
  test.each([
    ["the same", "claude-sonnet-4-5", "claude-sonnet-4-5"],
    ["the snapshot of an alias", "claude-sonnet-4-5-20250929", "claude-sonnet-4-5"],
    ["the alias of a snapshot", "claude-sonnet-4-5", "claude-sonnet-4-5-20250929"],
    ["Vertex's way of writing a snapshot", "claude-sonnet-4-5@20250929", "claude-sonnet-4-5-20250929"],
    ["the latest", "claude-sonnet-4-5-20250929", "claude-sonnet-4-5-latest"],
    ["OpenAI's way of writing a date", "gpt-5-2025-08-07", "gpt-5"],
    ["Google's way of writing a version", "models/gemini-2.5-pro-002", "gemini-2.5-pro"],
  ])("knows the model by %s", (_, model, target) => {
    expect(isOwn(said({ model }), { ...maker, model: target })).toBe(true);
  });

  test.each([
    ["another model", "claude-opus-4-5", "claude-sonnet-4-5"],
    ["a smaller one", "gpt-5-mini", "gpt-5"],
    ["another version", "gemini-3-pro", "gemini-2.5-pro"],
    ["a number that is no date", "claude-3-5", "claude-3-7"],
    ["two snapshots of one name", "claude-3-5-sonnet-20240620", "claude-3-5-sonnet-20241022"],
    ["two dates of one name", "gpt-4o-2024-05-13", "gpt-4o-2024-08-06"],
    ["two versions of one name", "gemini-1.5-pro-001", "gemini-1.5-pro-002"],
  ])("tells apart %s", (_, model, target) => {
    expect(isOwn(said({ model }), { ...maker, model: target })).toBe(false);
  });

  test("asks for the same provider", () => {
    expect(isOwn(said({ provider: "bedrock" }), maker)).toBe(false);
  });

  test("asks for the same protocol where both name one", () => {
    const messages: ModelRef = { ...maker, api: "anthropic-messages" };
    expect(isOwn(said({ api: "anthropic-messages" }), messages)).toBe(true);
    expect(isOwn(said({ api: "openai-completions" }), messages)).toBe(false);
    // What the builder of messages writes where nobody said.
    expect(isOwn(said(), messages)).toBe(true);
    expect(isOwn(said({ api: undefined }), messages)).toBe(true);
    expect(isOwn(said({ api: "anthropic-messages" }), maker)).toBe(true);
  });

  // @covers security:reasoning
  test("asks for the same account where either names one", () => {
    expect(isOwn(said({ account: "a" }), { ...maker, account: "a" })).toBe(true);
    expect(isOwn(said({ account: "a" }), { ...maker, account: "b" })).toBe(false);
    expect(isOwn(said({ account: "a" }), maker)).toBe(false);
    expect(isOwn(said(), { ...maker, account: "a" })).toBe(false);
  });
});
