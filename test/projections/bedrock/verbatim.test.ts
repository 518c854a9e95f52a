import fc from "fast-check";
import { contextOf, type ToolCall, toolResult, userMessage } from "sessile/content";
import { project } from "sessile/projections";
import { type BedrockReplyBlock, bedrockConverse, readBedrockReply } from "sessile/projections/bedrock";
import { expect, test } from "vitest";

const model = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";

/** As a response brings it: no -0. */
const json = fc.json().map((text): unknown => JSON.parse(text));
// No white space at the end: a turn may not end with it, so that it is taken away.
const words = fc.string({ minLength: 1, unit: "grapheme" }).filter((text) => /\S$/.test(text));
const bytes = fc.uint8Array({ minLength: 1, maxLength: 9 });
const block: fc.Arbitrary<BedrockReplyBlock> = fc.oneof(
  fc.record({ text: words }),
  fc
    .record({ text: words, signature: words })
    .map((reasoningText) => ({ reasoningContent: { reasoningText } })),
  bytes.map((redactedContent) => ({ reasoningContent: { redactedContent } })),
  bytes.map((audio): object => ({ audio: { format: "mp3", source: { bytes: audio } } })),
  fc
    .record({
      toolUseId: fc.uuid(),
      name: fc.constantFrom("read", "list"),
      input: fc.dictionary(fc.string(), json, { noNullPrototype: true }),
    })
    .map((toolUse) => ({ toolUse })),
);

test("whatever a model says goes back to it as it came", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(block), words, async (before, text) => {
      // Reasoning that nothing follows is for no model.
      const content = [...before, { text }];
      const reply = { output: { message: { content } }, stopReason: "end_turn" };
      const message = JSON.parse(JSON.stringify(readBedrockReply(reply, { model })));
      const calls: ToolCall[] = message.content.filter(({ type }: { type: string }) => type === "toolCall");
      const results = calls.map((call) => toolResult(call, "done"));
      const messages = [userMessage("hi"), message, ...results, userMessage("And?")];
      const { value, losses } = await project(contextOf(messages), bedrockConverse({ model }));
      expect(losses).toEqual([]);
      expect(value.messages[1]?.content).toEqual(content);
    }),
  );
});
