import fc from "fast-check";
import { contextOf, type ToolCall, toolResult, userMessage } from "sessile/content";
import { project } from "sessile/projections";
import {
  type GeminiReply,
  type GeminiReplyPart,
  geminiContents,
  readGeminiReply,
} from "sessile/projections/gemini";
import { expect, test } from "vitest";
import { base64 } from "../../attachments/samples.js";

const models = ["gemini-2.5-pro", "gemini-3-pro-preview", "gemini-flash-latest"];

/** As a response brings it: no -0. */
const json = fc.json().map((text): unknown => JSON.parse(text));
const words = fc.string({ minLength: 1, unit: "grapheme" }).filter((text) => /\S/.test(text));
const signature = fc.uint8Array({ minLength: 1, maxLength: 9 }).map(base64);
const signed = <T extends object>(part: fc.Arbitrary<T>) =>
  fc.tuple(part, fc.option(signature)).map(([fields, thoughtSignature]) => ({
    ...fields,
    ...(thoughtSignature === null ? {} : { thoughtSignature }),
  }));
const thought = fc.record({ text: words, thought: fc.constant(true), thoughtSignature: signature });
const nothing = fc.record({ text: fc.constant(""), thoughtSignature: signature });
const code = words.map((text) => ({ executableCode: { language: "PYTHON", code: text } }));
const call = fc
  .record(
    {
      id: fc.uuid(),
      name: fc.constantFrom("read", "list"),
      args: fc.dictionary(fc.string(), json, { noNullPrototype: true }),
    },
    { requiredKeys: ["name", "args"] },
  )
  .map((functionCall) => ({ functionCall }));
// Reasoning that nothing follows is for no model.
const last: fc.Arbitrary<GeminiReplyPart> = fc.oneof(signed(fc.record({ text: words })), signed(call));
const part: fc.Arbitrary<GeminiReplyPart> = fc.oneof(
  signed(fc.record({ text: words })),
  thought,
  nothing,
  signed(code),
  signed(call),
);

/** What one candidate says: the first of its calls is signed, as from Gemini 3 on it always is. */
const said = fc.tuple(fc.array(part), last, signature).map(([before, end, thoughtSignature]) => {
  const parts = [...before, end];
  const first = parts.find(({ functionCall }) => functionCall !== undefined);
  return parts.map((one) => (one === first ? { ...one, thoughtSignature } : one));
});

test("whatever a model says goes back to it as it came", async () => {
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...models), said, async (model, parts) => {
      const reply: GeminiReply = { candidates: [{ content: { parts }, finishReason: "STOP" }] };
      const message = JSON.parse(JSON.stringify(readGeminiReply(reply, { model })));
      const calls: ToolCall[] = message.content.filter(({ type }: { type: string }) => type === "toolCall");
      const messages = [
        userMessage("hi"),
        message,
        ...calls.map((one) => toolResult(one, "done")),
        userMessage("And?"),
      ];
      const { value, losses } = await project(contextOf(messages), geminiContents({ model }));
      expect(losses).toEqual([]);
      expect(value.contents[1]?.parts).toEqual(parts);
    }),
  );
});
