import type Anthropic from "@anthropic-ai/sdk";
import { type Answer, type ProviderServer, type ReceivedRequest, startProvider } from "../local-server.js";
import { type Breach, breaches, type Fault } from "../rule.js";
import { eventsOf } from "./events.js";
import { thinkingIsUnchanged } from "./memory.js";
import { messageOf, type ScriptedReply } from "./replies.js";
import { type AnthropicRequest, readRequest } from "./request.js";
import { anthropicRules } from "./rules.js";

const done: ScriptedReply = { content: [{ type: "text", text: "Done.", citations: null }] };

/** A reply, or the reply to a request that it depends on. */
export type ScriptStep = ScriptedReply | ((request: Anthropic.MessageCreateParams) => ScriptedReply);

/**
 * The Messages API on 127.0.0.1: refuses what breaks a rule, answers all else with the script, one reply after the other.
 * `window` is the longest prompt that it takes, in tokens; `unreadable` names images that it cannot decode.
 */
export async function startAnthropic(
  script: readonly ScriptStep[] = [],
  {
    window = Number.POSITIVE_INFINITY,
    unreadable = () => false,
  }: { readonly window?: number; readonly unreadable?: (base64: string) => boolean } = {},
): Promise<ProviderServer> {
  const given: Anthropic.Message[] = [];
  return await startProvider({
    breaches: (request) => {
      const asked = read(request);
      const broken = breaches(asked, [...anthropicRules, thinkingIsUnchanged(given)]);
      return [
        ...addressed(request),
        ...tooLong(request, window),
        ...undecoded(request, unreadable),
        ...broken,
      ];
    },
    reply: (request) => {
      const { model, json } = read(request);
      const step = script[given.length] ?? done;
      const reply = typeof step === "function" ? step(request.body as Anthropic.MessageCreateParams) : step;
      const message = messageOf(reply, model, given.length);
      given.push(message);
      const headers = { "request-id": `req_${given.length}` };
      if (json.stream !== true) return { headers, json: message };
      const { isStalled = false } = reply;
      const text = isStalled ? eventsOf(message, unsaidEvents) : eventsOf(message);
      return { headers: { ...headers, "content-type": "text/event-stream" }, text, isOpen: isStalled };
    },
    refuse: (breach) => refusal(breach),
  });
}

/** The end of the last block, and of the message. */
const unsaidEvents = 3;

function read({ body, bytes }: ReceivedRequest): AnthropicRequest {
  return readRequest(body, bytes.length);
}

/** A prompt of more tokens than the window, counted as a quarter of its bytes. */
function tooLong({ bytes }: ReceivedRequest, window: number): readonly Breach[] {
  const tokens = bytes.length >> 2;
  if (tokens <= window) return [];
  return [{ rule: "window", path: "", problem: `prompt is too long: ${tokens} tokens > ${window} maximum` }];
}

/** Images that cannot be decoded, each by its path. */
function undecoded({ body }: ReceivedRequest, unreadable: (base64: string) => boolean): readonly Breach[] {
  // A request for something else has no messages.
  const { messages = [] } = (body ?? {}) as Partial<Anthropic.MessageCreateParams>;
  return messages.flatMap(({ content }, turn) =>
    typeof content === "string"
      ? []
      : content.flatMap((block, index) => {
          if (block.type !== "image" || block.source.type !== "base64" || !unreadable(block.source.data))
            return [];
          const path = `messages.${turn}.content.${index}.image.source`;
          return [{ rule: "image", path, problem: "Could not process image" }];
        }),
  );
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
