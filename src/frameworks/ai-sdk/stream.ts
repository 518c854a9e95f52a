/**
 * Accumulates the parts of a `fullStream` of the AI SDK into the message that {@link readAiSdkReply} returns
 * for the same step.
 */

import type { AssistantMessage } from "../../content/index.js";
import { isRecord } from "../../core/shape.js";
import type { ReplyDelta, ReplyStream, ReplyStreamOptions } from "../../providers/index.js";
import { type ReplyAccumulator, replyFailed, replyStream, type StreamEnd } from "../../providers/internal.js";
import { type AiSdkModel, modelArgument } from "./ai-sdk-messages.js";
import { type AiSdkStep, type ReadAiSdkReplyOptions, readStep } from "./reply.js";

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

type Fields = Readonly<Record<string, unknown>>;

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
