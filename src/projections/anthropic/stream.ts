/**
 * Accumulates the events of the Messages API into the message that {@link readAnthropicReply} returns for a
 * whole reply.
 */
import type { AssistantMessage } from "../../content/index.js";
import { isRecord } from "../../internal/shape.js";
import { passing } from "../reply-shape.js";
import {
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
 * message, as after a retry of a proxy. Events after the end are ignored.
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
const textDeltas: Readonly<Record<string, { readonly from: string; readonly to: string }>> = {
  text_delta: { from: "text", to: "text" },
  thinking_delta: { from: "thinking", to: "thinking" },
  signature_delta: { from: "signature", to: "signature" },
  input_json_delta: { from: "partial_json", to: "input" },
};

class AnthropicAccumulator implements ReplyAccumulator<AnthropicStreamEvent> {
  readonly #options: ReadAnthropicReplyOptions;
  #message: Fields = {};
  #blocks: OpenBlock[] = [];
  #isComplete = false;

  constructor(options: ReadAnthropicReplyOptions) {
    this.#options = options;
  }

  get isComplete(): boolean {
    return this.#isComplete;
  }

  push(event: AnthropicStreamEvent): readonly ReplyDelta[] {
    if (!isRecord(event) || this.#isComplete) return [];
    switch (event.type) {
      case "message_start":
        this.#start(event.message);
        return [];
      case "content_block_start":
        return this.#startBlock(event.index, event.content_block);
      case "content_block_delta":
        return this.#delta(event.index, event.delta);
      case "content_block_stop":
        this.#stopBlock(this.#blockAt(event.index));
        return [];
      case "message_delta":
        this.#update(event.delta, event.usage);
        return [];
      case "message_stop":
        this.#isComplete = true;
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
    const blocks = this.#blocks.filter((block) => isOver || !block.isOpen || isTextual(block.fields));
    for (const block of blocks) {
      // Without its signature the reader takes reasoning for a block that it does not know.
      if (!isOver && block.fields.type === "thinking") block.fields.signature ??= "";
      this.#stopBlock(block);
    }
    const isCut = lengthReasons.has(this.#message.stop_reason);
    const content = blocks
      .map(({ fields }) => fields)
      .filter((fields) => !isEmptyText(fields) && !(isCut && isHalfCall(fields)));
    const reply = {
      model: "unknown",
      usage: {},
      ...passing(this.#message, messageFields),
      content,
    } as unknown as AnthropicReply;
    if (isOver) return readAnthropicReply(reply, this.#options);
    // The reader leaves out the calls at the end of an unfinished message; here it is known which are whole.
    const whole = readAnthropicReply({ ...reply, stop_reason: "end_turn" }, this.#options);
    return { ...whole, stopReason: end.type, errorMessage: end.reason };
  }

  #start(message: unknown): void {
    if (!isRecord(message)) return;
    const { content, ...fields } = message;
    this.#message = fields;
    // After a tool that calls tools, `message_start` already has content.
    const blocks: readonly unknown[] = Array.isArray(content) ? content : [];
    this.#blocks = blocks.filter(isRecord).map((block) => ({
      fields: { ...block },
      pieces: new Map(),
      isOpen: false,
    }));
  }

  #startBlock(index: unknown, block: unknown): readonly ReplyDelta[] {
    if (typeof index !== "number" || !Number.isSafeInteger(index) || index < 0 || !isRecord(block)) return [];
    const at = Math.min(index, this.#blocks.length);
    this.#blocks[at] = { fields: { ...block }, pieces: new Map(), isOpen: true };
    const { type, text, thinking } = block;
    if (type === "text" && typeof text === "string" && text !== "")
      return [{ type: "text", index: at, text }];
    if (type === "thinking" && typeof thinking === "string" && thinking !== "")
      return [{ type: "thinking", index: at, text: thinking }];
    return type === "tool_use" ? [this.#callDelta(at, "")] : [];
  }

  #delta(index: unknown, delta: unknown): readonly ReplyDelta[] {
    const block = this.#blockAt(index);
    if (block?.isOpen !== true || !isRecord(delta)) return [];
    const { type } = delta;
    if (type === "citations_delta") {
      const { citations } = block.fields;
      block.fields.citations = [...(Array.isArray(citations) ? citations : []), delta.citation];
      return [];
    }
    if (type === "compaction_delta") {
      for (const [field, value] of Object.entries(delta)) if (field !== "type") block.fields[field] = value;
      return [];
    }
    const field = typeof type === "string" ? textDeltas[type] : undefined;
    const piece = field === undefined ? undefined : delta[field.from];
    if (field === undefined || typeof piece !== "string") return [];
    const pieces = block.pieces.get(field.to);
    if (pieces === undefined) block.pieces.set(field.to, [piece]);
    else pieces.push(piece);
    const at = index as number;
    if (field.to === "text" || field.to === "thinking") return [{ type: field.to, index: at, text: piece }];
    return block.fields.type === "tool_use" && field.to === "input" ? [this.#callDelta(at, piece)] : [];
  }

  #callDelta(index: number, piece: string): ReplyDelta {
    const { id, name } = (this.#blocks[index] as OpenBlock).fields;
    return { type: "toolCall", index, id: String(id), name: String(name), arguments: piece };
  }

  #blockAt(index: unknown): OpenBlock | undefined {
    return typeof index === "number" ? this.#blocks[index] : undefined;
  }

  #stopBlock(block: OpenBlock | undefined): void {
    if (block === undefined) return;
    block.isOpen = false;
    for (const [field, pieces] of block.pieces) {
      const text = pieces.join("");
      const before = block.fields[field];
      if (field !== "input") block.fields[field] = (typeof before === "string" ? before : "") + text;
      else if (text !== "") block.fields.input = parsedInput(text);
    }
    block.pieces.clear();
  }

  #update(delta: unknown, usage: unknown): void {
    if (isRecord(delta)) Object.assign(this.#message, delta);
    if (!isRecord(usage)) return;
    const before = isRecord(this.#message.usage) ? this.#message.usage : {};
    // Counts are cumulative; null means that a count did not change.
    const news = Object.entries(usage).filter(([, value]) => value !== null && value !== undefined);
    this.#message.usage = { ...before, ...Object.fromEntries(news) };
  }
}

/** Block types of which an incomplete part is useful; not of a call or a search result. */
function isTextual({ type }: Fields): boolean {
  return type === "text" || type === "thinking";
}

/** Reasons to stop that can leave the arguments of the last call half written. */
const lengthReasons: ReadonlySet<unknown> = new Set(["max_tokens", "model_context_window_exceeded"]);

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
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
