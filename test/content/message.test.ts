import {
  assistantMessage,
  describeResource,
  type StoredResource,
  type TextBlock,
  toolResult,
  userMessage,
} from "sessile";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

const screenshot: StoredResource = {
  resourceId: "res_0123456789abcdef",
  kind: "image",
  mediaType: "image/png",
  size: 10,
  blob: `sha256:${"0".repeat(64)}`,
  contentSha256: "0".repeat(64),
  source: "upload",
};
const attachment: TextBlock = { type: "text", text: describeResource(screenshot), resource: screenshot };
const now = 1_763_681_630_791;

beforeEach(() => {
  vi.useFakeTimers({ now, toFake: ["Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("userMessage", () => {
  test("keeps one string as it is", () => {
    expect(userMessage("hi")).toEqual({ role: "user", content: "hi", timestamp: now });
  });

  test("makes blocks of anything else, in order", () => {
    const block: TextBlock = { type: "text", text: "b", textSignature: "s" };
    expect(userMessage("a", screenshot, block).content).toEqual([
      { type: "text", text: "a" },
      attachment,
      block,
    ]);
    expect(userMessage(screenshot).content).toEqual([attachment]);
    expect(userMessage().content).toEqual([]);
  });

  test.each([
    [5, "5"],
    [null, "null"],
    [undefined, "undefined"],
    [{ type: "image", data: "", mimeType: "image/png" }, "an object"],
    [{ type: "text", text: 5 }, "an object"],
    [["a"], "an array of 1"],
  ])("refuses %j, naming its index", (part, got) => {
    expect(() => userMessage("a", part as never)).toThrow(
      new TypeError(`parts[1]: expected a string, a resource or a text block, got ${got}`),
    );
  });
});

describe("assistantMessage", () => {
  const init = { provider: "anthropic", model: "m" };

  test("fills what other readers expect", () => {
    expect(assistantMessage(init, "Hello")).toEqual({
      role: "assistant",
      content: [{ type: "text", text: "Hello" }],
      api: "unknown",
      ...init,
      usage: {
        input: 0,
        output: 0,
        cacheRead: 0,
        cacheWrite: 0,
        totalTokens: 0,
        cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
      },
      stopReason: "stop",
      timestamp: now,
    });
  });

  test("stops for a tool where there is a call", () => {
    const call = { type: "toolCall", id: "c1", name: "read", arguments: {} } as const;
    const message = assistantMessage(init, "Let me look.", call);
    expect(message.content).toEqual([{ type: "text", text: "Let me look." }, call]);
    expect(message.stopReason).toBe("toolUse");
  });

  test("takes what is given", () => {
    const usage = { input: 1, output: 2, cacheRead: 3, cacheWrite: 4 };
    const given = { ...init, api: "x", usage, stopReason: "error", errorMessage: "no" } as const;
    expect(assistantMessage(given)).toEqual({ role: "assistant", content: [], ...given, timestamp: now });
  });

  test.each([[5], [null], [{}], [{ type: 1 }]])("refuses %j, naming its index", (part) => {
    expect(() => assistantMessage(init, "a", part as never)).toThrow(
      /^parts\[1\]: expected a string or a block, got /,
    );
  });
});

describe("toolResult", () => {
  test("answers a call", () => {
    expect(toolResult({ id: "c1", name: "read" }, "text", screenshot)).toEqual({
      role: "toolResult",
      toolCallId: "c1",
      toolName: "read",
      content: [{ type: "text", text: "text" }, attachment],
      isError: false,
      timestamp: now,
    });
  });

  test("refuses what is no part, naming its index", () => {
    expect(() => toolResult({ id: "c1", name: "read" }, 5 as never)).toThrow(
      /^parts\[0\]: expected .* got 5$/,
    );
  });
});
