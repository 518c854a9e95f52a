/**
 * Accumulates the events of ConverseStream into the message that {@link readBedrockReply} returns for a whole
 * response.
 */
import type { AssistantMessage } from "../../content/index.js";
import { decodeBase64 } from "../../core/base64.js";
import { concatBytes, decodeUtf8 } from "../../core/bytes.js";
import { EventStreamFrames, type EventStreamMessage } from "../../core/event-streams.js";
import { parseJson } from "../../core/json.js";
import { isRecord } from "../../core/shape.js";
import {
  type EventDecoder,
  mergeDelta,
  OpenBlocks,
  type PlacedBlock,
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
  const accumulator = new BedrockAccumulator(options, "$metadata" in source ? source.$metadata : undefined);
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
  // Padding of the service's.
  if (isRecord(value)) delete value.p;
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
  readonly citations: unknown[];
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
  readonly #blocks = new OpenBlocks<OpenBlock>();
  /** Members of the response beside its content. */
  #reply: Fields = {};

  constructor(options: ReadBedrockReplyOptions, metadata: unknown) {
    // Throws at once if no model is named, and not at the end of the stream.
    readBedrockReply({}, options);
    this.#options = options;
    if (isRecord(metadata)) this.#reply.$metadata = metadata;
  }

  get isComplete(): boolean {
    return typeof this.#reply.stopReason === "string";
  }

  push(event: BedrockStreamEvent): readonly ReplyDelta[] {
    if (!isRecord(event)) return [];
    const { contentBlockStart, contentBlockDelta, contentBlockStop, messageStop, metadata } = event as Fields;
    // Usage arrives after the stop reason, or before it.
    if (isRecord(metadata)) this.#reply = { ...this.#reply, ...metadata };
    if (this.isComplete) return [];
    for (const name of exceptions) {
      const error = (event as Fields)[name];
      if (error !== undefined && error !== null) throw exception(name, error);
    }
    if (isRecord(messageStop)) this.#reply = { ...this.#reply, ...messageStop };
    if (isRecord(contentBlockStart)) return this.#start(contentBlockStart);
    if (isRecord(contentBlockDelta)) return this.#delta(contentBlockDelta);
    const stopped = isRecord(contentBlockStop) ? this.#blocks.at(indexOf(contentBlockStop)) : undefined;
    if (stopped !== undefined) stopped.block.isOpen = false;
    return [];
  }

  message(end: StreamEnd): AssistantMessage {
    const isOver = end.type === "complete";
    const blocks = this.#blocks
      .inOrder()
      .filter((block) => isOver || !block.isOpen || block.kind === "text" || block.kind === "reasoningText");
    const content = blocks.flatMap(wholeBlock).filter((block) => replyBlock(block) === undefined);
    const { usage, stopReason, ...rest } = this.#reply;
    const reply = {
      ...rest,
      output: { message: { content } },
      stopReason: isOver ? stopReason : "end_turn",
      usage: recordOr(usage),
    } as BedrockReply;
    const read = readBedrockReply(reply, this.#options);
    if (isOver) return read;
    const { stopReason: _, ...fields } = read.providerFields ?? {};
    return { ...read, providerFields: fields, stopReason: end.type, errorMessage: end.reason };
  }

  #start({ start, ...event }: Fields): readonly ReplyDelta[] {
    const index = indexOf(event);
    const call = isRecord(start) && isRecord(start.toolUse) ? start.toolUse : undefined;
    if (call === undefined) {
      // Some models begin blocks of text too, with an empty start.
      if (isRecord(start) && Object.keys(start).length > 0) this.#blocks.begin(index, opened("other", start));
      return [];
    }
    const { block, place } = this.#blocks.begin(index, opened("toolUse", call));
    return [callDelta(block, place, "")];
  }

  #delta({ delta, ...event }: Fields): readonly ReplyDelta[] {
    if (!isRecord(delta)) return [];
    const index = indexOf(event);
    const { text, toolUse, reasoningContent, citation, ...others } = delta as Fields;
    if (typeof text === "string") {
      const { block, place } = this.#block(index, "text");
      block.pieces.push(text);
      return text === "" ? [] : [{ type: "text", index: place, text }];
    }
    if (isRecord(citation)) {
      this.#block(index, "text").block.citations.push(citation);
      return [];
    }
    if (isRecord(toolUse) && typeof toolUse.input === "string") {
      const placed = this.#blocks.for(index, ({ kind }) => kind === "toolUse");
      if (placed === undefined) return [];
      placed.block.pieces.push(toolUse.input);
      return [callDelta(placed.block, placed.place, toolUse.input)];
    }
    if (isRecord(reasoningContent)) return this.#reasoning(index, reasoningContent);
    // A block of another kind, such as the result of a tool that the service runs.
    if (Object.keys(others).length > 0) mergeOther(this.#block(index, "other").block.fields, others);
    return [];
  }

  #reasoning(index: unknown, reasoning: Fields): readonly ReplyDelta[] {
    const { text, signature, redactedContent, ...others } = reasoning;
    // JSON that no client decoded has base64.
    const redacted = typeof redactedContent === "string" ? decodeBase64(redactedContent) : redactedContent;
    if (redacted instanceof Uint8Array) {
      this.#block(index, "redactedContent").block.bytes.push(redacted);
      return [];
    }
    const { block, place } = this.#block(index, "reasoningText");
    mergeDelta(block.fields, others);
    if (typeof signature === "string") block.signature = (block.signature ?? "") + signature;
    if (typeof text !== "string" || text === "") return [];
    block.pieces.push(text);
    return [{ type: "thinking", index: place, text }];
  }

  /** The block of a kind that a piece belongs to, begun now if no event began it. */
  #block(index: unknown, kind: OpenBlock["kind"]): PlacedBlock<OpenBlock> {
    const known = this.#blocks.for(index, (block) => block.kind === kind);
    return known ?? this.#blocks.begin(index, opened(kind, {}));
  }
}

function opened(kind: OpenBlock["kind"], fields: Fields): OpenBlock {
  return {
    kind,
    fields: { ...fields },
    pieces: [],
    bytes: [],
    citations: [],
    signature: undefined,
    isOpen: true,
  };
}

function callDelta({ fields }: OpenBlock, index: number, piece: string): ReplyDelta {
  return {
    type: "toolCall",
    index,
    id: String(fields.toolUseId),
    name: String(fields.name),
    arguments: piece,
  };
}

function indexOf({ contentBlockIndex }: Fields): unknown {
  return contentBlockIndex;
}

/** Merges the delta of a block that the service wrote, as it is in a whole response. */
function mergeOther(fields: Fields, { toolResult, image, ...others }: Fields): void {
  mergeDelta(fields, others);
  if (Array.isArray(toolResult)) {
    const before = isRecord(fields.toolResult) ? fields.toolResult : {};
    const content: unknown[] = Array.isArray(before.content) ? [...(before.content as unknown[])] : [];
    for (const piece of toolResult as unknown[]) {
      const last = content.at(-1);
      if (isText(last) && isText(piece)) content[content.length - 1] = { text: last.text + piece.text };
      else content.push(piece);
    }
    fields.toolResult = { ...before, content };
  }
  if (!isRecord(image)) return;
  const { source } = image;
  const bytes = isRecord(source) && typeof source.bytes === "string" ? decodeBase64(source.bytes) : undefined;
  mergeDelta(fields, { image: bytes === undefined ? image : { ...image, source: { bytes } } });
}

function isText(value: unknown): value is { readonly text: string } {
  return isRecord(value) && typeof value.text === "string";
}

function recordOr(value: unknown): Fields {
  return isRecord(value) ? value : {};
}

/** The block as in a whole response; no block if it is empty. */
function wholeBlock({ kind, fields, pieces, bytes, citations, signature }: OpenBlock): readonly Fields[] {
  const text = pieces.join("");
  switch (kind) {
    case "text":
      if (citations.length > 0) return [{ citationsContent: { content: [{ text }], citations } }];
      return text === "" ? [] : [{ text }];
    case "toolUse":
      return [{ toolUse: { ...fields, input: textInput(text) } }];
    case "reasoningText":
      if (text === "" && signature === undefined) return [];
      return [
        {
          reasoningContent: {
            reasoningText: { ...fields, text, ...(signature === undefined ? {} : { signature }) },
          },
        },
      ];
    case "redactedContent":
      return [{ reasoningContent: { redactedContent: concatBytes(bytes) } }];
    case "other":
      return [fields];
  }
}

/** The input of a call; text that is no JSON is kept as it came, so that a tool's own check refuses it. */
function textInput(text: string): unknown {
  if (text.trim() === "") return {};
  const value = parseJson(text);
  return value === undefined ? text : value;
}
