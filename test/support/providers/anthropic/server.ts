import type Anthropic from "@anthropic-ai/sdk";
import { type Answer, type ProviderServer, type ReceivedRequest, startProvider } from "../local-server.js";
import { type Breach, breaches, type Fault } from "../rule.js";
import { eventsOf } from "./events.js";
import { thinkingIsUnchanged } from "./memory.js";
import { messageOf, type ScriptedReply } from "./replies.js";
import { type AnthropicRequest, readRequest } from "./request.js";
import { anthropicRules } from "./rules.js";

const done: ScriptedReply = { content: [{ type: "text", text: "Done.", citations: null }] };

/** The Messages API on 127.0.0.1: refuses what breaks a rule, answers all else with the script, one reply after the other. */
export async function startAnthropic(script: readonly ScriptedReply[] = []): Promise<ProviderServer> {
  const given: Anthropic.Message[] = [];
  return await startProvider({
    breaches: (request) => {
      const asked = read(request);
      return [...addressed(request), ...breaches(asked, [...anthropicRules, thinkingIsUnchanged(given)])];
    },
    reply: (request) => {
      const { model, json } = read(request);
      const message = messageOf(script[given.length] ?? done, model, given.length);
      given.push(message);
      const headers = { "request-id": `req_${given.length}` };
      if (json.stream !== true) return { headers, json: message };
      return { headers: { ...headers, "content-type": "text/event-stream" }, text: eventsOf(message) };
    },
    refuse: (breach) => refusal(breach),
  });
}

function read({ body, bytes }: ReceivedRequest): AnthropicRequest {
  return readRequest(body, bytes.length);
}

function addressed({ method, path, headers }: ReceivedRequest): readonly Breach[] {
  if (method !== "POST" || new URL(path, "http://localhost").pathname !== "/v1/messages") {
    return [{ rule: "endpoint", path: "", problem: "Not Found" }];
  }
  // The client writes a key as a bearer token from version 1 on.
  const keyed = headers["x-api-key"] !== undefined || headers.authorization !== undefined;
  if (!keyed) return [{ rule: "key", path: "x-api-key", problem: "header is required" }];
  if (headers["anthropic-version"] !== undefined) return [];
  return [{ rule: "version", path: "anthropic-version", problem: "header is required" }];
}

/** An error as the API writes it, https://platform.claude.com/docs/en/api/errors (stored copy read 2026-11-21). */
function refusal(breach: Breach): Answer {
  const [status, type] = kinds[breach.rule] ?? [400, "invalid_request_error"];
  const error = { type, message: messageText(breach) };
  return { status, json: { type: "error", error, request_id: "req_refused" } };
}

const kinds: Readonly<Record<string, readonly [status: number, type: string]>> = {
  endpoint: [404, "not_found_error"],
  key: [401, "authentication_error"],
  "body-size": [413, "request_too_large"],
};

function messageText({ path, problem }: Fault): string {
  return path === "" ? problem : `${path}: ${problem}`;
}
