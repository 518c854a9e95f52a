/**
 * Accumulates the events of ConverseStream into the message that {@link readBedrockReply} returns for a whole
 * response.
 */
import type { AssistantMessage } from "../../content/index.js";
import { decodeBase64 } from "../../internal/base64.js";
import { concatBytes, decodeUtf8 } from "../../internal/bytes.js";
import { EventStreamFrames, type EventStreamMessage } from "../../internal/event-stream.js";
import { isRecord } from "../../internal/shape.js";
import {
  type EventDecoder,
  type ReplyAccumulator,
  type ReplyDelta,
  type ReplySource,
  type ReplyStream,
  type ReplyStreamOptions,
  replyFailed,
  replyStream,
  type StreamEnd,
} from "../reply-stream.js";
import { type BedrockReply, type ReadBedrockReplyOptions, readBedrockReply, replyBlock } from "./reply.js";

/** An event of the stream. Members that this library does not know are allowed. */
export type BedrockStreamEvent = object;

/** A response of ConverseStream, as the official client gives it. */
export interface BedrockStreamReply {
  readonly stream?: AsyncIterable<BedrockStreamEvent> | undefined;
}

/**
 * Reads a streamed response of Converse: deltas as they arrive, then the message that {@link
 * readBedrockReply} returns for the same response. Accepts the official client's response or its `stream`.
 * Also accepts the `Response` of a fetch, such as one with an API key as bearer token, or its body; the
 * binary frames are decoded here.
 *
 * @throws TypeError if no model is given.
 * @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html (stored copy,
 *   2026-11-22)
 * @example
 * ```ts
 * import { ConverseStreamCommand } from "@aws-sdk/client-bedrock-runtime";
 *
 * const { value } = await project(await session.context(), bedrockConverse({ model }), { blobs });
 * const response = await client.send(new ConverseStreamCommand({ modelId: model, ...value }));
 * const stream = bedrockStream(response, { model });
 * for await (const delta of stream) if (delta.type === "text") process.stdout.write(delta.text);
 * await session.appendMessage(await stream.message());
 * ```
 */
export function bedrockStream(
  source: ReplySource<BedrockStreamEvent> | BedrockStreamReply,
  options: ReadBedrockReplyOptions & ReplyStreamOptions,
): ReplyStream {
  const accumulator = new BedrockAccumulator(options);
  const events = "stream" in source && !(Symbol.asyncIterator in source) ? source.stream : source;
  return replyStream(events as ReplySource<BedrockStreamEvent>, accumulator, options, frameDecoder());
}

/** Events of the frames of an HTTP body, as the official client decodes them. */
function frameDecoder(): EventDecoder<BedrockStreamEvent> {
  const frames = new EventStreamFrames();
  return { push: (chunk) => frames.push(chunk).map(frameEvent) };
}

function frameEvent({ headers, payload }: EventStreamMessage): BedrockStreamEvent {
  const type = headers.get(":message-type");
  if (type === "error") {
    const code = headers.get(":error-code") ?? "error";
    const message = headers.get(":error-message") ?? "";
    throw replyFailed(message === "" ? code : `${code}: ${message}`, { code, message });
  }
  const value: unknown = JSON.parse(decodeUtf8(payload) || "{}");
  const name = headers.get(type === "exception" ? ":exception-type" : ":event-type") ?? "unknown";
  if (type === "exception") throw exception(name, value);
  return { [name]: value };
}

function exception(name: string, error: unknown): Error {
  const message = isRecord(error) && typeof error.message === "string" ? error.message : "";
  return replyFailed(message === "" ? name : `${name}: ${message}`, error);
}

type Fields = Record<string, unknown>;

/** A block while it arrives. Pieces are joined once, at its end. */
interface OpenBlock {
  readonly kind: "text" | "toolUse" | "reasoningText" | "redactedContent" | "other";
  /** Members of the block beside its pieces. */
  readonly fields: Fields;
  readonly pieces: string[];
  readonly bytes: Uint8Array[];
  signature: string | undefined;
  isOpen: boolean;
}

/** Errors arrive as members of events; the official client throws some of these itself. */
const exceptions = [
  "internalServerException",
  "modelStreamErrorException",
  "serviceUnavailableException",
  "throttlingException",
  "validationException",
] as const;

class BedrockAccumulator implements ReplyAccumulator<BedrockStreamEvent> {
  readonly #options: ReadBedrockReplyOptions;
  readonly #blocks = new Map<number, OpenBlock>();
  #stopReason: string | undefined;
  #usage: unknown;

  constructor(options: ReadBedrockReplyOptions) {
    // Throws at once if no model is named, and not at the end of the stream.
    readBedrockReply({}, options);
    this.#options = options;
  }

  get isComplete(): boolean {
    return this.#stopReason !== undefined;
  }

  push(event: BedrockStreamEvent): readonly ReplyDelta[] {
    if (!isRecord(event)) return [];
    const { contentBlockStart, contentBlockDelta, contentBlockStop, messageStop, metadata } = event as Fields;
    for (const name of exceptions) {
      const error = (event as Fields)[name];
      if (error !== undefined && error !== null) throw exception(name, error);
    }
    // Usage arrives after the stop reason, or before it.
    if (isRecord(metadata)) this.#usage = metadata.usage;
    if (isRecord(messageStop) && typeof messageStop.stopReason === "string")
      this.#stopReason = messageStop.stopReason;
    if (isRecord(contentBlockStart)) return this.#start(indexOf(contentBlockStart), contentBlockStart.start);
    if (isRecord(contentBlockDelta)) return this.#delta(indexOf(contentBlockDelta), contentBlockDelta.delta);
    const stopped = isRecord(contentBlockStop) ? this.#blocks.get(indexOf(contentBlockStop)) : undefined;
    if (stopped !== undefined) stopped.isOpen = false;
    return [];
  }

  message(end: StreamEnd): AssistantMessage {
    const isOver = end.type === "complete";
    const blocks = [...this.#blocks]
      .sort(([a], [b]) => a - b)
      .map(([, block]) => block)
      .filter((block) => isOver || !block.isOpen || block.kind === "text" || block.kind === "reasoningText");
    const content = blocks.flatMap(wholeBlock).filter((block) => replyBlock(block) === undefined);
    const stopReason = isOver ? this.#stopReason : "end_turn";
    const reply = {
      output: { message: { content } },
      stopReason,
      usage: recordOr(this.#usage),
    } as BedrockReply;
    const read = readBedrockReply(reply, this.#options);
    return isOver ? read : { ...read, stopReason: end.type, errorMessage: end.reason };
  }

  #start(index: number, start: unknown): readonly ReplyDelta[] {
    const call = isRecord(start) && isRecord(start.toolUse) ? start.toolUse : undefined;
    if (call === undefined) {
      // Some models begin blocks of text too, with an empty start.
      if (isRecord(start) && Object.keys(start).length > 0) this.#blocks.set(index, opened("other", start));
      return [];
    }
    this.#blocks.set(index, opened("toolUse", call));
    return this.#callDelta(index, "");
  }

  #delta(index: number, delta: unknown): readonly ReplyDelta[] {
    if (!isRecord(delta)) return [];
    const { text, toolUse, reasoningContent } = delta as Fields;
    if (typeof text === "string") {
      this.#block(index, "text")?.pieces.push(text);
      return text === "" ? [] : [{ type: "text", index, text }];
    }
    if (isRecord(toolUse) && typeof toolUse.input === "string") {
      const block = this.#blocks.get(index);
      if (block?.kind !== "toolUse") return [];
      block.pieces.push(toolUse.input);
      return this.#callDelta(index, toolUse.input);
    }
    return isRecord(reasoningContent) ? this.#reasoning(index, reasoningContent) : [];
  }

  #reasoning(index: number, { text, signature, redactedContent }: Fields): readonly ReplyDelta[] {
    // JSON that no client decoded has base64.
    const redacted = typeof redactedContent === "string" ? decodeBase64(redactedContent) : redactedContent;
    if (redacted instanceof Uint8Array) {
      this.#block(index, "redactedContent")?.bytes.push(redacted);
      return [];
    }
    const block = this.#block(index, "reasoningText");
    if (block === undefined) return [];
    if (typeof signature === "string") block.signature = (block.signature ?? "") + signature;
    if (typeof text !== "string" || text === "") return [];
    block.pieces.push(text);
    return [{ type: "thinking", index, text }];
  }

  #callDelta(index: number, piece: string): readonly ReplyDelta[] {
    const { toolUseId, name } = (this.#blocks.get(index) as OpenBlock).fields;
    return [{ type: "toolCall", index, id: String(toolUseId), name: String(name), arguments: piece }];
  }

  /** The block at this index, begun now if no event began it; undefined for one of another kind. */
  #block(index: number, kind: OpenBlock["kind"]): OpenBlock | undefined {
    const block = this.#blocks.get(index);
    if (block !== undefined) return block.kind === kind ? block : undefined;
    const begun = opened(kind, {});
    this.#blocks.set(index, begun);
    return begun;
  }
}

function opened(kind: OpenBlock["kind"], fields: Fields): OpenBlock {
  return { kind, fields, pieces: [], bytes: [], signature: undefined, isOpen: true };
}

function indexOf({ contentBlockIndex }: Fields): number {
  return typeof contentBlockIndex === "number" ? contentBlockIndex : 0;
}

function recordOr(value: unknown): Fields {
  return isRecord(value) ? value : {};
}

/** The block as in a whole response; no block if it is empty. */
function wholeBlock({ kind, fields, pieces, bytes, signature }: OpenBlock): readonly Fields[] {
  const text = pieces.join("");
  switch (kind) {
    case "text":
      return text === "" ? [] : [{ text }];
    case "toolUse":
      return [{ toolUse: { ...fields, input: inputOf(text) } }];
    case "reasoningText":
      if (text === "" && signature === undefined) return [];
      return [
        { reasoningContent: { reasoningText: { text, ...(signature === undefined ? {} : { signature }) } } },
      ];
    case "redactedContent":
      return [{ reasoningContent: { redactedContent: concatBytes(bytes) } }];
    case "other":
      return [fields];
  }
}

/** The input of a call; text that is no JSON is kept as it came, so that a tool's own check refuses it. */
function inputOf(text: string): unknown {
  if (text.trim() === "") return {};
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
