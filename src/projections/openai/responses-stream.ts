/**
 * Accumulates the events of Responses into the message that {@link readOpenaiResponsesReply} returns for a
 * whole response.
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
import type { OpenaiReplyOptions } from "./options.js";
import { type OpenaiResponsesReply, readOpenaiResponsesReply, responseFields } from "./responses-reply.js";

/** An event of the stream. Events and members that this library does not know are allowed. */
export interface OpenaiResponsesEvent {
  readonly type: string;
}

/**
 * Reads a streamed response: deltas as they arrive, then the message that {@link readOpenaiResponsesReply}
 * returns for the same response. Accepts the official client's stream, a `Response`, or its body. Events
 * after the end are ignored.
 *
 * @see https://platform.openai.com/docs/api-reference/responses-streaming (types of openai 6.49)
 * @example
 * ```ts
 * const { value } = await project(await session.context(), openaiResponses({ model }));
 * const events = await client.responses.create({ model, store: false, stream: true, ...value });
 * const stream = openaiResponsesStream(events, { model });
 * for await (const delta of stream) if (delta.type === "text") process.stdout.write(delta.text);
 * await session.appendMessage(await stream.message());
 * ```
 */
export function openaiResponsesStream(
  source: ReplySource<OpenaiResponsesEvent>,
  options: OpenaiReplyOptions & ReplyStreamOptions = {},
): ReplyStream {
  return replyStream(source, new ResponsesAccumulator(options), options);
}

type Fields = Record<string, unknown>;

/** An item while it arrives. */
interface OpenItem {
  fields: Fields;
  isOpen: boolean;
  /** Text of the message's parts, or of the parts of a summary, by their number. */
  readonly parts: string[][];
}

const endings: ReadonlySet<unknown> = new Set(["response.completed", "response.incomplete"]);

class ResponsesAccumulator implements ReplyAccumulator<OpenaiResponsesEvent> {
  readonly #options: OpenaiReplyOptions;
  #response: Fields = {};
  #items = new Map<number, OpenItem>();
  #isComplete = false;

  constructor(options: OpenaiReplyOptions) {
    this.#options = options;
  }

  get isComplete(): boolean {
    return this.#isComplete;
  }

  push(event: OpenaiResponsesEvent): readonly ReplyDelta[] {
    if (!isRecord(event) || this.#isComplete) return [];
    const { type, response, output_index: index, item, delta } = event as Fields;
    if (type === "error") throw failure(isRecord(event.error) ? event.error : event);
    if (type === "response.failed") throw failure(isRecord(response) ? response.error : undefined);
    if (isRecord(response)) this.#update(response, endings.has(type));
    if (typeof index !== "number") return [];
    switch (type) {
      case "response.output_item.added":
        return this.#begin(index, item);
      case "response.output_item.done":
        if (isRecord(item)) this.#items.set(index, { fields: item, isOpen: false, parts: [] });
        return [];
      case "response.output_text.delta":
      case "response.refusal.delta":
        return this.#text("text", index, (event as Fields).content_index, delta);
      case "response.reasoning_summary_text.delta":
        return this.#text("thinking", index, (event as Fields).summary_index, delta);
      case "response.reasoning_text.delta":
        return this.#text("thinking", index, (event as Fields).content_index, delta);
      case "response.function_call_arguments.delta":
      case "response.custom_tool_call_input.delta":
        return typeof delta === "string" ? this.#callDelta(index, delta) : [];
      default:
        return [];
    }
  }

  message(end: StreamEnd): AssistantMessage {
    const isOver = end.type === "complete";
    const items = [...this.#items].sort(([a], [b]) => a - b).map(([, item]) => item);
    const { output } = this.#response;
    // Some servers leave the output of the last event empty.
    const isWhole = isOver && Array.isArray(output) && output.length > 0 && output.every(isRecord);
    const reply = {
      model: "unknown",
      created_at: Number.NaN,
      error: null,
      incomplete_details: null,
      ...passing(this.#response, responseFields),
      ...(isWhole ? {} : { output: items.flatMap(itemSoFar) }),
      ...(isOver ? {} : { status: "completed" }),
    } as unknown as OpenaiResponsesReply;
    const read = readOpenaiResponsesReply(reply, this.#options);
    return isOver ? read : { ...read, stopReason: end.type, errorMessage: end.reason };
  }

  #update(response: Fields, isLast: boolean): void {
    this.#response = { ...this.#response, ...response };
    if (!isLast) return;
    this.#isComplete = true;
    // The last event has the whole output: one copy is enough.
    if (Array.isArray(response.output) && response.output.length > 0) this.#items = new Map();
  }

  #begin(index: number, item: unknown): readonly ReplyDelta[] {
    if (!isRecord(item)) return [];
    this.#items.set(index, { fields: item, isOpen: true, parts: [] });
    return item.type === "function_call" || item.type === "custom_tool_call"
      ? this.#callDelta(index, "")
      : [];
  }

  #text(type: "text" | "thinking", index: number, part: unknown, delta: unknown): readonly ReplyDelta[] {
    if (typeof delta !== "string" || delta === "") return [];
    const kind = type === "text" ? "message" : "reasoning";
    let item = this.#items.get(index);
    if (item === undefined) {
      item = { fields: { type: kind }, isOpen: true, parts: [] };
      this.#items.set(index, item);
    }
    if (!item.isOpen || item.fields.type !== kind) return [];
    const at = typeof part === "number" && part >= 0 ? Math.min(part, item.parts.length) : 0;
    const pieces = item.parts[at];
    const isNext = pieces === undefined && at > 0;
    if (pieces === undefined) item.parts[at] = [delta];
    else pieces.push(delta);
    // The reader parts summaries by an empty line.
    return [{ type, index, text: isNext && type === "thinking" ? `\n\n${delta}` : delta }];
  }

  #callDelta(index: number, piece: string): readonly ReplyDelta[] {
    const item = this.#items.get(index);
    if (item === undefined) return [];
    const { call_id, id, name, type } = item.fields;
    const own = type === "function_call" && typeof id === "string" && id !== "" ? `|${id}` : "";
    return [{ type: "toolCall", index, id: `${call_id}${own}`, name: String(name), arguments: piece }];
  }
}

function failure(error: unknown): Error {
  const { code, message } = isRecord(error) ? error : { code: undefined, message: undefined };
  const text = typeof message === "string" ? message : "the response failed";
  return replyFailed(typeof code === "string" ? `${code}: ${text}` : text, error);
}

/** An item as far as it came: the text of one that is open, nothing of a call that is. */
function itemSoFar({ fields, isOpen, parts }: OpenItem): readonly Fields[] {
  if (!isOpen) return [fields];
  if (parts.length === 0) return [];
  const texts = Array.from(parts, (pieces) => (pieces ?? []).join(""));
  if (fields.type === "message") {
    const content = texts.map((text) => ({ type: "output_text", text, annotations: [] }));
    return [{ ...fields, role: "assistant", status: "incomplete", content }];
  }
  const summary = texts.map((text) => ({ type: "summary_text", text }));
  return [{ ...fields, status: "incomplete", summary }];
}
