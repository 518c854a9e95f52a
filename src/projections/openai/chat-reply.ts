import type { AssistantMessage, StopReason } from "../../content/index.js";
import { describe } from "../../internal/arguments.js";
import { copyJson } from "../../internal/copy-json.js";
import { isRecord } from "../../internal/shape.js";
import { chatApi } from "./chat.js";
import { customMark, rawMark, refusalMark } from "./chat-marks.js";
import { argumentsOf, rawArguments } from "./json.js";
import { type OpenaiReplyOptions, replyMessage, usageOf } from "./reply.js";

/** What is read of a completion; that of any version of the official client is one. */
export interface OpenaiChatReply {
  /** Seconds since 1970. */
  readonly created: number;
  readonly model: string;
  readonly choices: readonly {
    readonly finish_reason: string | null;
    readonly message: {
      readonly content: string | null;
      readonly refusal?: string | null;
      readonly audio?: { readonly transcript: string } | null;
      readonly tool_calls?: readonly { readonly id: string; readonly type: string }[] | null;
    };
  }[];
  readonly usage?: {
    readonly prompt_tokens: number;
    readonly completion_tokens: number;
    readonly total_tokens: number;
    readonly prompt_tokens_details?: {
      readonly cached_tokens?: number | null;
      readonly cache_write_tokens?: number | null;
    } | null;
  } | null;
}

/**
 * The first choice of a completion as an assistant message: text, refusals and calls, which {@link openaiChat} gives back as
 * they came; reasoning, where a provider adds it, for people to read; what was said aloud as its transcript.
 * What servers of this protocol leave out is made up for: a time, counts, ids of calls.
 *
 * @throws TypeError when `reply` is no completion.
 * @example
 * ```ts
 * const { value } = await project(await session.context(), openaiChat({ model }));
 * const reply = await client.chat.completions.create({ model, ...value });
 * await session.appendMessage(readOpenaiChatReply(reply));
 * ```
 */
export function readOpenaiChatReply(
  reply: OpenaiChatReply,
  options: OpenaiReplyOptions = {},
): AssistantMessage {
  if (!isRecord(reply) || !Array.isArray(reply.choices)) {
    throw new TypeError(`reply: expected a completion, got ${describe(reply)}`);
  }
  const [choice] = reply.choices;
  const { usage } = reply;
  const details = usage?.prompt_tokens_details;
  return replyMessage(
    {
      api: chatApi,
      model: reply.model,
      content: isRecord(choice?.message) ? contentOf(choice.message, choice.finish_reason) : [],
      usage:
        usage === undefined || usage === null
          ? undefined
          : usageOf({
              input: usage.prompt_tokens,
              output: usage.completion_tokens,
              cacheRead: details?.cached_tokens ?? undefined,
              cacheWrite: details?.cache_write_tokens ?? undefined,
              total: usage.total_tokens,
            }),
      ...stopOf(choice?.finish_reason),
      createdAt: reply.created,
    },
    options,
  );
}

type Content = AssistantMessage["content"];
type Message = OpenaiChatReply["choices"][number]["message"];

/** The members in which providers send reasoning; pi records the member's name too. */
export const reasoningMembers: readonly string[] = ["reasoning_content", "reasoning", "reasoning_text"];

function contentOf(message: Message, reason: string | null | undefined): Content {
  const { content, refusal, audio, tool_calls } = message;
  const calls = (tool_calls ?? []).flatMap(callBlock);
  // The last call of a reply that an abort or a limit cut may be half built: it is as if it had never begun.
  const last = calls.at(-1);
  const isHalf =
    last?.type === "toolCall" && (reason === null || (reason === "length" && !isRecord(last.arguments)));
  return [
    ...reasoningIn(message),
    ...(Array.isArray(content) ? content.flatMap(pieceBlock) : textBlock(content)),
    ...textBlock(audio?.transcript),
    ...textBlock(refusal).map((block) => ({ ...block, textSignature: refusalMark })),
    ...(isHalf ? calls.slice(0, -1) : calls),
  ];
}

function reasoningIn(message: object): Content {
  if (!isRecord(message)) return [];
  for (const member of reasoningMembers) {
    const thinking = message[member];
    if (typeof thinking === "string" && thinking !== "") {
      return [{ type: "thinking", thinking, thinkingSignature: member }];
    }
  }
  return [];
}

function textBlock(text: string | null | undefined) {
  return text === null || text === undefined || text === "" ? [] : [{ type: "text" as const, text }];
}

/** Some providers send a list, and Mistral its reasoning in that list. */
function pieceBlock(piece: unknown): Content {
  if (isRecord(piece)) {
    if (piece.type === "text" && typeof piece.text === "string") return textBlock(piece.text);
    const texts = piece.type === "thinking" ? pieceTexts(piece.thinking) : undefined;
    if (texts !== undefined && texts !== "")
      return [{ type: "thinking", thinking: texts, thinkingSignature: "content" }];
  }
  return [{ type: "opaque", data: copyJson(piece) }];
}

function pieceTexts(pieces: unknown): string | undefined {
  if (!Array.isArray(pieces)) return undefined;
  const texts = pieces.map((one: unknown) => (isRecord(one) && one.type === "text" ? one.text : undefined));
  return texts.every((text) => typeof text === "string") ? texts.join("") : undefined;
}

function callBlock(call: { readonly id: string; readonly type: string }, index: number): Content {
  // Calls with one id would be taken for one call.
  const id = typeof call.id === "string" && call.id !== "" ? call.id : `made_call_${index}`;
  if ("function" in call && isRecord(call.function)) {
    const { name, arguments: text } = call.function;
    if (typeof name !== "string") return [{ type: "opaque", data: copyJson(call) }];
    if (typeof text !== "string") return [{ type: "toolCall", id, name, arguments: copyJson(text) ?? {} }];
    const raw = rawArguments(text);
    return [
      {
        type: "toolCall",
        id,
        name,
        arguments: argumentsOf(text),
        ...(raw === undefined ? {} : { thoughtSignature: rawMark(raw) }),
      },
    ];
  }
  if (!("custom" in call) || !isRecord(call.custom)) return [{ type: "opaque", data: copyJson(call) }];
  const { name, input } = call.custom;
  if (typeof name !== "string" || typeof input !== "string")
    return [{ type: "opaque", data: copyJson(call) }];
  return [{ type: "toolCall", id, name, arguments: { input }, thoughtSignature: customMark }];
}

function stopOf(reason: string | null | undefined): {
  readonly stopReason: StopReason;
  readonly errorMessage?: string;
} {
  switch (reason) {
    case "stop":
    case undefined:
      return { stopReason: "stop" };
    case null:
      return { stopReason: "aborted" };
    case "length":
      return { stopReason: "length" };
    case "tool_calls":
    case "function_call":
      return { stopReason: "toolUse" };
    default:
      return { stopReason: "error", errorMessage: `the reply ended with ${JSON.stringify(reason)}` };
  }
}
