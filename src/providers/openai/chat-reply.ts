/** Reads a reply of Chat Completions as an assistant message. */

import type { AssistantMessage, ToolCall } from "../../content/index.js";
import { opaqueMedia } from "../../content/internal.js";
import { copyJson, type JsonObject, parseJson } from "../../core/json.js";
import { anything, array, isRecord, object, string, union } from "../../core/shape.js";
import {
  assertReply,
  blockFields,
  countsIn,
  firstGiven,
  given,
  givenFields,
  holdsMedia,
  type ReplyEnding,
  replyEnd,
  replyEnding,
  replyFields,
  usageFields,
} from "../reply-shape.js";
import { chatApi } from "./chat.js";
import {
  callMembers,
  messageMembers,
  type OpenaiChatDialect,
  type OpenaiChatDialectOption,
  openaiChatDialectReasoningMembers,
  readDialect,
  readProvider,
} from "./chat-dialects.js";
import { type OpenaiReplyOptions, openaiUsage, replyMessage } from "./options.js";
import {
  customCallSignature,
  messageData,
  printCallMembers,
  printRawArguments,
  rawArguments,
  refusalSignature,
  textArguments,
  unknownMembers,
} from "./round-trip-metadata.js";

/** The members of a completion that are read. Any version of the official client gives one. */
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
      /** A call in the form before tools, which some servers still send. */
      readonly function_call?: { readonly name: string; readonly arguments: string } | null;
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

/** Options of {@link readOpenaiChatReply}. */
export interface OpenaiChatReplyOptions extends OpenaiReplyOptions {
  /** The dialect, as for the target. Default `openai`. A name is the default of `provider` too. */
  readonly dialect?: OpenaiChatDialectOption;
}

/**
 * Reads the first choice of a completion as a message of a session. {@link openaiChat} sends its text,
 * refusals and calls back unchanged. Reasoning, and members beyond the protocol, are sent back by the
 * dialects that accept them. Audio is kept as its transcript and as a block of its own. Members of the
 * completion that the message does not have are in `providerFields`, but no log probabilities. Members that
 * servers leave out get defaults: a time, counts, ids of calls.
 *
 * @throws SessileError INVALID_MESSAGE with the path of the first invalid member
 * @throws RangeError for an unknown dialect
 * @example
 * ```ts
 * const { value } = await project(await session.context(), openaiChat({ model }));
 * const reply = await client.chat.completions.create({ model, ...value });
 * await session.appendMessage(readOpenaiChatReply(reply, { model }));
 * ```
 */
export function readOpenaiChatReply(
  reply: OpenaiChatReply,
  options: OpenaiChatReplyOptions = {},
): AssistantMessage {
  assertReply(reply, options.model === undefined ? completion : object({ choices }));
  const dialect = readDialect(options.dialect);
  const [choice] = reply.choices;
  const usage = reply.usage ?? ofChoice(choice);
  const tokens = countsIn(usage);
  const details = countsIn(tokens.prompt_tokens_details);
  return replyMessage(
    {
      api: chatApi,
      model: reply.model,
      content: isRecord(choice?.message) ? messageContent(choice.message, choice.finish_reason, dialect) : [],
      usage:
        usage === undefined || usage === null
          ? undefined
          : openaiUsage({
              input: tokens.prompt_tokens,
              output: tokens.completion_tokens,
              cacheRead: details.cached_tokens,
              cacheWrite: details.cache_write_tokens,
              total: tokens.total_tokens,
            }),
      ...reasonEnding(choice?.finish_reason),
      createdAt: reply.created,
      ...replyFields(
        { ...reply, ...choice, ...usageFields("usage", usage, ...usageMembers) },
        ...readMembers,
      ),
    },
    { ...options, provider: options.provider ?? readProvider(options.dialect) },
  );
}

/** Members of a completion and its choice that the message has, or that are not kept. */
const readMembers = ["object", "created", "model", "choices", "index", "message", "logprobs"] as const;
const usageMembers = ["prompt_tokens", "prompt_tokens_details", "completion_tokens", "total_tokens"] as const;

const choices = firstGiven(
  object({
    finish_reason: given(string),
    message: givenFields({
      content: given(union(array(anything), string)),
      refusal: given(string),
      audio: givenFields({ transcript: given(string) }),
      tool_calls: given(array(object({}))),
      function_call: givenFields({}),
    }),
  }),
);
const completion = object({ model: string, choices });

/** Moonshot's usage of a stream, see https://github.com/earendil-works/pi/issues/2017 (stored copy, 2026-11-28). */
function ofChoice(choice: unknown): OpenaiChatReply["usage"] {
  const { usage } = isRecord(choice) ? choice : {};
  return isRecord(usage) ? (usage as unknown as OpenaiChatReply["usage"]) : undefined;
}

type Content = AssistantMessage["content"];
type Message = OpenaiChatReply["choices"][number]["message"];

function messageContent(
  message: Message,
  reason: string | null | undefined,
  dialect: OpenaiChatDialect,
): Content {
  const { content, refusal, audio } = message;
  const called = callsIn(message);
  const ids = new Set<string>();
  const last = called.length - 1;
  // A call that an abort or a limit cut in the middle is as if it had never begun. Calls can be built at once.
  const isHalf = (call: ReadCall, index: number) => {
    if (reason === null && index === last) return isCall(call);
    return (reason === null || reason === "length") && isCut(call, index === last);
  };
  const calls = called.flatMap((call, index) => (isHalf(call, index) ? [] : callBlock(call, index, ids)));
  const reasoning = reasoningIn(message, dialect);
  return [
    ...reasoning,
    ...(Array.isArray(content) ? content.flatMap(pieceBlock) : textBlock(content)),
    ...textBlock(audio?.transcript),
    ...textBlock(refusal).map((block) => ({ ...block, textSignature: refusalSignature })),
    ...calls,
    ...otherMembers(message, reasoning, dialect),
  ];
}

/** The calls of a message, or the one in the older form. */
function callsIn({ tool_calls: calls, function_call: fn }: Message): readonly ReadCall[] {
  const hasCalls = calls !== undefined && calls !== null && calls.length > 0;
  if (hasCalls || !isRecord(fn)) return calls ?? [];
  return [{ id: "", type: "function", function: fn } as ReadCall];
}

interface ReadCall {
  readonly id: string;
  readonly type: string;
}

function reasoningIn(message: object, dialect: OpenaiChatDialect): Content {
  if (!isRecord(message)) return [];
  for (const member of openaiChatDialectReasoningMembers(dialect)) {
    const thinking = message[member];
    if (typeof thinking === "string" && thinking !== "") {
      return [{ type: "thinking", thinking, thinkingSignature: member }];
    }
  }
  return [];
}

/**
 * One opaque block after all others with the members beyond the protocol, and before it one for each member
 * with media, such as the `images` of a gateway. Reasoning in two members is kept once.
 */
function otherMembers(message: object, reasoning: Content, dialect: OpenaiChatDialect): Content {
  if (!isRecord(message)) return [];
  const [block] = reasoning;
  const thinking = block?.type === "thinking" ? block.thinking : undefined;
  const names = openaiChatDialectReasoningMembers(dialect);
  const members = {
    ...audioMember(message.audio),
    ...unknownMembers(
      message,
      (name) => messageMembers.has(name) || (names.includes(name) && message[name] === thinking),
    ),
  };
  const opaque = (some: typeof members): Content =>
    Object.keys(some).length === 0 ? [] : [{ type: "opaque", data: messageData(some) }];
  const media = Object.entries(members).filter(([, member]) => opaqueMedia(member).length > 0);
  if (media.length === 0) return opaque(members);
  const others = Object.entries(members).filter(([, member]) => opaqueMedia(member).length === 0);
  return [
    ...media.flatMap((member) => opaque(Object.fromEntries([member]))),
    ...opaque(Object.fromEntries(others)),
  ];
}

/** Audio beside its transcript: an id for a short time, and its bytes. */
function audioMember(audio: unknown): JsonObject {
  return isRecord(audio) ? unknownMembers({ audio: unknownMembers(audio, isTranscript) }, never) : {};
}

const isTranscript = (name: string) => name === "transcript";
const never = () => false;

function textBlock(text: string | null | undefined) {
  return text === null || text === undefined || text === "" ? [] : [{ type: "text" as const, text }];
}

/** Some providers send a list, and Mistral its reasoning in that list. */
function pieceBlock(piece: unknown): Content {
  if (isRecord(piece)) {
    const rest = blockFields(piece, "type", String(piece.type));
    if (holdsMedia(rest)) return [{ type: "opaque", data: copyJson(piece) }];
    if (piece.type === "text" && typeof piece.text === "string")
      return textBlock(piece.text).map((block) => ({ ...block, ...rest }));
    const thinking = piece.type === "thinking" ? pieceTexts(piece.thinking) : undefined;
    if (thinking !== undefined && thinking !== "")
      return [{ type: "thinking", thinking, thinkingSignature: "content", ...rest }];
  }
  return [{ type: "opaque", data: copyJson(piece) }];
}

function pieceTexts(pieces: unknown): string | undefined {
  if (!Array.isArray(pieces)) return undefined;
  const texts = pieces.map((one: unknown) => (isRecord(one) && one.type === "text" ? one.text : undefined));
  return texts.every((text) => typeof text === "string") ? texts.join("") : undefined;
}

function isCall(call: unknown): boolean {
  return isRecord(call) && (isRecord(call.function) || isRecord(call.custom));
}

/** Whether the arguments of a function are not a whole object. Before the last call none are an empty text. */
function isCut(call: unknown, isLast: boolean): boolean {
  if (!isRecord(call) || !isRecord(call.function)) return false;
  const { arguments: text, name } = call.function;
  if (typeof text !== "string" || typeof name !== "string") return false;
  return (isLast || text.trim() !== "") && !isRecord(parseJson(text));
}

function callBlock(call: ReadCall, index: number, ids: Set<string>): Content {
  // Calls with the same id would count as one call.
  const isOwn = typeof call.id === "string" && call.id !== "" && !ids.has(call.id);
  const id = isOwn ? call.id : `made_call_${index}`;
  ids.add(id);
  const members = unknownMembers({ ...call }, (name) => callMembers.has(name));
  const signatureMembers = (own?: string) => {
    const metadata = printCallMembers(members, own);
    return metadata === undefined ? {} : { thoughtSignature: metadata };
  };
  if ("function" in call && isRecord(call.function)) {
    const { name, arguments: text, ...others } = call.function;
    if (typeof name !== "string") return [{ type: "opaque", data: copyJson(call) }];
    const more = innerFields("function", others, "parsed_arguments");
    if (typeof text !== "string")
      return [
        { type: "toolCall", id, name, arguments: copyJson(text) ?? {}, ...signatureMembers(), ...more },
      ];
    const raw = rawArguments(text);
    const own = raw === undefined ? undefined : printRawArguments(raw);
    return [
      { type: "toolCall", id, name, arguments: textArguments(text), ...signatureMembers(own), ...more },
    ];
  }
  if (!("custom" in call) || !isRecord(call.custom)) return [{ type: "opaque", data: copyJson(call) }];
  const { name, input, ...others } = call.custom;
  if (typeof name !== "string" || typeof input !== "string")
    return [{ type: "opaque", data: copyJson(call) }];
  const more = innerFields("custom", others);
  return [
    { type: "toolCall", id, name, arguments: { input }, ...signatureMembers(customCallSignature), ...more },
  ];
}

/** Members of a call's function beside its name and arguments, under its name. */
function innerFields(
  member: "function" | "custom",
  others: object,
  ...known: readonly string[]
): Pick<ToolCall, "providerFields"> {
  const { providerFields } = replyFields(others, ...known);
  return providerFields === undefined ? {} : { providerFields: { [member]: providerFields } };
}

function reasonEnding(reason: string | null | undefined): ReplyEnding {
  if (reason === null) return { stopReason: "aborted" };
  if (reason === undefined) return { stopReason: "stop" };
  return replyEnding(replyEnd(reason) ?? "error", `the reply ended with ${JSON.stringify(reason)}`);
}
