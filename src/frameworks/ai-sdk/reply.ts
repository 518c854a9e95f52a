/** Reads a reply of the AI SDK as an assistant message, whole or from the parts of its stream. */

import { type AssistantMessage, assistantMessage, type Usage } from "../../content/index.js";
import { copyJson, copyJsonObject } from "../../core/json.js";
import { array, custom, isRecord, joinPath, object, string } from "../../core/shape.js";
import type { ReplyStream, ReplyStreamOptions } from "../../providers/index.js";
import {
  assertReply,
  blockFields,
  countsIn,
  given,
  modelNames,
  type ReplyAccumulator,
  readCount,
  replyEnd,
  replyEnding,
  replyFailed,
  replyFields,
  replyStream,
  type StreamEnd,
  usageFields,
} from "../../providers/internal.js";
import type { ReplyDelta } from "../../session/index.js";
import { toModelRef } from "./families.js";
import { type AiSdkModel, modelArgument, readSignature } from "./model-messages.js";

/** A step of `generateText` or `streamText`, as far as it is read. */
export interface AiSdkStep {
  readonly model: { readonly provider: string; readonly modelId: string };
  /** Content that the model generated. */
  readonly content: readonly { readonly type: string }[];
  readonly finishReason: string;
  /** The provider's own word for it. */
  readonly rawFinishReason?: string | undefined;
  readonly providerMetadata?: object | undefined;
  readonly usage: {
    readonly inputTokens: number | undefined;
    readonly inputTokenDetails?: {
      readonly noCacheTokens: number | undefined;
      readonly cacheReadTokens: number | undefined;
      readonly cacheWriteTokens: number | undefined;
    };
    readonly outputTokens: number | undefined;
    readonly totalTokens: number | undefined;
  };
  readonly response: {
    readonly id?: string;
    /** The model that answered. */
    readonly modelId?: string;
    /** Messages of this step; before version 7 of all steps before it too. */
    readonly messages: readonly { readonly role: string; readonly content: unknown }[];
  };
}

/** A step, or a result whose last step is meant. */
export type AiSdkReply = AiSdkStep | { readonly steps: readonly AiSdkStep[] };

/** Options of {@link readAiSdkReply}. */
export interface ReadAiSdkReplyOptions {
  /** The account, if the harness has several with one provider. */
  readonly account?: string;
}

const stepFields = {
  model: object({ provider: string, modelId: string }),
  content: array(object({})),
  finishReason: given(string),
  response: object({ messages: array(object({})) }),
};
const stepShape = object(stepFields);
/** Only the last step is read. */
const result = object({
  steps: custom((value) => {
    if (!Array.isArray(value) || value.length === 0) return { path: "", expected: "an array with a step" };
    const problem = stepShape(value.at(-1));
    return problem && { path: joinPath(`[${value.length - 1}]`, problem.path), expected: problem.expected };
  }),
});

type Block = AssistantMessage["content"][number];

/**
 * Reads a reply of the AI SDK as a message of a session. A projection to the same model sends it back
 * unchanged: provider metadata is kept as signatures, provider-executed tools as opaque blocks. Sources and
 * citations, which the SDK sends to no provider, are kept for user interfaces. Of a result the last step is
 * read. If a call had several steps, read each of `result.steps`, with the results of the tools between them.
 *
 * @throws SessileError INVALID_MESSAGE with the path of the first invalid member; also for a result without a
 *   step
 * @example
 * ```ts
 * const reply = readAiSdkReply({
 *   model: { provider: "anthropic.messages", modelId: "claude-sonnet-4-5" },
 *   content: [{ type: "text" }],
 *   finishReason: "stop",
 *   usage: { inputTokens: 3, outputTokens: 1, totalTokens: 4 },
 *   response: { messages: [{ role: "assistant", content: [{ type: "text", text: "hi" }] }] },
 * });
 * reply.provider; // "anthropic"
 * ```
 */
export function readAiSdkReply(reply: AiSdkReply, options: ReadAiSdkReplyOptions = {}): AssistantMessage {
  const isResult = isRecord(reply) && "steps" in reply;
  assertReply(reply, isResult ? result : stepShape);
  const step = (
    isResult ? (reply as { readonly steps: readonly AiSdkStep[] }).steps.at(-1) : reply
  ) as AiSdkStep;
  return readStep(step, options);
}

/** The message of a step. */
function readStep(step: AiSdkStep, options: ReadAiSdkReplyOptions): AssistantMessage {
  const { provider, model: asked, api } = toModelRef(step.model.provider, step.model.modelId);
  const { finishReason, rawFinishReason, providerMetadata, response, usage } = step;
  // The SDK calls a pause a stop, and its older versions a refusal.
  const raw = replyEnd(rawFinishReason);
  const end = raw === "pause" || raw === "refused" ? raw : (replyEnd(finishReason) ?? "stop");
  const { refused, ...ending } = replyEnding(end, finishReason);
  const { id } = response;
  // Not as arguments: a reply may have more blocks than a call takes.
  const message = {
    ...assistantMessage({
      provider,
      ...modelNames(asked, response.modelId),
      api,
      usage: aiSdkUsage(step),
      ...ending,
    }),
    content: stepBlocks(step),
    ...(refused === undefined ? {} : { refused }),
    ...replyFields({
      ...{ id, rawFinishReason, providerMetadata },
      ...usageFields("usage", usage, ...countedTokens),
    }),
  };
  return options.account === undefined ? message : { ...message, account: options.account };
}

const countedTokens = ["inputTokens", "inputTokenDetails", "outputTokens", "totalTokens"];

function aiSdkUsage({ usage }: AiSdkStep): Usage {
  const tokens = countsIn(usage);
  const details = countsIn(tokens.inputTokenDetails);
  const inputTokens = readCount(tokens.inputTokens) ?? 0;
  const output = readCount(tokens.outputTokens) ?? 0;
  const cacheRead = readCount(details.cacheReadTokens) ?? 0;
  const cacheWrite = readCount(details.cacheWriteTokens) ?? 0;
  const input = readCount(details.noCacheTokens) ?? Math.max(0, inputTokens - cacheRead - cacheWrite);
  const totalTokens = readCount(tokens.totalTokens) ?? inputTokens + output;
  // Anthropic's own counts.
  const written = countsIn(countsIn(tokens.raw).cache_creation);
  const cacheWrite1h = readCount(written.ephemeral_1h_input_tokens) ?? 0;
  const hourly = cacheWrite1h > 0 ? { cacheWrite1h } : {};
  return { input, output, cacheRead, cacheWrite, ...hourly, totalTokens };
}

/** A part of a step's content. */
interface ContentPart {
  readonly type: string;
  readonly text?: string;
  readonly providerExecuted?: boolean;
  readonly providerMetadata?: object;
  readonly citations?: unknown;
}

function stepBlocks({ content, finishReason, response }: AiSdkStep): readonly Block[] {
  const kept: readonly ContentPart[] = content.filter(isKept);
  const isLast = ({ role }: { readonly role: string }) => role === "assistant";
  // The messages may be those of all steps so far: after an empty step the last one is of the step before.
  const said = kept.length === 0 ? [] : response.messages.findLast(isLast)?.content;
  const parts: readonly unknown[] = typeof said === "string" ? [{ type: "text", text: said }] : asArray(said);
  const cut = finishReason === "length" ? cutCallIn(content) : undefined;
  const blocks: Block[] = [];
  let at = 0;
  for (const part of content) {
    if (part.type === "source") blocks.push({ type: "opaque", data: sourceData(part) });
    else if (part === kept[at] && parts.length === kept.length)
      for (const block of partBlock(parts[at++], part)) blocks.push(block);
  }
  if (parts.length !== kept.length)
    for (const part of parts) for (const block of partBlock(part)) blocks.push(block);
  return cut === undefined ? blocks : blocks.filter((block) => block.type !== "toolCall" || block.id !== cut);
}

function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/**
 * Whether a content part belongs in the assistant message: not sources, empty text or results of the client's
 * tools.
 */
function isKept(part: ContentPart): boolean {
  switch (part.type) {
    case "source":
    case "tool-approval-response":
      return false;
    case "text":
      return part.text !== "" || (part.providerMetadata !== undefined && part.providerMetadata !== null);
    case "tool-result":
    case "tool-error":
      return part.providerExecuted === true;
    default:
      return true;
  }
}

/** The id of a call at the end that the limit of tokens cut: the SDK calls it invalid, or it has no arguments. */
function cutCallIn(content: AiSdkStep["content"]): unknown {
  const last = content.findLast(({ type }) => type === "tool-call" || type === "text") as Fields | undefined;
  if (last?.type !== "tool-call" || last.providerExecuted === true) return undefined;
  const { input, invalid, toolCallId } = last;
  return invalid === true || (isRecord(input) && Object.keys(input).length === 0) ? toolCallId : undefined;
}

type Fields = Readonly<Record<string, unknown>>;

/** A source as a part of the user interface, which shows it again; no provider is sent one. */
function sourceData(part: object): unknown {
  const copy: Fields = copyJsonObject(part);
  const { type: _, sourceType, id, ...rest } = copy;
  const isKnown = sourceType === "url" || sourceType === "document";
  return isKnown ? { type: `source-${sourceType}`, sourceId: id, ...rest } : copy;
}

/** The block of a part of a message. `content` is the same part as the step has it. */
function partBlock(part: unknown, content?: ContentPart): readonly Block[] {
  if (!isRecord(part)) return [];
  const { type, text } = part;
  const signature = readSignature(part.providerOptions);
  if (type === "text" && typeof text === "string" && (text !== "" || signature === undefined)) {
    if (text === "") return [];
    const cited = content?.type === "text" ? content.citations : undefined;
    const fields = { ...partFields(part, "text"), ...(cited === undefined ? {} : { citations: cited }) };
    const signed = signature === undefined ? {} : { textSignature: signature };
    return [{ type, text, ...signed, ...blockFields(fields) }];
  }
  if (type === "reasoning" && typeof text === "string") {
    const signed = signature === undefined ? {} : { thinkingSignature: signature };
    const redacted = text === "" ? { redacted: true } : {};
    return [
      { type: "thinking", thinking: text, ...signed, ...redacted, ...blockFields(partFields(part, "text")) },
    ];
  }
  const { toolCallId, toolName } = part;
  if (type === "tool-call" && part.providerExecuted !== true) {
    if (typeof toolCallId === "string" && typeof toolName === "string") {
      const signed = signature === undefined ? {} : { thoughtSignature: signature };
      const fields = blockFields(partFields(part, "toolCallId", "toolName", "input", "providerExecuted"));
      return [
        {
          type: "toolCall",
          id: toolCallId,
          name: toolName,
          arguments: copyJson(part.input),
          ...signed,
          ...fields,
        },
      ];
    }
  }
  // The SDK writes absent members out.
  return [{ type: "opaque", data: copyJsonObject(part) }];
}

/** The members of a part beside those that its block represents. */
function partFields(part: Fields, ...known: readonly string[]): Fields {
  const rest = Object.entries(part).filter(
    ([key, value]) => value !== undefined && ![...known, "type", "providerOptions"].includes(key),
  );
  return Object.fromEntries(rest);
}

// Accumulates the parts of a `fullStream` of the AI SDK into the message that {@link readAiSdkReply} returns
// for the same step.

/** A part of the `fullStream` of `streamText`. Parts that this library does not know are allowed. */
export interface AiSdkStreamPart {
  readonly type: string;
}

/** Options of {@link aiSdkStream}. */
export interface AiSdkStreamOptions extends ReadAiSdkReplyOptions, ReplyStreamOptions {
  /** The model that replies: the object that `streamText` takes. */
  readonly model: AiSdkModel;
}

/**
 * Reads a stream of the AI SDK: deltas as they arrive, then the message that `readAiSdkReply` returns for the
 * result. After an abort or a failure, for which the SDK has no result, it has all parts so far. Of several
 * steps the message is that of the last one.
 *
 * @throws TypeError for a model without a provider or an id
 * @example
 * ```ts
 * import { type LanguageModel, streamText } from "ai";
 *
 * async function answer(model: Exclude<LanguageModel, string>) {
 *   const { value } = await project(await session.context(), aiSdkMessages({ model }));
 *   const stream = aiSdkStream(streamText({ model, ...value }).fullStream, { model });
 *   for await (const delta of stream) if (delta.type === "text") process.stdout.write(delta.text);
 *   await session.appendMessage(await stream.message());
 * }
 * ```
 */
export function aiSdkStream(
  source: AsyncIterable<AiSdkStreamPart>,
  options: AiSdkStreamOptions,
): ReplyStream {
  return replyStream(source, new StepAccumulator(options), options);
}

/** A text or reasoning while it arrives. */
interface OpenText {
  readonly type: "text" | "reasoning";
  readonly index: number;
  readonly pieces: string[];
  providerMetadata: unknown;
  citations?: unknown;
}

class StepAccumulator implements ReplyAccumulator<AiSdkStreamPart> {
  readonly #options: AiSdkStreamOptions;
  readonly #model: AiSdkModel;
  #content: (Fields | OpenText)[] = [];
  /** By their ids. */
  #texts = new Map<unknown, OpenText>();
  /** Calls whose arguments arrive, by their ids. */
  #calls = new Map<unknown, { readonly index: number; readonly name: string }>();
  #blocks = 0;
  /** The end of the step; undefined while it runs. */
  #step: Fields | undefined;
  #isFinished = false;

  constructor(options: AiSdkStreamOptions) {
    this.#options = options;
    this.#model = modelArgument(options?.model);
  }

  /** After a step with calls a failure is that of the next one: it is an error, and leaves the message. */
  get isComplete(): boolean {
    return this.#isFinished || (this.#step !== undefined && this.#step.finishReason !== "tool-calls");
  }

  push(part: AiSdkStreamPart): readonly ReplyDelta[] {
    if (!isRecord(part) || this.#isFinished) return [];
    const fields: Fields = part;
    switch (fields.type) {
      case "start-step":
        this.#begin();
        return [];
      case "finish-step":
        this.#step ??= fields;
        return [];
      case "finish":
        this.#isFinished = this.#step !== undefined;
        return [];
      case "abort":
        if (this.isComplete) return [];
        throw new DOMException(typeof fields.reason === "string" ? fields.reason : "aborted", "AbortError");
      case "error":
        if (this.isComplete) return [];
        throw errorFailure(fields.error ?? fields.errorText);
      default:
        return this.#step === undefined ? this.#add(fields) : [];
    }
  }

  message(end: StreamEnd): AssistantMessage {
    const { finishReason = "stop", ...ending } = this.#step ?? {};
    const content = this.#content.map(wholePart);
    const step = {
      usage: {},
      ...ending,
      finishReason,
      model: this.#model,
      content,
      response: {
        ...(isRecord(ending.response) ? ending.response : {}),
        messages: [{ role: "assistant", content: content.flatMap(messagePart) }],
      },
    } as unknown as AiSdkStep;
    const message = readStep(step, this.#options);
    if (this.#step !== undefined || end.type === "complete") return message;
    return { ...message, stopReason: end.type, errorMessage: end.reason };
  }

  #begin(): void {
    this.#content = [];
    this.#texts = new Map();
    this.#calls = new Map();
    this.#blocks = 0;
    this.#step = undefined;
  }

  #add(part: Fields): readonly ReplyDelta[] {
    switch (part.type) {
      case "text-start":
      case "reasoning-start":
        this.#open(part);
        return [];
      case "text-delta":
      case "reasoning-delta":
        return this.#continue(part);
      case "text-end":
      case "reasoning-end":
        this.#extend(part);
        return [];
      case "tool-input-start":
        return this.#startCall(part);
      case "tool-input-delta":
        return this.#callDelta(part.id, part.delta);
      case "tool-call": {
        this.#content.push(part);
        const isKnown = this.#calls.has(part.toolCallId);
        const started = isKnown ? [] : this.#startCall({ ...part, id: part.toolCallId });
        const rest = isKnown ? [] : this.#callDelta(part.toolCallId, JSON.stringify(part.input ?? {}));
        return [...started, ...rest];
      }
      case "tool-result":
        if (part.preliminary !== true) this.#content.push(part);
        return [];
      default:
        if (contentTypes.has(part.type)) {
          this.#content.push(part);
          this.#blocks++;
        }
        return [];
    }
  }

  #open({ type, id, providerMetadata }: Fields): void {
    const kind = type === "text-start" ? "text" : "reasoning";
    const open: OpenText = { type: kind, index: this.#blocks++, pieces: [], providerMetadata };
    this.#texts.set(id, open);
    this.#content.push(open);
  }

  /** Metadata of a later part replaces that of an earlier one, as in the SDK. */
  #extend({ id, providerMetadata, citations }: Fields): void {
    const open = this.#texts.get(id);
    if (open === undefined) return;
    if (isGiven(providerMetadata)) open.providerMetadata = providerMetadata;
    if (isGiven(citations)) open.citations = citations;
  }

  #continue(part: Fields): readonly ReplyDelta[] {
    const open = this.#texts.get(part.id);
    const { text } = part;
    this.#extend(part);
    if (open === undefined || typeof text !== "string" || text === "") return [];
    open.pieces.push(text);
    return [{ type: open.type === "text" ? "text" : "thinking", index: open.index, text }];
  }

  /** A tool that the provider runs is no call of the agent. */
  #startCall({ id, toolName, providerExecuted }: Fields): readonly ReplyDelta[] {
    const index = this.#blocks++;
    if (typeof id !== "string" || typeof toolName !== "string" || providerExecuted === true) return [];
    this.#calls.set(id, { index, name: toolName });
    return [{ type: "toolCall", index, id, name: toolName, arguments: "" }];
  }

  #callDelta(id: unknown, delta: unknown): readonly ReplyDelta[] {
    const call = this.#calls.get(id);
    if (call === undefined || typeof delta !== "string" || delta === "") return [];
    return [{ type: "toolCall", index: call.index, id: String(id), name: call.name, arguments: delta }];
  }
}

function wholePart(part: Fields | OpenText): Fields {
  if (!("pieces" in part)) return part;
  const { type, pieces, providerMetadata, citations } = part as OpenText;
  return { type, text: pieces.join(""), providerMetadata, ...(isGiven(citations) ? { citations } : {}) };
}

/** Parts of a stream that are parts of a step's content. */
const contentTypes: ReadonlySet<unknown> = new Set([
  "custom",
  "file",
  "reasoning-file",
  "source",
  "tool-approval-request",
  "tool-approval-response",
  "tool-error",
]);

/** A part of a step's content as the SDK's message has it; none for results of the client's tools. */
function messagePart(part: Fields): readonly Fields[] {
  const { type, providerMetadata, toolCallId, toolName } = part;
  const options = { providerOptions: providerMetadata ?? undefined };
  switch (type) {
    case "text":
    case "reasoning":
      return type === "text" && part.text === "" && !isGiven(providerMetadata)
        ? []
        : [{ type, text: part.text, ...options }];
    case "custom":
      return [{ type, kind: part.kind, ...options }];
    case "file":
    case "reasoning-file": {
      const { base64, mediaType } = (isRecord(part.file) ? part.file : {}) as Fields;
      return [{ type, data: base64, mediaType, ...options }];
    }
    case "tool-call": {
      const input = part.invalid === true && typeof part.input !== "object" ? {} : part.input;
      return [{ type, toolCallId, toolName, input, providerExecuted: part.providerExecuted, ...options }];
    }
    case "tool-result":
    case "tool-error": {
      if (part.providerExecuted !== true) return [];
      const output = type === "tool-result" ? readOutput(part.output) : errorOutput(part.error);
      return [{ type: "tool-result", toolCallId, toolName, output, ...options }];
    }
    case "tool-approval-request": {
      const { approvalId, reason, isAutomatic, signature, toolCall } = part;
      const id = isRecord(toolCall) ? toolCall.toolCallId : undefined;
      return [{ type, approvalId, toolCallId: id, reason, isAutomatic, signature }];
    }
    default:
      return [];
  }
}

function readOutput(output: unknown): Fields {
  return typeof output === "string"
    ? { type: "text", value: output }
    : { type: "json", value: output ?? null };
}

function errorOutput(error: unknown): Fields {
  return { type: "error-json", value: error ?? null };
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** The client's own error, so that `explain` sees its status and body. */
function errorFailure(error: unknown): unknown {
  if (error instanceof Error) return error;
  const { message } = (isRecord(error) ? error : {}) as Fields;
  return replyFailed(typeof message === "string" ? message : typeof error === "string" ? error : "", error);
}
