/** Reads a reply of Converse as an assistant message. */

import { type AssistantMessage, assistantMessage, type StopReason, type Usage } from "../../content/index.js";
import { stringArgument } from "../../internal/arguments.js";
import { decodeBase64, encodeBase64 } from "../../internal/base64.js";
import { copyJson, copyJsonObject } from "../../internal/json.js";
import { array, custom, isRecord, object, string } from "../../internal/shape.js";
import { assertReply, countOf, countsIn, given, givenFields } from "../reply-shape.js";
import type { BedrockBlock } from "./types.js";

/** The `api` of messages of this protocol: pi's name for Converse, streamed or not. */
export const converseApi = "bedrock-converse-stream";

/** A response of `Converse`, as far as it is read. The official client's fits. */
export interface BedrockReply {
  readonly output?:
    | { readonly message?: { readonly content?: readonly BedrockReplyBlock[] | undefined } }
    | undefined;
  readonly stopReason?: string | undefined;
  readonly usage?:
    | {
        readonly inputTokens?: number | undefined;
        readonly outputTokens?: number | undefined;
        readonly totalTokens?: number | undefined;
        readonly cacheReadInputTokens?: number | undefined;
        readonly cacheWriteInputTokens?: number | undefined;
      }
    | undefined;
}

/** A block of a response. One that is something else is kept as it is. */
export interface BedrockReplyBlock {
  readonly text?: string;
  readonly toolUse?: {
    readonly toolUseId?: string | undefined;
    readonly name?: string | undefined;
    readonly input?: unknown;
    readonly type?: string | undefined;
  };
  readonly reasoningContent?: {
    readonly reasoningText?: { readonly text?: string | undefined; readonly signature?: string | undefined };
    readonly redactedContent?: Uint8Array;
  };
}

/** Options of {@link readBedrockReply}. */
export interface ReadBedrockReplyOptions {
  /** The requested model, as for the target: a response of Converse does not name it. */
  readonly model: string;
  /** The provider, as for `bedrockConverse`. Default `amazon-bedrock`. */
  readonly provider?: string;
  /** The account, as for `bedrockConverse`. */
  readonly account?: string;
}

/**
 * Reads a response of the official client as a message of a session: text, reasoning and calls, with
 * signatures and redacted reasoning. `bedrockConverse` sends the model its own blocks back. Blocks of other
 * kinds, and calls that Bedrock answers itself, are kept unchanged.
 *
 * @throws SessileError INVALID_MESSAGE with the path of the first invalid member.
 * @throws TypeError if no model is given.
 * @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html (stored copy,
 *   2026-11-21)
 * @example
 * ```ts
 * import { ConverseCommand } from "@aws-sdk/client-bedrock-runtime";
 *
 * const { value } = await project(await session.context(), bedrockConverse({ model }), { blobs });
 * const reply = await client.send(new ConverseCommand({ modelId: model, ...value }));
 * await session.appendMessage(readBedrockReply(reply, { model }));
 * ```
 */
export function readBedrockReply(reply: BedrockReply, options: ReadBedrockReplyOptions): AssistantMessage {
  const model = stringArgument("model", options?.model);
  assertReply(reply, response);
  const { provider = "amazon-bedrock", account } = options;
  const blocks = reply.output?.message?.content ?? [];
  const stopReason =
    (reply.stopReason ?? undefined) === undefined
      ? "aborted"
      : (stopReasons.get(reply.stopReason as string) ?? "error");
  const content = blocks.map(blockOf);
  // Not as arguments: a reply may have more blocks than a call takes.
  const message = {
    ...assistantMessage({
      provider,
      model,
      api: converseApi,
      usage: bedrockUsage(reply),
      stopReason,
      ...(stopReason === "error" ? { errorMessage: reply.stopReason as string } : {}),
    }),
    content: endsInHalfCall(content.at(-1), stopReason) ? content.slice(0, -1) : content,
  };
  return account === undefined ? message : { ...message, account };
}

/** The shape of a block that is read; a stream leaves out any other block. */
export const replyBlock = object({
  text: given(string),
  toolUse: givenFields({ toolUseId: given(string), name: given(string), type: given(string) }),
  reasoningContent: givenFields({
    reasoningText: givenFields({ text: given(string), signature: given(string) }),
    redactedContent: given(
      custom((value) => (value instanceof Uint8Array ? undefined : { path: "", expected: "a Uint8Array" })),
    ),
  }),
});
const response = object({
  output: givenFields({ message: givenFields({ content: given(array(replyBlock)) }) }),
  stopReason: given(string),
});

/** Whether an abort or a limit cut the last call, which then is as if it had never begun. */
function endsInHalfCall(last: AssistantMessage["content"][number] | undefined, reason: StopReason): boolean {
  if (last?.type !== "toolCall") return false;
  return reason === "aborted" || (reason === "length" && typeof last.arguments === "string");
}

/** Members that are null are not there. */
function withoutNulls<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null)) as T;
}

function blockOf(block: BedrockReplyBlock): AssistantMessage["content"][number] {
  const { text, toolUse, reasoningContent } = withoutNulls(block);
  if (text !== undefined) return { type: "text", text };
  // A client call has type `tool_use` or no type; a call that the service runs has `server_tool_use`.
  if (toolUse !== undefined && ((toolUse.type ?? undefined) === undefined || toolUse.type === "tool_use")) {
    const { toolUseId, name, input } = toolUse;
    return { type: "toolCall", id: toolUseId ?? "", name: name ?? "", arguments: copyJson(input ?? {}) };
  }
  const { reasoningText, redactedContent } = withoutNulls(reasoningContent ?? {});
  if (redactedContent !== undefined) {
    return {
      type: "thinking",
      thinking: "",
      thinkingSignature: encodeBase64(redactedContent),
      redacted: true,
    };
  }
  if (reasoningText !== undefined) {
    const { text: thinking = "", signature } = withoutNulls(reasoningText);
    return {
      type: "thinking",
      thinking,
      ...(signature === undefined ? {} : { thinkingSignature: signature }),
    };
  }
  return { type: "opaque", data: opaqueData(block) };
}

const stopReasons: ReadonlyMap<string, StopReason> = new Map([
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  ["tool_use", "toolUse"],
]);

function bedrockUsage({ usage }: BedrockReply): Usage {
  const tokens = countsIn(usage);
  const input = countOf(tokens.inputTokens) ?? 0;
  const output = countOf(tokens.outputTokens) ?? 0;
  const cacheRead = countOf(tokens.cacheReadInputTokens) ?? 0;
  const cacheWrite = countOf(tokens.cacheWriteInputTokens) ?? 0;
  return {
    input,
    output,
    cacheRead,
    cacheWrite,
    totalTokens: countOf(tokens.totalTokens) ?? input + output + cacheRead + cacheWrite,
  };
}

/** The only member of an object that represents bytes: the session's log is JSON. */
const bytesKey = "$base64";

/** A block of the client's as JSON, its bytes under a member of their own. */
export function opaqueData(block: object): unknown {
  return copyJsonObject(withoutBytes(block));
}

function withoutBytes(value: object): object {
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, without(field)]));
}

function without(value: unknown): unknown {
  if (value instanceof Uint8Array) return { [bytesKey]: encodeBase64(value) };
  if (Array.isArray(value)) return value.map(without);
  return typeof value === "object" && value !== null ? withoutBytes(value) : value;
}

/**
 * Block types beside text, calls and reasoning that Converse accepts back from the model.
 *
 * @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html (stored copy,
 *   2026-11-21)
 */
const kinds = ["citationsContent", "searchResult", "audio", "video", "$unknown"];

/** The block again, in fresh objects; undefined for data that Converse would refuse. */
export function opaqueBlock(data: unknown): BedrockBlock | undefined {
  if (!isRecord(data)) return undefined;
  const block = withBytes(data);
  return isBlock(block) ? block : undefined;
}

function withBytes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withBytes);
  if (!isRecord(value)) return value;
  const { [bytesKey]: base64, ...others } = value;
  if (typeof base64 === "string" && Object.keys(others).length === 0)
    return decodeBase64(base64) ?? new Uint8Array();
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, withBytes(field)]));
}

function isBlock(block: unknown): block is BedrockBlock {
  if (!isRecord(block)) return false;
  const [kind = "", ...others] = Object.keys(block);
  return others.length === 0 && kinds.includes(kind);
}
