import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type CallMetadata,
  contentFields,
  printCallMetadata,
  printTextMetadata,
  readCallMetadata,
  readTextMetadata,
  textParts,
} from "../../../src/providers/openai/round-trip-metadata.js";
import { responsesOutput } from "../../arbitraries/openai-output.js";
import { jsonValue, text } from "../../arbitraries/values.js";

const status = fc.constantFrom("completed" as const, "in_progress" as const, "incomplete" as const);
const caller = fc.constantFrom({ type: "direct" as const }, { type: "program" as const, caller_id: "c" });
const callMetadata: fc.Arbitrary<CallMetadata> = fc.record(
  { alone: fc.boolean(), custom: text, arguments: text, namespace: text, caller, status },
  { requiredKeys: ["alone", "status"] },
);

describe("metadata of calls", () => {
  test("are read as they were printed, and are none where there is nothing to say", () => {
    fc.assert(
      fc.property(callMetadata, (mark) => {
        expect(readCallMetadata(printCallMetadata(mark))).toEqual(mark);
      }),
    );
    expect(printCallMetadata({ alone: false, status: "completed" })).toBeUndefined();
  });

  test("are read of anything without a throw", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          text,
          jsonValue.map((value) => JSON.stringify(value)),
        ),
        (mark) => {
          expect(readCallMetadata(mark)).toBeDefined();
        },
      ),
    );
  });
});

describe("marks of texts", () => {
  test("give a message's parts back, with its id, phase and status", () => {
    fc.assert(
      fc.property(responsesOutput, fc.boolean(), (output, alone) => {
        for (const item of output) {
          if (item.type !== "message") continue;
          const { id, status, phase, content } = item;
          const known = { ...(phase === undefined || phase === null ? {} : { phase }), id, status };
          const parts = content.map((part) => ({ ...part }));
          const mark = readTextMetadata(printTextMetadata({ ...known, content: parts }, alone) ?? "");
          expect(mark).toMatchObject({ ...known, alone });
          const words = content.map((part) => (part.type === "refusal" ? part.refusal : part.text)).join("");
          expect(textParts(words, mark, contentFields(parts))).toEqual(content);
        }
      }),
    );
  });

  test("are read of anything without a throw, and parts are never more or less than the text", () => {
    const parts = fc.array(
      fc.record({
        type: fc.constantFrom("refusal", "output_text"),
        length: fc.integer(),
        annotations: jsonValue,
      }),
    );
    const ours = parts.map((list) => JSON.stringify({ v: 1, id: "msg_1", sessile: { parts: list } }));
    fc.assert(
      fc.property(
        fc.oneof(
          text,
          jsonValue.map((value) => JSON.stringify(value)),
          ours,
        ),
        text,
        (mark, words) => {
          const said = textParts(words, readTextMetadata(mark));
          expect(said.map((part) => (part.type === "refusal" ? part.refusal : part.text)).join("")).toBe(
            words,
          );
        },
      ),
    );
  });

  test("are pi's, and read as pi reads them", () => {
    const part = { type: "output_text", text: "x", annotations: [] } as const;
    const message = { type: "message", role: "assistant", status: "completed", id: "msg_1" } as const;
    const content = [{ ...part, annotations: [] }];
    expect(printTextMetadata({ ...message, content }, false)).toBe('{"v":1,"id":"msg_1"}');
    expect(printTextMetadata({ ...message, phase: "commentary", content }, false)).toBe(
      '{"v":1,"id":"msg_1","phase":"commentary"}',
    );
    expect(readTextMetadata("msg_1")).toEqual({ id: "msg_1", status: "completed", alone: false });
    expect(readTextMetadata('{"v":1,"id":"msg_1","phase":"later"}')).toEqual(readTextMetadata("msg_1"));
    expect(readTextMetadata('{"v":2,"id":"msg_1"}')).toMatchObject({ id: '{"v":2,"id":"msg_1"}' });
  });
});
