import { assistantMessage, contextOf, userMessage } from "sessile/content";
import { project, type Target } from "sessile/projections";
import { acpPrompt } from "sessile/projections/acp";
import { claudeAgentMessages } from "sessile/projections/claude-agent";
import { codexExec } from "sessile/projections/codex";
import { mcpContent } from "sessile/projections/mcp";
import { describe, expect, test } from "vitest";
import { callText, resultHeading, transcriptOf } from "../../src/projections/transcript.js";
import type { CallPart, NeutralRequest, TextPart } from "../../src/projections/turns.js";

const origin = { entryId: "m0", item: 0 };
const text = (said: string): TextPart => ({ type: "text", text: said, origin });
const call = (input: unknown): CallPart => ({
  type: "call",
  id: "c1",
  storedId: "c1",
  name: "read",
  arguments: input,
  own: false,
  first: true,
  origin,
});
const result = (...parts: readonly TextPart[]) => ({
  type: "result" as const,
  callId: "c1",
  storedCallId: "c1",
  name: "read",
  isError: false,
  parts,
  origin,
});
const link = {
  resourceId: "res_0000000000000000",
  kind: "link" as const,
  source: "link" as const,
  uri: "https://example.com/a",
};
const request: NeutralRequest = {
  system: [text("Be brief.")],
  turns: [
    { role: "user", results: [], parts: [text("1"), text("2")] },
    { role: "assistant", parts: [text("3"), call({ a: 1 }), { type: "opaque", data: 1, origin }] },
    { role: "user", results: [result({ ...text("[link]"), link }, text("4"))], parts: [] },
  ],
};
const told = (pieces: ReturnType<typeof transcriptOf>) =>
  pieces.map((piece) => piece.text ?? ("text" in piece.part ? { shown: piece.part.text } : piece.part.type));

describe("transcriptOf", () => {
  test("tells who says what, with a heading in the first text or before what is none", () => {
    expect(told(transcriptOf(request, true))).toEqual([
      "[What follows is a conversation from its beginning. Go on from its end, as the assistant.]",
      "[instructions]\nBe brief.",
      "[user]\n1",
      { shown: "2" },
      "[assistant]\n3",
      '[call of read, c1]\n{"a":1}',
      "[result of read, c1]",
      { shown: "[link]" },
      { shown: "4" },
    ]);
  });

  test("shows what the user's turns show where nothing is to be told", () => {
    expect(told(transcriptOf(request, false))).toEqual([{ shown: "1" }, { shown: "2" }]);
  });

  test("has words for calls and for results that are errors", () => {
    expect(callText(call(undefined))).toBe("[call of read, c1]");
    expect(callText(call("a"))).toBe('[call of read, c1]\n"a"');
    expect(resultHeading({ ...result(), isError: true })).toBe("[error of read, c1]");
  });
});

test("a turn can have more parts than a call has arguments", () => {
  const parts = Array.from({ length: 300_000 }, () => text("a"));
  expect(transcriptOf({ system: [], turns: [{ role: "user", results: [], parts }] }, true)).toHaveLength(
    300_001,
  );
});

describe("what tells calls in words", () => {
  test.each<Target<unknown>>([
    mcpContent(),
    acpPrompt({ history: "transcript" }),
    codexExec({ pathOf: () => undefined, history: "transcript" }),
    claudeAgentMessages({ history: "transcript" }),
  ])("takes no reasoning back, whoever made it: $name", async (target) => {
    const message = assistantMessage(
      target.maker,
      { type: "thinking", thinking: "Hm.", thinkingSignature: "c2ln" },
      { type: "opaque", data: { type: "later" } },
      "Yes.",
    );
    const { losses } = await project(contextOf([userMessage("?"), message]), target);
    expect(losses).toMatchObject([
      { code: "reasoning", block: 0 },
      { code: "opaque", block: 1 },
    ]);
  });
});
