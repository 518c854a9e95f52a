import fc from "fast-check";
import type OpenAI from "openai";
import { text as anyText } from "./values.js";

type Item = OpenAI.Responses.ResponseOutputItem;

const text = anyText.map((words) => words.toWellFormed()).filter((words) => /\S/.test(words));
const citation = fc.oneof(
  fc.record({
    type: fc.constant("url_citation" as const),
    start_index: fc.nat(),
    end_index: fc.nat(),
    title: text,
    url: fc.webUrl(),
  }),
  fc.record({ type: fc.constant("file_path" as const), file_id: text, index: fc.nat() }),
);
const part = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant("output_text" as const),
      text,
      annotations: fc.array(citation, { maxLength: 0 }),
    }),
  },
  fc.record({
    type: fc.constant("output_text" as const),
    text,
    annotations: fc.array(citation, { maxLength: 2 }),
  }),
  fc.record({ type: fc.constant("refusal" as const), refusal: text }),
);
const jsonObject = fc.constantFrom(
  '{"a":1}',
  '{ "a" : 1.0 }',
  "{}",
  '{"b":[null,"ü"],"a":{}}',
  '{"1":2,"0":3}',
);
const status = fc.constantFrom("completed" as const, "completed" as const, "incomplete" as const);
const caller = fc.constantFrom(
  { type: "direct" as const },
  { type: "program" as const, caller_id: "call_p" },
);

/** An item that can end a reply, given a number of its own. */
const saying: fc.Arbitrary<(n: number) => Item> = fc.oneof(
  fc
    .record(
      {
        content: fc.array(part, { minLength: 1, maxLength: 3 }),
        status,
        phase: fc.constantFrom("commentary" as const, "final_answer" as const),
      },
      { requiredKeys: ["content", "status"] },
    )
    .map(
      (fields) =>
        (n: number): Item => ({ type: "message", role: "assistant", id: `msg_${n}`, ...fields }),
    ),
  fc
    .record(
      { arguments: jsonObject, status, caller, namespace: fc.constant("ns") },
      { requiredKeys: ["arguments", "status"] },
    )
    .map(
      (fields) =>
        (n: number): Item => ({
          type: "function_call",
          id: `fc_${n}`,
          call_id: `call_${n}`,
          name: "read",
          ...fields,
        }),
    ),
  text.map(
    (input) =>
      (n: number): Item => ({
        type: "custom_tool_call",
        id: `ctc_${n}`,
        call_id: `call_${n}`,
        name: "patch",
        input,
      }),
  ),
);
const hosted: fc.Arbitrary<(n: number) => Item> = fc.oneof(
  text.map(
    (query) =>
      (n: number): Item => ({
        type: "web_search_call",
        id: `ws_${n}`,
        status: "completed",
        action: { type: "search", query },
      }),
  ),
  text.map(
    (code) =>
      (n: number): Item => ({
        type: "code_interpreter_call",
        id: `ci_${n}`,
        status: "completed",
        container_id: "cntr_1",
        code,
        outputs: null,
      }),
  ),
);
const reasoning: fc.Arbitrary<(n: number) => Item> = fc
  .record(
    {
      summary: fc.array(fc.record({ type: fc.constant("summary_text" as const), text }), { maxLength: 2 }),
      content: fc.array(fc.record({ type: fc.constant("reasoning_text" as const), text }), { maxLength: 2 }),
      status,
    },
    { requiredKeys: ["summary"] },
  )
  .map(
    (fields) =>
      (n: number): Item => ({ type: "reasoning", id: `rs_${n}`, ...fields, encrypted_content: `gAAA${n}` }),
  );

/** What a model of OpenAI puts out: reasoning, each with something that follows it, or none; calls of every kind; words. */
export const responsesOutput: fc.Arbitrary<Item[]> = fc
  .record({
    steps: fc.array(fc.tuple(reasoning, fc.oneof(hosted, saying)), { maxLength: 4 }),
    thinks: fc.boolean(),
    last: saying,
  })
  .map(({ steps, thinks, last }) => {
    let n = 0;
    const before = steps.flatMap(([first, second]) => (thinks ? [first(n++), second(n++)] : [second(n++)]));
    return [...before, last(n++)];
  });
