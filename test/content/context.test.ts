import fc from "fast-check";
import { type ContextMessage, contextFrom } from "sessile";
import { describe, expect, test } from "vitest";
import { message } from "../arbitraries/messages.js";

describe("contextFrom", () => {
  test("has every message in order, with ids of their own", () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 5 }), (messages) => {
        const context = contextFrom(messages);
        expect(context.items.map((item) => item.message)).toEqual(messages);
        expect(context.items.map((item) => item.entryId)).toEqual(messages.map((_, index) => `m${index}`));
        expect(context).toMatchObject({ views: [], pins: [], thinkingLevel: "off" });
      }),
    );
  });

  test("says where a message comes from", () => {
    const messages: readonly ContextMessage[] = [
      { role: "compactionSummary", summary: "s", tokensBefore: 1, timestamp: 0 },
      { role: "branchSummary", summary: "s", fromId: "root", timestamp: 0 },
      { role: "custom", customType: "c", content: "x", display: true, timestamp: 0 },
      { role: "user", content: "x", timestamp: 0 },
      { role: "system", content: "x", timestamp: 0 },
    ];
    expect(contextFrom(messages).items.map((item) => item.origin)).toEqual([
      "summary",
      "branchSummary",
      "custom",
      "message",
      "message",
    ]);
  });

  test("says behind which message usage is of this context", () => {
    const said = (timestamp: number): ContextMessage => ({ role: "user", content: "x", timestamp });
    const summary = (timestamp: number): ContextMessage => ({
      role: "compactionSummary",
      summary: "s",
      tokensBefore: 1,
      timestamp,
    });
    const since = (...messages: readonly ContextMessage[]) => contextFrom(messages).usageSince;
    expect(since()).toBe(0);
    expect(since(said(1), said(2))).toBe(0);
    expect(since(summary(3), said(1), said(3), said(4), said(2))).toBe(3);
    expect(since(summary(3), said(1), said(2))).toBe(3);
    expect(since(summary(1), said(2), said(3), summary(4), said(3), said(5))).toBe(5);
    expect(since(said(9), summary(4), said(Number.NaN))).toBe(3);
  });

  test("takes the model from the last assistant message", () => {
    const answer = (model: string): ContextMessage => ({
      role: "assistant",
      content: [],
      provider: "p",
      model,
      timestamp: 0,
    });
    expect(contextFrom([answer("a"), answer("b")]).model).toEqual({ provider: "p", modelId: "b" });
    expect(contextFrom([{ role: "user", content: "hi", timestamp: 0 }]).model).toBeNull();
  });
});
