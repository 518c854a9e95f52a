import type OpenAI from "openai";
import { type Answer, type ProviderServer, type ReceivedRequest, startProvider } from "../local-server.js";
import { type Breach, breaches } from "../rule.js";
import { chatRules } from "./chat/rules.js";
import { chatEvents, responseEvents } from "./events.js";
import { responsesLedger } from "./responses/ledger.js";
import { responsesRules } from "./responses/rules.js";
import type { OpenaiRule } from "./rule.js";

/** What the server says to requests that break no rule, in this order. */
export interface OpenaiScript {
  readonly chat?: readonly OpenAI.Chat.ChatCompletion[];
  readonly responses?: readonly OpenAI.Responses.Response[];
}

/** Starts an OpenAI that validates Chat Completions and Responses; its client's `baseURL` is `url` and `/v1`. */
export async function startOpenai(script: OpenaiScript): Promise<ProviderServer> {
  const ledger = responsesLedger();
  const chat = [...(script.chat ?? [])];
  const responses = [...(script.responses ?? [])];
  const rulesOf = ({ path }: ReceivedRequest): readonly OpenaiRule[] =>
    path === "/v1/chat/completions" ? chatRules : responsesRules(ledger);
  return startProvider({
    breaches: (request) => breaches(request.body, rulesOf(request)),
    refuse: (breach, request) => refusal(breach, rulesOf(request)),
    reply: ({ path, body }) => {
      if (path === "/v1/chat/completions") return answer(body, chat.shift(), chatEvents);
      const response = responses.shift();
      const isStored = !(
        typeof body === "object" &&
        body !== null &&
        "store" in body &&
        body.store === false
      );
      ledger.add(response?.output ?? [], isStored);
      return answer(body, response, responseEvents);
    },
  });
}

/** A reply whole, or in events where the request asks for them. */
function answer<Reply>(
  body: unknown,
  reply: Reply | undefined,
  events: (reply: Reply) => readonly object[],
): Answer {
  if (reply === undefined) return { status: 500, json: { error: { message: "nothing is left to say" } } };
  const isStream = typeof body === "object" && body !== null && "stream" in body && body.stream === true;
  if (!isStream) return { json: reply };
  const lines = events(reply).map((event) => `data: ${JSON.stringify(event)}\n\n`);
  return { headers: { "content-type": "text/event-stream" }, text: `${lines.join("")}data: [DONE]\n\n` };
}

/** As the API says it: 400 where nothing else is known, never 413. */
function refusal({ rule: id, path, problem }: Breach, rules: readonly OpenaiRule[]): Answer {
  const rule = rules.find((candidate) => candidate.id === id);
  const param = rule?.param === undefined ? path : rule.param;
  return {
    status: rule?.status ?? 400,
    headers: { "x-request-id": "req_1" },
    json: { error: { message: problem, type: "invalid_request_error", param, code: rule?.code ?? null } },
  };
}
