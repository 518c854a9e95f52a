import { openaiChat, openaiResponses } from "sessile/projections/openai";
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
