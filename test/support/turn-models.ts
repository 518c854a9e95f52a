/** Models of a turn behind the servers of four protocols, in this process: each checks a request as its provider does. */
import {
  anthropicModel,
  geminiModel,
  openaiChatModel,
  openaiResponsesModel,
  type TurnModel,
} from "sessile/turn";
import { type BoundRequest, PreservedThinking } from "./providers/anthropic/preserved-thinking.js";
import { messageOf } from "./providers/anthropic/replies.js";
import { anthropicBreaches } from "./providers/anthropic/rules.js";
import { geminiReply } from "./providers/gemini/replies.js";
import { geminiRules } from "./providers/gemini/rules.js";
import { gemini3 } from "./providers/gemini/sample.js";
import { signatureOf } from "./providers/gemini/signatures.js";
import { chatBreaches } from "./providers/openai/chat/rules.js";
import { PreservedReasoning, type ReasoningRequest } from "./providers/openai/preserved-reasoning.js";
import { chatReply, responsesReply } from "./providers/openai/replies.js";
import { responsesBreaches } from "./providers/openai/responses/rules.js";
import { chatStreamed, responsesStreamed } from "./providers/openai/streamed.js";
import { breaches } from "./providers/rule.js";
import { anthropicStreamed, geminiStreamed } from "./providers/streamed.js";

/** What a model says. */
export interface Said {
  readonly thinking?: string;
  readonly text?: string;
  readonly calls?: readonly (readonly [name: string, id: string])[];
  readonly end?: "cut" | "error" | "decline" | "long";
}

/** Says what a model does with a request, or throws what its client throws. */
export type Script = (body: unknown) => Said;

/** A request that failed, as clients throw it. */
export function requestError(status: number, message: string): Error {
  return Object.assign(new Error(message), { status });
}

/** The models that a program switches between. */
export const turnModelNames = [
  "claude-opus-5",
  "claude-opus-5-5",
  "gpt-6.2-sol",
  "gpt-5.6, completions",
  gemini3,
] as const;
export type TurnModelName = (typeof turnModelNames)[number];

type Body = Record<string, unknown>;

/** The characters of a piece of a stream. */
const size = 6;

/** The servers of one session. */
export class TurnServers {
  /** What they refused, or did not show to a model of their own. */
  readonly refused: string[] = [];
  readonly #thinking = new PreservedThinking();
  readonly #reasoning = new PreservedReasoning();

  /** @param step called before each event of a reply */
  model(name: TurnModelName, script: Script, step: () => Promise<void>): TurnModel {
    type Replies = (body: Body, said: Said) => readonly object[];
    const answer = async (params: unknown, signal: AbortSignal, reply: Replies) => {
      await step();
      signal.throwIfAborted();
      const body = JSON.parse(JSON.stringify(params)) as Body;
      const said = script(body);
      return streamed(reply(body, said), said.end, signal, step);
    };
    switch (name) {
      case "gpt-6.2-sol":
        return openaiResponsesModel(
          { responses: { create: (body, { signal }) => answer(body, signal, this.#responses) as never } },
          { model: name },
        );
      case "gpt-5.6, completions": {
        const create = (body: object, { signal }: { signal: AbortSignal }) =>
          answer(body, signal, this.#chat) as never;
        return openaiChatModel({ chat: { completions: { create } } }, { model: "gpt-5.6" });
      }
      case gemini3: {
        const generateContentStream = ({ model, contents, config }: GeminiParams) => {
          const { abortSignal, ...more } = config as Body & { abortSignal: AbortSignal };
          return answer({ model, contents, ...more }, abortSignal, this.#gemini) as never;
        };
        return geminiModel({ models: { generateContentStream } }, { model: gemini3 });
      }
      default:
        return anthropicModel(
          { messages: { create: (body, { signal }) => answer(body, signal, this.#anthropic) as never } },
          { model: name },
        );
    }
  }

  readonly #anthropic = (body: Body, { thinking, text, calls = [], end }: Said) => {
    this.#refuse(anthropicBreaches(body));
    const { model } = body as { model: string };
    const { refused } = this.#thinking.check(body as never as BoundRequest);
    if (refused !== undefined && model === "claude-opus-5-5") this.refused.push(refused);
    const content = [
      ...(thinking === undefined ? [] : [{ type: "thinking", thinking, signature: "" }]),
      ...(text === undefined ? [] : [{ type: "text", text, citations: null }]),
      ...calls.map(([name, id]) => ({ type: "tool_use", id, name, input: {}, caller: { type: "direct" } })),
    ];
    const signed = this.#thinking.reply(body as never as BoundRequest, content) as never;
    const stop = { decline: "refusal", long: "max_tokens", cut: undefined, error: undefined } as const;
    const stop_reason = end && stop[end];
    const reply = { content: signed, ...(stop_reason === undefined ? {} : { stop_reason }) };
    return anthropicStreamed(messageOf(reply, model, 0), size);
  };

  readonly #responses = (body: Body, { thinking, text, calls = [], end }: Said) => {
    this.#refuse(responsesBreaches(body));
    for (const { id, reason } of this.#reasoning.check(body as never as ReasoningRequest).removed)
      if (reason === "prefix_mismatch") this.refused.push(`${id}: ${reason}`);
    const part =
      end === "decline" ? { type: "refusal", refusal: text } : { type: "output_text", text, annotations: [] };
    const serial = calls[0]?.[1] ?? text;
    const items = [
      ...(thinking === undefined
        ? []
        : [{ type: "reasoning", summary: [{ type: "summary_text", text: thinking }] }]),
      ...(text === undefined
        ? []
        : [
            { type: "message", id: `msg_${serial}`, role: "assistant", status: "completed", content: [part] },
          ]),
      ...calls.map(([name, id]) => ({
        type: "function_call",
        id: `fc_${id}`,
        call_id: id,
        name,
        arguments: "{}",
        status: "completed",
      })),
    ];
    const output = this.#reasoning.reply(body as never as ReasoningRequest, items);
    const long = { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } } as const;
    return responsesStreamed(responsesReply(output as never, end === "long" ? long : {}), size);
  };

  readonly #chat = (body: Body, { text, calls = [], end }: Said) => {
    const { stream: _stream, stream_options: _options, ...request } = body;
    this.#refuse(chatBreaches(request));
    const tool_calls = calls.map(([name, id]) => ({
      id,
      type: "function",
      function: { name, arguments: "{}" },
    }));
    const message = { content: text ?? null, ...(calls.length === 0 ? {} : { tool_calls }) };
    const reply = chatReply(message as never);
    const reasons = { decline: "content_filter", long: "length", cut: undefined, error: undefined } as const;
    const finish_reason = end && reasons[end];
    const choices = reply.choices.map((one) => ({ ...one, ...(finish_reason ? { finish_reason } : {}) }));
    return chatStreamed({ ...reply, choices }, size);
  };

  readonly #gemini = (params: Body, { thinking, text, calls = [], end }: Said) => {
    const { model, maxOutputTokens: _, ...body } = params as Body & { model: string };
    this.#refuse(breaches({ model, bytes: JSON.stringify(body).length, body } as never, geminiRules));
    const parts = [
      ...(thinking === undefined ? [] : [{ text: thinking, thought: true }]),
      ...(text === undefined ? [] : [{ text }]),
      ...calls.map(([name, id], at) => ({
        functionCall: { id, name, args: {} },
        ...(at === 0 ? { thoughtSignature: signatureOf(model, id) } : {}),
      })),
    ];
    const reply = geminiReply(model, parts);
    const [candidate] = reply.candidates as readonly object[];
    const reasons = { decline: "SAFETY", long: "MAX_TOKENS", cut: undefined, error: undefined } as const;
    const finishReason = (end && reasons[end]) ?? "STOP";
    return geminiStreamed({ ...reply, candidates: [{ ...candidate, finishReason }] }, size);
  };

  #refuse(found: readonly { readonly path: string; readonly problem: string }[]): void {
    for (const { path, problem } of found) this.refused.push(`${path}: ${problem}`);
  }
}

interface GeminiParams {
  readonly model: string;
  readonly contents: object[];
  readonly config: object;
}

async function* streamed(
  events: readonly object[],
  end: Said["end"],
  signal: AbortSignal,
  step: () => Promise<void>,
): AsyncGenerator<object> {
  const isBroken = end === "cut" || end === "error";
  for (const event of isBroken ? events.slice(0, Math.ceil((2 * events.length) / 3)) : events) {
    await step();
    signal.throwIfAborted();
    yield event;
  }
  if (end === "error") throw requestError(529, "Overloaded");
}
