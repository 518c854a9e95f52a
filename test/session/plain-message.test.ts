import fc from "fast-check";
import { expect, test } from "vitest";
import { knownMessage } from "../../src/session/codec/messages.js";
import { isPlainMessage } from "../../src/session/plain-message.js";
import { messageProblem } from "../../src/session/shape.js";
import { message } from "../arbitraries/messages.js";
import { jsonValue } from "../arbitraries/values.js";

const tokens = { input: 1, output: 2, cacheRead: 3, cacheWrite: 4, cacheWrite1h: 1, totalTokens: 10 };
const usage = {
  ...tokens,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};
const made = { provider: "p", model: "m", api: "a", usage, stopReason: "stop", timestamp: 1 };
const plain: readonly Readonly<Record<string, unknown>>[] = [
  { role: "user", content: "text", timestamp: 1 },
  { role: "user", content: [{ type: "text", text: "a" }], timestamp: 1 },
  {
    role: "toolResult",
    toolCallId: "c",
    toolName: "read",
    content: [{ type: "text", text: "a" }],
    isError: false,
    timestamp: 1,
  },
  {
    role: "assistant",
    content: [
      { type: "thinking", thinking: "hm", thinkingSignature: "s" },
      { type: "text", text: "a" },
      { type: "toolCall", id: "c", name: "read", arguments: { path: "a" } },
    ],
    ...made,
  },
  { role: "assistant", content: [], ...made, usage: tokens },
];

const fits = (value: unknown) => messageProblem(value) === undefined && knownMessage(value) === value;

test("the messages of most sessions are plain", () => {
  for (const each of plain) expect([isPlainMessage(each), fits(each)]).toEqual([true, true]);
});

test("what is plain fits, whatever the message", () => {
  fc.assert(
    fc.property(fc.oneof(message, jsonValue), (value) => {
      if (isPlainMessage(value)) expect(fits(value)).toBe(true);
    }),
    { numRuns: 300 },
  );
});

const path = fc.array(fc.nat({ max: 20 }), { minLength: 1, maxLength: 4 });
const odd = fc.oneof(
  jsonValue,
  fc.constantFrom<unknown>(undefined, null, Number.NaN, Number.POSITIVE_INFINITY, "image", "opaque", [], {}, [
    null,
  ]),
);

/** The value with another in one of its places, or without that place. */
function changed(value: unknown, [step = 0, ...rest]: readonly number[], to: unknown): unknown {
  if (typeof value !== "object" || value === null) return to;
  const keys = Object.keys(value);
  const key = keys[step % (keys.length + 1)] ?? "added";
  const member = (value as Record<string, unknown>)[key];
  const next = rest.length === 0 ? to : changed(member, rest, to);
  if (Array.isArray(value)) return value.map((item, i) => (String(i) === key ? next : item));
  return { ...value, [key]: next };
}

test("what is plain fits, also when a part of it was exchanged", () => {
  let still = 0;
  fc.assert(
    fc.property(fc.constantFrom(...plain), path, odd, (message, where, to) => {
      const value = changed(message, where, to);
      if (!isPlainMessage(value)) return;
      still++;
      expect(fits(value)).toBe(true);
    }),
    { numRuns: 3000 },
  );
  expect(still).toBeGreaterThan(10);
});
