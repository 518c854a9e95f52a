import { openaiChat, openaiChatDialects, openaiResponses } from "sessile/openai";
import type { HazardMaker } from "../../../arbitraries/hazards.js";
import { type CheckedTarget, foreign } from "../../checked-target.js";
import { chatBreaches } from "./chat/rules.js";
import { emptyLedger } from "./responses/ledger.js";
import { responsesBreaches } from "./responses/rules.js";

const model = "gpt-5.6";
const chat: HazardMaker = {
  provider: "openai",
  model,
  api: "openai-completions",
  signed: () => "reasoning_content",
};
const responses: HazardMaker = {
  provider: "openai",
  model: `${model}-2026-06-01`,
  api: "openai-responses",
  signed: (word) =>
    JSON.stringify({
      type: "reasoning",
      id: `rs_${word}`,
      summary: [{ type: "summary_text", text: word }],
      encrypted_content: `gAAA${word}`,
      status: null,
    }),
  opaque: (word) => ({
    type: "web_search_call",
    id: `ws_${word}`,
    status: "completed",
    action: { type: "search", query: word },
  }),
};
/** Reasoning of responses that were stored, whose text is not there, and a call that wants an answer of the harness. */
const bare: HazardMaker = {
  ...responses,
  signed: (word) => JSON.stringify({ type: "reasoning", id: `rs_${word}`, summary: [] }),
  opaque: (word) => ({ type: "computer_call", id: `cu_${word}`, call_id: word, status: "completed" }),
};
/** Every id is that of an item that is stored. */
const allStored = { ...emptyLedger, stored: Object.assign(new Set<string>(), { has: () => true }) };

const { mistral } = openaiChatDialects;
const strict = { ...mistral, reasoning: "reasoning_content", missingReasoning: " " };
type Messages = { readonly messages: readonly Readonly<Record<string, unknown>>[] };
const withoutReasoning = (value: object) => ({
  messages: (value as Messages).messages.map(({ reasoning_content: _, ...message }) => message),
});
/** Roles that do not alternate, and ids that are not nine letters and digits. */
const unordered = (value: object): readonly string[] => {
  const { messages } = value as Messages;
  return messages.flatMap(({ role, tool_call_id: id = "call12345" }, at) => {
    const before = messages[at - 1]?.role;
    const isOut = (role === before && role !== "tool") || (role === "user" && before === "tool");
    return isOut || !/^[A-Za-z0-9]{9}$/.test(String(id)) ? [`messages[${at}]: ${role} behind ${before}`] : [];
  });
};

/** OpenAI's targets, held against its rules. */
export const checkedOpenai: readonly CheckedTarget[] = [
  {
    name: "openai-chat",
    target: openaiChat({ model }),
    breaches: (value) => chatBreaches({ model, ...value }),
    makers: [chat, responses, foreign],
    keepsPrefix: true,
    tellsInstructions: true,
  },
  {
    name: "openai-chat of a strict server",
    target: openaiChat({ model, dialect: strict }),
    breaches: (value) => [...chatBreaches({ model, ...withoutReasoning(value) }), ...unordered(value)],
    makers: [chat, responses, foreign],
    // Two messages of the user become one.
    keepsPrefix: false,
    tellsInstructions: true,
  },
  {
    name: "openai-responses",
    target: openaiResponses({ model }),
    breaches: (value) => responsesBreaches({ model, store: false, ...value }),
    makers: [responses, bare, chat, foreign],
    keepsPrefix: true,
    tellsInstructions: true,
  },
  {
    name: "openai-responses, stored",
    target: openaiResponses({ model, stored: true, cacheBreakpoints: true }),
    breaches: (value) => responsesBreaches({ model, ...value }, allStored),
    makers: [bare, responses, foreign],
    keepsPrefix: true,
    tellsInstructions: true,
  },
];
