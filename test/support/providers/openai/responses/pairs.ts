import { isJson } from "../chat/pairs.js";
import type { OpenaiRule } from "../rule.js";
import { lengthFaults, nameFaults } from "../text.js";
import { checkResponses, itemsOf, type ResponsesItem } from "./shape.js";

type Typed<T extends ResponsesItem["type"]> = Extract<ResponsesItem, { type: T }>;

function ofType<T extends ResponsesItem["type"]>(items: readonly ResponsesItem[], type: T) {
  const isTyped = (item: ResponsesItem): item is Typed<T> => item.type === type;
  return items.flatMap((item, at) => (isTyped(item) ? [{ item, at, path: `input[${at}]` }] : []));
}

const read = "(read as a stored copy, 2026-11-21)";

/** What function calls and their outputs ask of each other. */
export const responsesPairRules: readonly OpenaiRule[] = [
  {
    id: "calls-answered",
    code: null,
    param: "input",
    source: `https://github.com/lace-ai/gai/pull/49 and https://developers.openai.com/api/docs/guides/function-calling ${read}`,
    check: checkResponses((body) => {
      const items = itemsOf(body);
      const outputs = ofType(items, "function_call_output");
      return ofType(items, "function_call").flatMap(({ item, at, path }) =>
        outputs.some((output) => output.at > at && output.item.call_id === item.call_id)
          ? []
          : [{ path, problem: `No tool output found for function call ${item.call_id}.` }],
      );
    }),
  },
  {
    id: "outputs-follow-calls",
    code: null,
    param: "input",
    source: `https://github.com/james-6-23/codex2api/issues/414 ${read}`,
    check: checkResponses((body) => {
      const items = itemsOf(body);
      const calls = ofType(items, "function_call");
      return ofType(items, "function_call_output").flatMap(({ item, at, path }) =>
        calls.some((call) => call.at < at && call.item.call_id === item.call_id)
          ? []
          : [{ path, problem: `No tool call found for function call output with call_id ${item.call_id}.` }],
      );
    }),
  },
  {
    id: "outputs-once",
    code: null,
    param: "input",
    source: `https://github.com/alvesvaren/zod-to-openai-tool/issues/263 ${read}`,
    check: checkResponses((body) => {
      const outputs = ofType(itemsOf(body), "function_call_output");
      return outputs.flatMap(({ item, path }, index) =>
        outputs.slice(0, index).some((earlier) => earlier.item.call_id === item.call_id)
          ? [{ path, problem: `Duplicate call_ids submitted: ['${item.call_id}'].` }]
          : [],
      );
    }),
  },
  {
    id: "call-ids-unique",
    code: null,
    param: "input",
    source: `https://github.com/earendil-works/pi/issues/9057 ${read}`,
    check: checkResponses((body) => {
      const calls = ofType(itemsOf(body), "function_call");
      return calls.flatMap(({ item, path }, index) =>
        calls.slice(0, index).some((earlier) => earlier.item.call_id === item.call_id)
          ? [{ path, problem: `Duplicate 'call_id': ${item.call_id}` }]
          : [],
      );
    }),
  },
  {
    id: "call-ids",
    code: "string_above_max_length",
    source: `https://github.com/openai/codex/issues/14355 ${read}`,
    check: checkResponses((body) =>
      itemsOf(body).flatMap((item, at) =>
        item.type === "function_call" || item.type === "function_call_output"
          ? lengthFaults(item.call_id, `input[${at}].call_id`, 64)
          : [],
      ),
    ),
  },
  {
    id: "function-names",
    code: "invalid_value",
    source: `https://github.com/mcp-use/mcp-use/issues/90 of Chat; 128 at https://github.com/diegosouzapw/OmniRoute/pull/4317 ${read}`,
    check: checkResponses((body) =>
      ofType(itemsOf(body), "function_call").flatMap(({ item, path }) =>
        nameFaults(item.name, `${path}.name`, 128),
      ),
    ),
  },
  {
    id: "arguments-json",
    code: "invalid_value",
    source:
      "https://platform.openai.com/docs/api-reference/responses/create: a JSON string (types of openai 6.49, read 2026-11-21)",
    check: checkResponses((body) =>
      ofType(itemsOf(body), "function_call").flatMap(({ item, path }) =>
        isJson(item.arguments)
          ? []
          : [{ path: `${path}.arguments`, problem: `Invalid JSON in '${path}.arguments'.` }],
      ),
    ),
  },
];
