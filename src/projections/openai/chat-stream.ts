/**
 * Accumulates the chunks of Chat Completions into the message that {@link readOpenaiChatReply} returns for a
 * whole completion.
 */
import type { AssistantMessage } from "../../content/index.js";
import { isRecord, string } from "../../internal/shape.js";
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
import { dialectOf, reasoningMembersOf } from "./chat-dialects.js";
import { type OpenaiChatReply, type OpenaiChatReplyOptions, readOpenaiChatReply } from "./chat-reply.js";
import { parseJson } from "./round-trip-metadata.js";

/** A chunk of the stream. Members that this library does not know are allowed. */
export interface OpenaiChatChunk {
  readonly choices?: readonly object[] | null;
}

/**
 * Reads a streamed completion: deltas as they arrive, then the message that {@link readOpenaiChatReply}
 * returns for the same reply. Accepts the official client's stream, a `Response`, or its body, of OpenAI or
 * any compatible server. Request `stream_options: { include_usage: true }`, or the message has no usage.
 *
 * @see https://platform.openai.com/docs/api-reference/chat-streaming (types of openai 6.49)
 * @example
 * ```ts
 * const { value } = await project(await session.context(), openaiChat({ model }));
 * const chunks = await client.chat.completions.create({ model, stream: true, ...value });
 * const stream = openaiChatStream(chunks, { model });
 * for await (const delta of stream) if (delta.type === "text") process.stdout.write(delta.text);
 * await session.appendMessage(await stream.message());
 * ```
 */
export function openaiChatStream(
  source: ReplySource<OpenaiChatChunk>,
  options: OpenaiChatReplyOptions & ReplyStreamOptions = {},
): ReplyStream {
  return replyStream(source, new ChatAccumulator(options), options);
}

type Fields = Record<string, unknown>;

/** A call while it arrives. */
interface OpenCall {
  readonly index: number | undefined;
  /** Its place among the blocks of the reply, for deltas. */
  readonly block: number;
  readonly fields: Fields;
  readonly pieces: string[];
}

class ChatAccumulator implements ReplyAccumulator<OpenaiChatChunk> {
  readonly #options: OpenaiChatReplyOptions;
  readonly #reasoningMembers: readonly string[];
  /** Members of a message that are text of their own; other strings of a delta replace the one before. */
  readonly #textMembers: ReadonlySet<string>;
  readonly #reply: Fields = {};
  readonly #message: Fields = {};
  readonly #texts = new Map<string, string[]>();
  readonly #content: Fields[] = [];
  readonly #transcript: string[] = [];
  readonly #calls: OpenCall[] = [];
  /** Some providers send their reasoning in two members at once. */
  #reasoningMember: string | undefined;
  #reason: string | undefined;
  #blocks = 0;
  #block: { readonly kind: string; readonly index: number } | undefined;

  constructor(options: OpenaiChatReplyOptions) {
    this.#options = options;
    this.#reasoningMembers = reasoningMembersOf(dialectOf(options.dialect));
    this.#textMembers = new Set(["content", "refusal", ...this.#reasoningMembers]);
  }

  get isComplete(): boolean {
    return this.#reason !== undefined;
  }

  push(chunk: OpenaiChatChunk): readonly ReplyDelta[] {
    if (!isRecord(chunk)) return [];
    const { choices, error, x_groq: groq, ...fields } = chunk as Fields;
    if (error !== undefined && error !== null) throw chunkError(error);
    for (const [name, value] of Object.entries(fields)) {
      if (value !== null && value !== undefined && value !== "" && value !== 0) this.#reply[name] = value;
    }
    // Groq's place for it in a stream.
    if (isRecord(groq) && isRecord(groq.usage)) this.#reply.usage = groq.usage;
    const choice = Array.isArray(choices) ? choices.find(isFirstChoice) : undefined;
    if (!isRecord(choice)) return [];
    const deltas = isRecord(choice.delta) ? this.#delta(choice.delta) : [];
    if (typeof choice.finish_reason === "string") this.#reason = choice.finish_reason;
    return deltas;
  }

  message(end: StreamEnd): AssistantMessage {
    const isOver = end.type === "complete";
    const message = { content: null, ...this.#message };
    for (const [name, pieces] of this.#texts) message[name as "content"] = pieces.join("") as never;
    if (this.#content.length > 0) message.content = this.#content.map(joinedPiece) as never;
    if (this.#transcript.length > 0)
      Object.assign(message, { audio: { transcript: this.#transcript.join("") } });
    // No chunk ends a call; it is complete when the next one starts.
    const calls = isOver ? this.#calls : this.#calls.slice(0, -1).filter(isWhole);
    if (calls.length > 0)
      Object.assign(message, { tool_calls: calls.map(({ fields, pieces }) => callOf(fields, pieces)) });
    const choices = [{ index: 0, message, finish_reason: isOver ? this.#reason : "stop" }];
    const reply = {
      model: "unknown",
      created: Number.NaN,
      ...passing(this.#reply, { model: string }),
      choices,
    } as unknown as OpenaiChatReply;
    const read = readOpenaiChatReply(reply, this.#options);
    return isOver ? read : { ...read, stopReason: end.type, errorMessage: end.reason };
  }

  #delta(delta: Fields): readonly ReplyDelta[] {
    const deltas: ReplyDelta[] = [];
    const add = (more: readonly ReplyDelta[]) => {
      for (const each of more) deltas.push(each);
    };
    const reasoning = this.#reasoningMembers.find(
      (name) => typeof delta[name] === "string" && delta[name] !== "",
    );
    this.#reasoningMember ??= reasoning;
    for (const [name, value] of Object.entries(delta)) {
      if (value === null || value === undefined || name === "role" || name === "index") continue;
      if (typeof value === "string" && this.#textMembers.has(name)) add(this.#text(name, value));
      else if (name === "content") add(this.#pieces(value));
      else if (name === "tool_calls") add(this.#callPieces(value));
      else if (name === "audio") add(this.#spoken(value));
      else if (this.#textMembers.has(name)) continue;
      else if (Array.isArray(value)) this.#message[name] = merged(this.#message[name], value);
      else this.#message[name] = value;
    }
    return deltas;
  }

  #text(name: string, piece: string): readonly ReplyDelta[] {
    if (piece === "") return [];
    const pieces = this.#texts.get(name);
    if (pieces === undefined) this.#texts.set(name, [piece]);
    else pieces.push(piece);
    if (!this.#reasoningMembers.includes(name)) return [this.#textDelta("text", name, piece)];
    return name === this.#reasoningMember ? [this.#textDelta("thinking", name, piece)] : [];
  }

  #textDelta(type: "text" | "thinking", kind: string, text: string): ReplyDelta {
    if (this.#block?.kind !== kind) this.#block = { kind, index: this.#blocks++ };
    return { type, index: this.#block.index, text };
  }

  /** Content in a list, as Mistral has it: pieces of one type that follow each other are one. */
  #pieces(list: unknown): readonly ReplyDelta[] {
    if (!Array.isArray(list)) return [];
    return list.filter(isRecord).flatMap((piece) => {
      const last = this.#content.at(-1);
      const texts = pieceTexts(piece);
      if (last === undefined || last.type !== piece.type || texts === undefined) {
        this.#content.push(texts === undefined ? piece : { ...piece, pieces: [...texts] });
      } else {
        for (const text of texts) (last.pieces as string[]).push(text);
      }
      const type = piece.type === "thinking" ? "thinking" : "text";
      return (texts ?? []).map((text) => this.#textDelta(type, `content ${String(piece.type)}`, text));
    });
  }

  #spoken(audio: unknown): readonly ReplyDelta[] {
    const transcript = isRecord(audio) ? audio.transcript : undefined;
    if (typeof transcript !== "string" || transcript === "") return [];
    this.#transcript.push(transcript);
    return [this.#textDelta("text", "audio", transcript)];
  }

  #callPieces(list: unknown): readonly ReplyDelta[] {
    return Array.isArray(list) ? list.flatMap((piece) => this.#call(piece)) : [];
  }

  #call(piece: unknown): readonly ReplyDelta[] {
    if (!isRecord(piece)) return [];
    const call = this.#callOf(piece) ?? this.#newCall(piece);
    const { function: fn, custom, index: _, ...rest } = piece as Fields;
    for (const [name, value] of Object.entries(rest)) {
      if (value !== null && value !== undefined && value !== "") call.fields[name] = value;
    }
    const said = isRecord(fn) ? fn : isRecord(custom) ? custom : {};
    const member = isRecord(custom) ? "custom" : "function";
    const inner = { ...(call.fields[member] as Fields | undefined) };
    const { arguments: text, input, ...others } = said as Fields;
    for (const [name, value] of Object.entries(others))
      if (value !== null && value !== "") inner[name] = value;
    call.fields[member] = inner;
    const added = typeof text === "string" ? text : typeof input === "string" ? input : "";
    if (added !== "") call.pieces.push(added);
    else if (isRecord(text)) inner.arguments = text;
    const { id, name } = { id: call.fields.id, name: inner.name };
    this.#block = undefined;
    return [
      {
        type: "toolCall",
        index: call.block,
        id: String(id ?? ""),
        name: String(name ?? ""),
        arguments: added,
      },
    ];
  }

  /**
   * The call that a piece continues. Some servers number all calls 0, or not at all: then a new id starts a
   * new call.
   */
  #callOf({ index, id }: Fields): OpenCall | undefined {
    const hasId = typeof id === "string" && id !== "";
    const found =
      typeof index === "number"
        ? this.#calls.findLast((call) => call.index === index)
        : hasId
          ? this.#calls.findLast((call) => call.fields.id === id)
          : this.#calls.at(-1);
    return found !== undefined && hasId && found.fields.id !== undefined && found.fields.id !== id
      ? undefined
      : found;
  }

  #newCall({ index }: Fields): OpenCall {
    const known = typeof index === "number" ? index : undefined;
    const call: OpenCall = { index: known, block: this.#blocks++, fields: {}, pieces: [] };
    this.#calls.push(call);
    return call;
  }
}

function isFirstChoice(choice: unknown): boolean {
  return isRecord(choice) && (choice.index === undefined || choice.index === 0);
}

function chunkError(error: unknown): Error {
  const message = isRecord(error) ? error.message : error;
  return replyFailed(typeof message === "string" ? message : "", error);
}

function isWhole({ fields, pieces }: OpenCall): boolean {
  return isRecord(fields.custom) || pieces.length === 0 || isRecord(parseJson(pieces.join("")));
}

function callOf(fields: Fields, pieces: readonly string[]): Fields {
  const member = isRecord(fields.custom) ? "custom" : "function";
  const inner = fields[member] as Fields;
  const text = pieces.join("");
  const said = member === "custom" ? { input: text } : "arguments" in inner ? {} : { arguments: text };
  return { type: member, ...fields, [member]: { ...inner, ...said } };
}

/** The texts of a piece of a list; undefined for a piece that is no text. */
function pieceTexts(piece: Fields): readonly string[] | undefined {
  if (piece.type === "text") return typeof piece.text === "string" ? [piece.text] : undefined;
  if (piece.type !== "thinking" || !Array.isArray(piece.thinking)) return undefined;
  const texts = piece.thinking.map((one) => (isRecord(one) && one.type === "text" ? one.text : undefined));
  return texts.every((text) => typeof text === "string") ? (texts as string[]) : undefined;
}

function joinedPiece({ pieces, ...piece }: Fields): Fields {
  if (pieces === undefined) return piece;
  const text = (pieces as string[]).join("");
  return piece.type === "text" ? { ...piece, text } : { ...piece, thinking: [{ type: "text", text }] };
}

/** Lists such as OpenRouter's `reasoning_details`: items with one index are pieces of one item. */
function merged(before: unknown, pieces: readonly unknown[]): readonly unknown[] {
  const items = Array.isArray(before) ? (before as unknown[]) : [];
  for (const piece of pieces) {
    const last = items.at(-1);
    const goesOn =
      isRecord(piece) &&
      isRecord(last) &&
      piece.index !== undefined &&
      piece.index === last.index &&
      piece.type === last.type;
    if (!goesOn) items.push(isRecord(piece) ? { ...piece } : piece);
    else for (const [name, value] of Object.entries(piece)) addTo(last as Fields, name, value);
  }
  return items;
}

const streamedFields: ReadonlySet<string> = new Set(["text", "summary", "data", "thinking"]);

function addTo(item: Fields, name: string, value: unknown): void {
  const before = item[name];
  const isText = streamedFields.has(name) && typeof value === "string" && typeof before === "string";
  if (isText) item[name] = before + value;
  else if (value !== null && value !== undefined) item[name] = value;
}
