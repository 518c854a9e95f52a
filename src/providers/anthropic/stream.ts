/**
 * Accumulates the events of the Messages API into the message that {@link readAnthropicReply} returns for a
 * whole reply.
 */
import type { AssistantMessage } from "../../content/index.js";
import { parseJson } from "../../core/json.js";
import { isRecord } from "../../core/shape.js";
import { passing } from "../reply-shape.js";
import {
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
import {
  type AnthropicReply,
  messageFields,
  type ReadAnthropicReplyOptions,
  readAnthropicReply,
} from "./reply.js";

/** An event of the stream. Events and fields that this library does not know are allowed. */
export interface AnthropicStreamEvent {
  readonly type: string;
}

/**
 * Reads a streamed reply of Anthropic's API: deltas as they arrive, then the message that {@link
 * readAnthropicReply} returns for the same reply. Accepts the official client's stream (of `stream: true` or
 * `messages.stream`), a `Response`, or its body. A second `message_start` before the end restarts the
 * message, as after a retry of a proxy. Blocks are found by their index; if a gateway leaves one out or names
 * another one, nothing is lost. Events after the end are ignored.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/streaming (stored copy, 2026-11-22)
 * @example
 * ```ts
 * const { value } = await project(await session.context(), anthropicMessages({ model }));
 * const events = await client.messages.create({ model, max_tokens: 4096, stream: true, ...value });
 * const stream = anthropicStream(events, { model });
 * for await (const delta of stream) if (delta.type === "text") process.stdout.write(delta.text);
 * await session.appendMessage(await stream.message());
 * ```
 */
export function anthropicStream(
  source: ReplySource<AnthropicStreamEvent>,
  options: ReadAnthropicReplyOptions & ReplyStreamOptions = {},
): ReplyStream {
  return replyStream(source, new AnthropicAccumulator(options), options);
}

type Fields = Record<string, unknown>;

/** A block while it arrives. Pieces are joined once, at its end. */
interface OpenBlock {
  readonly fields: Fields;
  readonly pieces: Map<string, string[]>;
  isOpen: boolean;
}

/** Deltas that add text to a field of their block. */
const textDeltas: ReadonlyMap<string, { readonly from: string; readonly to: string }> = new Map([
  ["text_delta", { from: "text", to: "text" }],
  ["thinking_delta", { from: "thinking", to: "thinking" }],
  ["signature_delta", { from: "signature", to: "signature" }],
  ["input_json_delta", { from: "partial_json", to: "input" }],
]);

class AnthropicAccumulator implements ReplyAccumulator<AnthropicStreamEvent> {
  readonly #options: ReadAnthropicReplyOptions;
  #message: Fields = {};
  #blocks = new OpenBlocks<OpenBlock>();
  #isOver = false;

  constructor(options: ReadAnthropicReplyOptions) {
    this.#options = options;
  }

  /** From the stop reason on: some gateways omit the last event. */
  get isComplete(): boolean {
    return this.#isOver || typeof this.#message.stop_reason === "string";
  }

  push(event: AnthropicStreamEvent): readonly ReplyDelta[] {
    if (!isRecord(event)) return [];
    if (this.isComplete) {
      if (!this.#isOver && event.type === "message_delta") this.#addUsage(event.usage);
      this.#isOver ||= event.type === "message_stop";
      return [];
    }
    switch (event.type) {
      case "message_start":
        this.#start(event.message);
        return [];
      case "content_block_start":
        return this.#startBlock(event.index, event.content_block);
      case "content_block_delta":
        return isRecord(event.delta) ? this.#delta(event.index, event.delta) : [];
      case "content_block_stop": {
        const stopped = this.#blocks.at(event.index);
        if (stopped !== undefined) stopped.block.isOpen = false;
        return [];
      }
      case "message_delta":
        this.#update(event);
        return [];
      case "message_stop":
        this.#isOver = true;
        return [];
      case "error": {
        const error = isRecord(event.error) ? event.error : {};
        throw replyFailed(typeof error.message === "string" ? error.message : "", event.error);
      }
      default:
        return [];
    }
  }

  message(end: StreamEnd): AssistantMessage {
    const isOver = end.type === "complete";
    const content = this.#blocks
      .inOrder()
      .filter((block) => isOver || !block.isOpen || isTextual(block.fields))
      .map(wholeFields)
      .filter((fields) => !isEmptyText(fields) && (isOver || !isHalfCall(fields)));
    const reply = {
      model: "unknown",
      usage: {},
      ...passing(this.#message, messageFields),
      content,
    } as unknown as AnthropicReply;
    if (isOver) return readAnthropicReply(reply, this.#options);
    // The reader leaves out the calls at the end of an unfinished message; here it is known which are whole.
    const whole = readAnthropicReply({ ...reply, stop_reason: "end_turn" }, this.#options);
    const { stop_reason: _, ...fields } = whole.providerFields ?? {};
    return { ...whole, providerFields: fields, stopReason: end.type, errorMessage: end.reason };
  }

  #start(message: unknown): void {
    if (!isRecord(message)) return;
    const { content, ...fields } = message;
    this.#message = fields;
    this.#blocks = new OpenBlocks();
    // After a tool that calls tools, `message_start` already has content.
    const blocks: readonly unknown[] = Array.isArray(content) ? content : [];
    for (const block of blocks.filter(isRecord)) this.#blocks.begin(undefined, opened(block, false));
  }

  #startBlock(index: unknown, start: unknown): readonly ReplyDelta[] {
    if (!isRecord(start)) return [];
    const before = this.#blocks.at(index)?.block;
    // Some gateways begin a call twice.
    if (before?.isOpen === true && start.id !== undefined && before.fields.id === start.id) return [];
    const { block, place } = this.#blocks.begin(index, opened(start, true));
    const { type, text, thinking } = block.fields;
    if (type === "text" && typeof text === "string" && text !== "")
      return [{ type: "text", index: place, text }];
    if (type === "thinking" && typeof thinking === "string" && thinking !== "")
      return [{ type: "thinking", index: place, text: thinking }];
    return type === "tool_use" ? [callDelta(block, place, "")] : [];
  }

  #delta(index: unknown, { type, ...delta }: Fields): readonly ReplyDelta[] {
    if (type === "citations_delta") {
      const { fields } = this.#blockFor(index, "text")?.block ?? {};
      if (fields !== undefined) mergeDelta(fields, { citations: [delta.citation] });
      return [];
    }
    const text = typeof type === "string" ? textDeltas.get(type) : undefined;
    if (text === undefined) {
      // Of a kind that is not known, such as `compaction_delta`.
      const open = this.#blocks.for(index, ({ isOpen }) => isOpen);
      if (open !== undefined) mergeDelta(open.block.fields, delta);
      return [];
    }
    const piece = delta[text.from];
    const placed = typeof piece === "string" ? this.#blockFor(index, text.to) : undefined;
    if (placed === undefined) return [];
    const { block, place } = placed;
    const pieces = block.pieces.get(text.to);
    if (pieces === undefined) block.pieces.set(text.to, [piece as string]);
    else pieces.push(piece as string);
    if (text.to === "text" || text.to === "thinking")
      return [{ type: text.to, index: place, text: piece as string }];
    return block.fields.type === "tool_use" && text.to === "input"
      ? [callDelta(block, place, piece as string)]
      : [];
  }

  /** The block that a piece of a field belongs to; one of text or reasoning can begin without its event. */
  #blockFor(index: unknown, field: string): PlacedBlock<OpenBlock> | undefined {
    const found = this.#blocks.for(index, ({ fields }) => hasField(fields, field));
    if (found !== undefined || (field !== "text" && field !== "thinking")) return found;
    return this.#blocks.begin(index, opened({ type: field, [field]: "" }, true));
  }

  #update({ type: _, delta, usage, ...event }: Fields): void {
    const said = Object.entries({ ...event, ...(isRecord(delta) ? delta : {}) });
    const news = said.filter(([, value]) => value !== null && value !== undefined);
    this.#message = { ...this.#message, ...Object.fromEntries(news) };
    this.#addUsage(usage);
  }

  /** Counts are cumulative; null means that a count did not change. */
  #addUsage(usage: unknown): void {
    if (!isRecord(usage)) return;
    const before = isRecord(this.#message.usage) ? this.#message.usage : {};
    const news = Object.entries(usage).filter(([, value]) => value !== null && value !== undefined);
    this.#message.usage = { ...before, ...Object.fromEntries(news) };
  }
}

function opened(block: Fields, isOpen: boolean): OpenBlock {
  return { fields: { ...block }, pieces: new Map(), isOpen };
}

/** Whether a block has a field that arrives in pieces. A block of an unknown type has any but those of calls. */
function hasField({ type, input }: Fields, field: string): boolean {
  const isCall = input !== undefined || (typeof type === "string" && type.endsWith("tool_use"));
  if (field === "input") return isCall;
  if (type === "text" || type === "thinking")
    return field === type || (field === "signature" && type !== "text");
  return !isCall;
}

function callDelta({ fields: { id, name } }: OpenBlock, index: number, piece: string): ReplyDelta {
  return { type: "toolCall", index, id: String(id), name: String(name), arguments: piece };
}

/** The block with its pieces joined. */
function wholeFields({ fields, pieces }: OpenBlock): Fields {
  const whole = { ...fields };
  for (const [field, texts] of pieces) {
    const text = texts.join("");
    const before = whole[field];
    if (field !== "input") whole[field] = (typeof before === "string" ? before : "") + text;
    else if (text !== "") whole.input = parsedInput(text);
  }
  return whole;
}

/** Block types of which an incomplete part is useful; not of a call or a search result. */
function isTextual({ type }: Fields): boolean {
  return type === "text" || type === "thinking";
}

/** Whether the input of a call is no JSON. */
function isHalfCall({ type, input }: Fields): boolean {
  return type === "tool_use" && typeof input === "string";
}

/** A block that has only begun. */
function isEmptyText({ type, text, thinking, signature }: Fields): boolean {
  if (type === "text") return text === "";
  return type === "thinking" && thinking === "" && (signature === undefined || signature === "");
}

/** The input of a call; text that is no JSON is kept as it came, so that a tool's own check refuses it. */
function parsedInput(text: string): unknown {
  const value = parseJson(text);
  return value === undefined ? text : value;
}
