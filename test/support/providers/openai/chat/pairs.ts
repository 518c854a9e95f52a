import type { Fault } from "../../rule.js";
import type { OpenaiRule } from "../rule.js";
import { emptyArray, lengthFaults, nameFaults } from "../text.js";
import { type ChatMessage, checkChat } from "./shape.js";

/** The tool messages that follow a message at once, with their places. */
function resultsAfter(messages: readonly ChatMessage[], at: number) {
  const found: { readonly id: string; readonly at: number }[] = [];
  for (let next = at + 1; ; next++) {
    const message = messages[next];
    if (message?.role !== "tool") return found;
    found.push({ id: message.tool_call_id, at: next });
  }
}

function unanswered(messages: readonly ChatMessage[]): readonly Fault[] {
  return messages.flatMap((message, at) => {
    if (message.role !== "assistant" || message.tool_calls === undefined) return [];
    const answered = new Set(resultsAfter(messages, at).map(({ id }) => id));
    const missing = message.tool_calls.flatMap(({ id }) => (answered.has(id) ? [] : [id]));
    if (missing.length === 0) return [];
    const problem = `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${missing.join(", ")}`;
    return [{ path: `messages.[${Math.min(at + 1, messages.length - 1)}].role`, problem }];
  });
}

function orphans(messages: readonly ChatMessage[]): readonly Fault[] {
  return messages.flatMap((message, at) => {
    if (message.role !== "tool") return [];
    const before = messages.slice(0, at).findLast(({ role }) => role !== "tool");
    if (before?.role !== "assistant" || before.tool_calls === undefined) {
      const problem =
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.";
      return [{ path: `messages.[${at}].role`, problem }];
    }
    if (before.tool_calls.some(({ id }) => id === message.tool_call_id)) return [];
    const problem = `Invalid parameter: 'tool_call_id' of '${message.tool_call_id}' not found in 'tool_calls' of previous message.`;
    return [{ path: `messages.[${at}].tool_call_id`, problem }];
  });
}

function answeredTwice(messages: readonly ChatMessage[]): readonly Fault[] {
  return messages.flatMap((message, start) => {
    if (message.role === "tool") return [];
    const results = resultsAfter(messages, start);
    return results.flatMap(({ id, at }, index) => {
      const first = results.slice(0, index).find((earlier) => earlier.id === id);
      if (first === undefined) return [];
      const problem = `Invalid parameter: Duplicate value for 'tool_call_id' of '${id}', in messages[${first.at}] and messages[${at}].`;
      return [{ path: `messages.[${at}].tool_call_id`, problem }];
    });
  });
}

/** Each tool call of a request and its path. */
function callsOf(messages: readonly ChatMessage[]) {
  return messages.flatMap((message, at) =>
    message.role === "assistant"
      ? (message.tool_calls ?? []).map((call, index) => ({
          call,
          at,
          path: `messages[${at}].tool_calls[${index}]`,
        }))
      : [],
  );
}

const read = "(read as a stored copy, 2026-11-21)";

/** What tool calls and their results ask of each other. */
export const chatPairRules: readonly OpenaiRule[] = [
  {
    id: "calls-answered",
    code: null,
    source: `https://github.com/aliasrobotics/cai/issues/111 ${read}`,
    check: checkChat(({ messages }) => unanswered(messages)),
  },
  {
    id: "results-follow-calls",
    code: null,
    source: `https://github.com/simonw/llm/issues/937 ${read}`,
    check: checkChat(({ messages }) => orphans(messages)),
  },
  {
    id: "results-once",
    code: null,
    source: `https://github.com/agno-agi/agno/issues/5116 ${read}`,
    check: checkChat(({ messages }) => answeredTwice(messages)),
  },
  {
    id: "calls-not-empty",
    code: "empty_array",
    source: `https://github.com/home-assistant/core/pull/118577 ${read}`,
    check: checkChat(({ messages }) =>
      messages.flatMap((message, at) =>
        message.role === "assistant" && message.tool_calls !== undefined
          ? emptyArray(message.tool_calls, `messages[${at}].tool_calls`)
          : [],
      ),
    ),
  },
  {
    id: "call-ids",
    code: "string_above_max_length",
    source: `https://github.com/vercel/ai/issues/5171 ${read}`,
    check: checkChat(({ messages }) =>
      callsOf(messages).flatMap(({ call, path }) => lengthFaults(call.id, `${path}.id`, 40)),
    ),
  },
  {
    id: "call-ids-unique",
    code: null,
    source: `https://github.com/openclaw/openclaw/pull/40996 ${read}`,
    check: checkChat(({ messages }) => {
      const calls = callsOf(messages);
      return calls.flatMap(({ call, at, path }, index) =>
        calls.slice(0, index).some((earlier) => earlier.at === at && earlier.call.id === call.id)
          ? [{ path: `${path}.id`, problem: `Duplicate tool call id '${call.id}'.` }]
          : [],
      );
    }),
  },
  {
    id: "function-names",
    code: "invalid_value",
    source: `https://github.com/mcp-use/mcp-use/issues/90 and https://github.com/home-assistant/core/issues/121325 ${read}`,
    check: checkChat(({ messages }) =>
      callsOf(messages).flatMap(({ call, path }) =>
        call.type === "function"
          ? nameFaults(call.function.name, `${path}.function.name`, 64)
          : nameFaults(call.custom.name, `${path}.custom.name`, 64),
      ),
    ),
  },
  {
    id: "arguments-json",
    code: "invalid_value",
    source:
      "https://platform.openai.com/docs/api-reference/chat/create: arguments are JSON (types of openai 6.49, read 2026-11-21)",
    check: checkChat(({ messages }) =>
      callsOf(messages).flatMap(({ call, path }) =>
        call.type === "custom" || isJson(call.function.arguments)
          ? []
          : [
              {
                path: `${path}.function.arguments`,
                problem: `Invalid JSON in '${path}.function.arguments'.`,
              },
            ],
      ),
    ),
  },
];

/** Whether a text is JSON. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
