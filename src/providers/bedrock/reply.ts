/** Reads a reply of Converse as an assistant message. */

import { type AssistantMessage, assistantMessage, type StopReason, type Usage } from "../../content/index.js";
import { stringArgument } from "../../core/arguments.js";
import { decodeBase64, encodeBase64 } from "../../core/base64.js";
import { copyJson, copyJsonObject } from "../../core/json.js";
import { array, custom, isRecord, object, string } from "../../core/shape.js";
import {
  assertReply,
  blockFields,
  countsIn,
  given,
  givenFields,
  isSignature,
  type ReplyEnding,
  readCount,
  replyEnd,
  replyEnding,
  replyFields,
  usageFields,
} from "../reply-shape.js";
import type { ServerIds } from "../server-calls.js";
import type { BedrockBlock } from "./render.js";

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
        readonly cacheDetails?:
          | readonly { readonly ttl?: string | undefined; readonly inputTokens?: number | undefined }[]
          | undefined;
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
    /** JSON that no client decoded has base64. */
    readonly redactedContent?: Uint8Array | string;
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
 * signatures and redacted reasoning. An answer with citations is text too. `bedrockConverse` sends the model its
 * own blocks back. Blocks of other kinds, and calls that Bedrock answers itself, are kept unchanged, and so are
 * the other members of the response. A call at the end of a response that a limit cut is left out.
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
  const reason = reply.stopReason ?? undefined;
  const { refused, ...ending }: ReplyEnding =
    reason === undefined ? { stopReason: "aborted" } : replyEnding(replyEnd(reason) ?? "error", reason);
  const content = blocks.map(readBlock);
  // Not as arguments: a reply may have more blocks than a call takes.
  const message = {
    ...assistantMessage({
      provider,
      model,
      api: converseApi,
      usage: bedrockUsage(reply),
      ...ending,
    }),
    content: withoutHalfCalls(content, ending.stopReason),
    ...(refused === undefined ? {} : { refused }),
    ...replyRest(reply),
  };
  return account === undefined ? message : { ...message, account };
}

type Content = AssistantMessage["content"];

/** The shape of a block that is read; a stream leaves out any other block. */
export const replyBlock = object({
  text: given(string),
  toolUse: givenFields({ toolUseId: given(string), name: given(string), type: given(string) }),
  reasoningContent: givenFields({
    reasoningText: givenFields({ text: given(string) }),
    redactedContent: given(
      custom((value) =>
        value instanceof Uint8Array || typeof value === "string"
          ? undefined
          : { path: "", expected: "a Uint8Array, or base64" },
      ),
    ),
  }),
});
const response = object({
  output: givenFields({ message: givenFields({ content: given(array(replyBlock)) }) }),
  stopReason: given(string),
});

/**
 * Without the calls that an abort or a limit may have cut, which are as if they had never begun: the last one,
 * whose input can be `{}` or a part of itself, and one that arrived at the same time, whose input is a text.
 */
function withoutHalfCalls(content: Content, reason: StopReason): Content {
  if (reason !== "aborted" && reason !== "length") return content;
  return content.filter(
    (block, at) =>
      block.type !== "toolCall" || (at < content.length - 1 && typeof block.arguments !== "string"),
  );
}

/** The members of a response beside its content and counts; of the metadata of the request only its id. */
function replyRest(reply: BedrockReply): Pick<AssistantMessage, "providerFields"> {
  const { $metadata: metadata } = reply as { readonly $metadata?: unknown };
  const requestId = isRecord(metadata) ? metadata.requestId : undefined;
  const rest = { ...reply, ...usageFields("usage", reply.usage, ...knownCounts), $metadata: { requestId } };
  return replyFields(withoutBytes(rest), "output");
}

const knownCounts = [
  ...["inputTokens", "outputTokens", "totalTokens", "cacheReadInputTokens", "cacheWriteInputTokens"],
  "cacheDetails",
];

/** Members that are null are not there. */
function withoutNulls<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null)) as T;
}

function readBlock(block: BedrockReplyBlock): AssistantMessage["content"][number] {
  const { text, toolUse, reasoningContent } = withoutNulls(block);
  if (text !== undefined) return { type: "text", text, ...readRest(block, "text") };
  const words = blockWords(block);
  if (words !== undefined) return { type: "text", text: words, ...readRest(block) };
  // A client call has type `tool_use` or no type; a call that the service runs has `server_tool_use`.
  if (toolUse !== undefined && ((toolUse.type ?? undefined) === undefined || toolUse.type === "tool_use")) {
    const { toolUseId, name, input } = toolUse;
    const rest = readRest(toolUse, "toolUseId", "name", "input", "type");
    return {
      type: "toolCall",
      id: toolUseId ?? "",
      name: name ?? "",
      arguments: copyJson(input ?? {}),
      ...rest,
    };
  }
  const { reasoningText, redactedContent } = withoutNulls(reasoningContent ?? {});
  if (redactedContent !== undefined) {
    return {
      type: "thinking",
      thinking: "",
      thinkingSignature:
        typeof redactedContent === "string" ? redactedContent : encodeBase64(redactedContent),
      redacted: true,
    };
  }
  if (reasoningText !== undefined) {
    const { text: thinking = "", signature } = withoutNulls(reasoningText);
    const signed = isSignature(signature) ? { thinkingSignature: signature } : {};
    return { type: "thinking", thinking, ...signed, ...readRest(reasoningText, "text", "signature") };
  }
  return { type: "opaque", data: opaqueData(block) };
}

function readRest(value: object, ...known: readonly string[]): Pick<AssistantMessage, "providerFields"> {
  return blockFields(withoutBytes(value), ...known);
}

/**
 * The words of a block that has them deeper than a text: an answer with citations, or guarded text. Undefined for
 * any other block.
 */
export function blockWords(block: object): string | undefined {
  const { citationsContent, guardContent } = block as Readonly<Record<string, unknown>>;
  if (isRecord(citationsContent) && Array.isArray(citationsContent.content)) {
    const pieces = citationsContent.content.map((piece: unknown) =>
      isRecord(piece) ? piece.text : undefined,
    );
    return pieces.every((piece) => typeof piece === "string") ? pieces.join("") : undefined;
  }
  const guarded = isRecord(guardContent) && isRecord(guardContent.text) ? guardContent.text.text : undefined;
  return typeof guarded === "string" ? guarded : undefined;
}

function bedrockUsage({ usage }: BedrockReply): Usage {
  const tokens = countsIn(usage);
  const input = readCount(tokens.inputTokens) ?? 0;
  const output = readCount(tokens.outputTokens) ?? 0;
  const cacheRead = readCount(tokens.cacheReadInputTokens) ?? 0;
  const cacheWrite = readCount(tokens.cacheWriteInputTokens) ?? 0;
  const cacheWrite1h = hourWrites(tokens.cacheDetails);
  return {
    input,
    output,
    cacheRead,
    cacheWrite,
    ...(cacheWrite1h > 0 ? { cacheWrite1h } : {}),
    totalTokens: readCount(tokens.totalTokens) ?? input + output + cacheRead + cacheWrite,
  };
}

/**
 * The written tokens with a lifetime of an hour.
 *
 * @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_CacheDetail.html, and the types of
 *   `@aws-sdk/client-bedrock-runtime` 3.1164 (2026-11-28)
 */
function hourWrites(details: unknown): number {
  if (!Array.isArray(details)) return 0;
  const counts = details.map((one: unknown) =>
    isRecord(one) && one.ttl === "1h" ? (readCount(one.inputTokens) ?? 0) : 0,
  );
  return counts.reduce((sum, count) => sum + count, 0);
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
 * Block types that Converse does not accept back from the model: images and documents are the user's alone, and
 * each request has its own cache points. Text and calls are blocks of the session.
 *
 * @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html (stored copy,
 *   2026-11-28)
 */
const refusedKinds = ["text", "reasoningContent", "image", "document", "cachePoint"];

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
  if (others.length > 0 || kind === "" || refusedKinds.includes(kind) || kind === "type") return false;
  const { toolUse } = block;
  return kind !== "toolUse" || (isRecord(toolUse) && toolUse.type === "server_tool_use");
}

/** The ids of a call that the service runs itself, or of its result. */
export function readServerIds(data: unknown): ServerIds {
  const { toolUse, toolResult } = isRecord(data) ? data : {};
  if (isRecord(toolUse) && typeof toolUse.toolUseId === "string") return { call: toolUse.toolUseId };
  return isRecord(toolResult) && typeof toolResult.toolUseId === "string"
    ? { result: toolResult.toolUseId }
    : {};
}
