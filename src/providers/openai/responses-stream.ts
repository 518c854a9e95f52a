/**
 * Accumulates the events of Responses into the message that {@link readOpenaiResponsesReply} returns for a
 * whole response.
 */
import type { AssistantMessage } from "../../content/index.js";
import { isRecord } from "../../core/shape.js";
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
 * @see https://platform.openai.com/docs/api-reference/responses-streaming (types of openai 7.59)
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
  /** The index that the provider gave it; undefined if it gave none. */
  readonly index: number | undefined;
  /** Its place among the items, for deltas. */
  readonly block: number;
  fields: Fields;
  isOpen: boolean;
  /** Parts of a message, of a summary, or of reasoning, by their type and number. */
  readonly parts: Map<string, OpenPart>;
  /** Pieces of a call's arguments or input. */
  pieces: string[];
}

interface OpenPart {
  readonly type: string;
  readonly number: number;
  readonly pieces: string[];
}

/** Events with a piece of a text: the kind of delta, the type of the part, and the member with its number. */
const textEvents: Readonly<Record<string, readonly ["text" | "thinking", string, string]>> = {
  "response.output_text": ["text", "output_text", "content_index"],
  "response.refusal": ["text", "refusal", "content_index"],
  "response.reasoning_summary_text": ["thinking", "summary_text", "summary_index"],
  "response.reasoning_text": ["thinking", "reasoning_text", "content_index"],
};

/** Events with a piece of a call: the type of the call, and the member of the event that has it whole. */
const callEvents: Readonly<Record<string, readonly [string, string]>> = {
  "response.function_call_arguments": ["function_call", "arguments"],
  "response.custom_tool_call_input": ["custom_tool_call", "input"],
};

const endings: ReadonlySet<unknown> = new Set(["response.completed", "response.incomplete"]);

class ResponsesAccumulator implements ReplyAccumulator<OpenaiResponsesEvent> {
  readonly #options: OpenaiReplyOptions;
  #response: Fields = {};
  #items: OpenItem[] = [];
  /** The item that an index stands for: the last one with that index. */
  readonly #itemAt = new Map<number, OpenItem>();
  readonly #readItem = new Map<string, OpenItem>();
  #isComplete = false;

  constructor(options: OpenaiReplyOptions) {
    this.#options = options;
  }

  get isComplete(): boolean {
    return this.#isComplete;
  }

  push(event: OpenaiResponsesEvent): readonly ReplyDelta[] {
    if (!isRecord(event) || this.#isComplete) return [];
    const { type, response, item } = event as Fields;
    if (type === "error") throw failure(isRecord(event.error) ? event.error : event);
    if (type === "response.failed") throw failure(isRecord(response) ? response.error : undefined);
    if (isRecord(response)) this.#update(response, endings.has(type));
    if (type === "response.output_item.added") return isRecord(item) ? this.#begin(event, item) : [];
    if (type === "response.output_item.done") return isRecord(item) ? this.#end(event, item) : [];
    return typeof type === "string" ? this.#piece(event, type) : [];
  }

  message(end: StreamEnd): AssistantMessage {
    const isOver = end.type === "complete";
    // By their index, as they arrived if several have one.
    const items = [...this.#items].sort((a, b) => (a.index ?? 0) - (b.index ?? 0));
    const { output, status } = this.#response;
    const isCut = status === "incomplete";
    // Some servers leave the output of the last event empty.
    const isWhole = isOver && Array.isArray(output) && output.length > 0 && output.every(isRecord);
    const reply = {
      model: "unknown",
      created_at: Number.NaN,
      error: null,
      incomplete_details: null,
      ...passing(this.#response, responseFields),
      ...(isWhole ? {} : { output: items.flatMap((one) => itemSoFar(one, isOver && !isCut)) }),
      ...(isOver ? {} : { status: "completed" }),
    } as unknown as OpenaiResponsesReply;
    const read = readOpenaiResponsesReply(reply, this.#options);
    if (isOver) return read;
    const { status: _, ...fields } = read.providerFields ?? {};
    return { ...read, providerFields: fields, stopReason: end.type, errorMessage: end.reason };
  }

  #update(response: Fields, isLast: boolean): void {
    this.#response = { ...this.#response, ...response };
    if (!isLast) return;
    this.#isComplete = true;
    // The last event has the whole output: one copy is enough.
    if (Array.isArray(response.output) && response.output.length > 0) this.#items = [];
  }

  #begin(event: Fields, item: Fields): readonly ReplyDelta[] {
    const begun = this.#add(event, item);
    return isOwnCall(item) ? [callDelta(begun, "")] : [];
  }

  #end(event: Fields, item: Fields): readonly ReplyDelta[] {
    const before = this.#find(event, item.type);
    // The same index again, or an id that changes while the item arrives.
    const ended =
      before?.isOpen === true ? before : (this.#readItem.get(readId(item)) ?? this.#add(event, item));
    ended.fields = item;
    ended.isOpen = false;
    return [];
  }

  #add(event: Fields, item: Fields): OpenItem {
    const { output_index: index } = event;
    const known = typeof index === "number" ? index : undefined;
    const block = this.#items.length;
    const added: OpenItem = { index: known, block, fields: item, isOpen: true, parts: new Map(), pieces: [] };
    this.#items.push(added);
    if (known !== undefined) this.#itemAt.set(known, added);
    const id = readId(item);
    if (id !== "") this.#readItem.set(id, added);
    return added;
  }

  /**
   * The item that an event is for: by its index, else by its id, else the last open one of its type. Servers
   * skip an index, use one twice, change the id in mid-item, or send neither.
   */
  #find({ output_index: index, item_id: id }: Fields, type: unknown): OpenItem | undefined {
    const numbered = typeof index === "number" ? this.#itemAt.get(index) : undefined;
    if (numbered?.fields.type === type) return numbered;
    const named = typeof id === "string" ? this.#readItem.get(id) : undefined;
    if (named?.fields.type === type) return named;
    return this.#items.findLast((item) => item.isOpen && item.fields.type === type);
  }

  #piece(event: Fields, name: string): readonly ReplyDelta[] {
    const isWhole = name.endsWith(".done");
    if (!name.startsWith("response.") || (!isWhole && !name.endsWith(".delta"))) return [];
    const kind = name.slice(0, name.lastIndexOf("."));
    const text = textEvents[kind];
    if (text !== undefined) return this.#text(event, text, isWhole);
    const [type, whole] = callEvents[kind] ?? [];
    const call = type === undefined ? undefined : this.#find(event, type);
    const piece = isWhole ? event[whole ?? ""] : event.delta;
    if (call?.isOpen !== true || typeof piece !== "string") return [];
    if (!isWhole) call.pieces.push(piece);
    else if (call.pieces.length > 0) return [];
    else call.pieces = [piece];
    return [callDelta(call, piece)];
  }

  #text(
    event: Fields,
    [type, partType, number]: readonly ["text" | "thinking", string, string],
    isWhole: boolean,
  ): readonly ReplyDelta[] {
    const delta = isWhole ? (event.text ?? event.refusal) : event.delta;
    if (typeof delta !== "string" || delta === "") return [];
    const kind = type === "text" ? "message" : "reasoning";
    const item = this.#find(event, kind) ?? this.#add(event, { type: kind });
    if (!item.isOpen) return [];
    const named = event[number];
    const part = typeof named === "number" && named >= 0 ? named : 0;
    const key = `${partType} ${part}`;
    const open = item.parts.get(key);
    // What came in pieces is not repeated.
    if (isWhole && open !== undefined) return [];
    if (open === undefined) item.parts.set(key, { type: partType, number: part, pieces: [delta] });
    else open.pieces.push(delta);
    const isNext = open === undefined && item.parts.size > 1;
    // The reader parts summaries by an empty line.
    const separated = isNext && type === "thinking" ? `\n\n${delta}` : delta;
    return [{ type, index: item.block, text: separated }];
  }
}

function isOwnCall({ type }: Fields): boolean {
  return type === "function_call" || type === "custom_tool_call";
}

function readId({ id }: Fields): string {
  return typeof id === "string" ? id : "";
}

function callDelta({ block, fields }: OpenItem, piece: string): ReplyDelta {
  const { call_id, name, type } = fields;
  const id = readId(fields);
  const own = type === "function_call" && id !== "" ? `|${id}` : "";
  return { type: "toolCall", index: block, id: `${call_id}${own}`, name: String(name), arguments: piece };
}

function failure(error: unknown): Error {
  const { code, message } = isRecord(error) ? error : { code: undefined, message: undefined };
  const text = typeof message === "string" ? message : "the response failed";
  return replyFailed(typeof code === "string" ? `${code}: ${text}` : text, error);
}

/** An item as far as it came: the text of one that is open, and a call that is only if the reply is whole. */
function itemSoFar({ fields, isOpen, parts, pieces }: OpenItem, isWhole: boolean): readonly Fields[] {
  if (!isOpen) return [fields];
  if (isWhole && isOwnCall(fields)) {
    const member = fields.type === "function_call" ? "arguments" : "input";
    const said = pieces.length === 0 ? {} : { [member]: pieces.join("") };
    return [{ ...fields, ...said, status: "completed" }];
  }
  if (parts.size === 0) return [];
  const texts = [...parts.values()]
    .sort((a, b) => a.number - b.number)
    .map(({ type, pieces: said }) => ({ type, text: said.join("") }));
  if (fields.type === "message") {
    const content = texts.map(({ type, text }) =>
      type === "refusal" ? { type, refusal: text } : { type, text, annotations: [] },
    );
    return [{ ...fields, role: "assistant", status: isWhole ? "completed" : "incomplete", content }];
  }
  const summary = texts.filter(({ type }) => type === "summary_text");
  const content = texts.filter(({ type }) => type !== "summary_text");
  return [{ ...fields, summary, ...(content.length > 0 && { content }), status: "incomplete" }];
}
