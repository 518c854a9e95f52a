import fc from "fast-check";
import {
  type AssistantMessage,
  type ContextMessage,
  messageText,
  type ToolCall,
  type ToolResultMessage,
  toolCalls,
  toolPairs,
  toolResult,
  userMessage,
} from "sessile";
import { describe, expect, test } from "vitest";
import { message } from "../arbitraries/messages.js";

const id = fc.constantFrom("c0", "c1", "__proto__", "");
const call = (of: string): ToolCall => ({ type: "toolCall", id: of, name: "read", arguments: {} });
const answer = (...ids: readonly string[]): AssistantMessage => ({
  role: "assistant",
  content: [{ type: "text", text: "" }, ...ids.map(call)],
  provider: "p",
  model: "m",
  timestamp: 0,
});
const result = (of: string): ToolResultMessage => ({
  role: "toolResult",
  toolCallId: of,
  toolName: "read",
  content: [],
  isError: false,
  timestamp: 0,
});
const messages: fc.Arbitrary<readonly ContextMessage[]> = fc.array(
  fc.oneof(
    fc.array(id, { maxLength: 3 }).map((ids) => answer(...ids)),
    id.map(result),
    message,
  ),
  { maxLength: 14 },
);

interface Pairing {
  /** For each call its message and its place in it, and the index of its result. */
  readonly pairs: readonly (readonly [callAt: number, id: string, resultAt: number | undefined])[];
  readonly orphans: readonly number[];
}

/** By the rule alone: each result looks back for the nearest message with a call of its id that no earlier result took. */
function naivePairs(list: readonly ContextMessage[]): Pairing {
  const calls = list.flatMap((item, at) =>
    item.role === "assistant" ? toolCalls(item).map(({ id }, nth) => ({ at, nth, id })) : [],
  );
  const taken = new Map<(typeof calls)[number], number>();
  const orphans: number[] = [];
  for (const [at, item] of list.entries()) {
    if (item.role !== "toolResult") continue;
    const open = calls.filter((one) => one.at < at && one.id === item.toolCallId && !taken.has(one));
    const latest = open.find((one) => one.at === open.at(-1)?.at);
    if (latest === undefined) orphans.push(at);
    else taken.set(latest, at);
  }
  return { pairs: calls.map((one) => [one.at, one.id, taken.get(one)]), orphans };
}

describe("toolPairs", () => {
  test("pairs as looking back from each result does", () => {
    fc.assert(
      fc.property(messages, (list) => {
        const { pairs, orphans } = toolPairs(list);
        expect({ pairs: pairs.map((pair) => [pair.callAt, pair.call.id, pair.resultAt]), orphans }).toEqual(
          naivePairs(list),
        );
        for (const pair of pairs) {
          expect(pair.result).toBe(pair.resultAt === undefined ? undefined : list[pair.resultAt]);
          expect((list[pair.callAt] as AssistantMessage).content).toContain(pair.call);
        }
      }),
      { numRuns: 300 },
    );
  });

  test("answers two calls with one id in one message in their order", () => {
    const { pairs } = toolPairs([answer("c", "c"), result("c"), result("c")]);
    expect(pairs.map((pair) => pair.resultAt)).toEqual([1, 2]);
  });

  test("gives a result to the latest of two calls with one id, and the next to the other", () => {
    const { pairs, orphans } = toolPairs([answer("c"), answer("c"), result("c"), result("c"), result("c")]);
    expect(pairs.map((pair) => pair.resultAt)).toEqual([3, 2]);
    expect(orphans).toEqual([4]);
  });

  test("leaves a call without a result open, without the keys of one", () => {
    expect(toolPairs([result("c"), answer("c")])).toStrictEqual({
      pairs: [{ call: call("c"), callAt: 1 }],
      orphans: [0],
    });
  });
});

describe("toolCalls", () => {
  test("gives the calls of a message in order", () => {
    expect(toolCalls(answer("b", "a", "b"))).toEqual([call("b"), call("a"), call("b")]);
    expect(toolCalls(answer())).toEqual([]);
  });
});

describe("messageText", () => {
  const timestamp = 0;
  test.each<[string, ContextMessage, string]>([
    ["a string", userMessage("hi"), "hi"],
    ["text blocks", userMessage("a", "b"), "a\nb"],
    [
      "text beside calls",
      { ...answer("c0"), content: [{ type: "text", text: "Look." }, call("c0")] },
      "Look.",
    ],
    ["a result without text", result("c0"), ""],
    [
      "a command",
      { role: "bashExecution", command: "ls", output: "a\n", cancelled: false, truncated: false, timestamp },
      "$ ls\na\n",
    ],
    [
      "a compaction's summary",
      { role: "compactionSummary", summary: "So far.", tokensBefore: 9, timestamp },
      "So far.",
    ],
    ["a branch's summary", { role: "branchSummary", summary: "Left.", fromId: "e1", timestamp }, "Left."],
  ])("returns the text of %s", (_, given, text) => {
    expect(messageText(given)).toBe(text);
  });

  test("has the descriptor of an attachment only if asked", () => {
    const uri = "https://a.example";
    const resource = { resourceId: "res_0123456789abcdef", kind: "link", source: "link", uri } as const;
    const descriptor = "[link https://a.example, res_0123456789abcdef]";
    for (const message of [userMessage("a", resource, "b"), toolResult(call("c0"), "a", resource, "b")]) {
      expect(messageText(message)).toBe("a\nb");
      expect(messageText(message, { attachments: true })).toBe(`a\n${descriptor}\nb`);
    }
    expect(messageText(userMessage(resource))).toBe("");
  });

  test("returns a string for any message", () => {
    fc.assert(
      fc.property(message, (any) => {
        expect(messageText(any)).toBeTypeOf("string");
      }),
    );
  });
});
