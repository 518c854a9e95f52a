/**
 * Accumulates the chunks of Chat Completions into the message that {@link readOpenaiChatReply} returns for a
 * whole completion.
 */
import type { AssistantMessage } from "../../content/index.js";
import { parseJson } from "../../core/json.js";
import { isRecord, string } from "../../core/shape.js";
import { passing } from "../reply-shape.js";
import {
  type ReplyAccumulator,
  type ReplyDelta,
  ReplyEnd,
  type ReplySource,
  type ReplyStream,
  type ReplyStreamOptions,
  replyFailed,
  replyStream,
  type StreamEnd,
} from "../reply-stream.js";
import { openaiChatDialectReasoningMembers, readDialect } from "./chat-dialects.js";
import { type OpenaiChatReply, type OpenaiChatReplyOptions, readOpenaiChatReply } from "./chat-reply.js";

/** A chunk of the stream. Members that this library does not know are allowed. */
export interface OpenaiChatChunk {
  readonly choices?: readonly object[] | null;
}

/**
 * Reads a streamed completion: deltas as they arrive, then the message that {@link readOpenaiChatReply}
 * returns for the same reply. Accepts the official client's stream, a `Response`, or its body, of OpenAI or
 * any compatible server. Request `stream_options: { include_usage: true }`, or the message has no usage.
 *
 * @see https://platform.openai.com/docs/api-reference/chat-streaming (types of openai 7.59)
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
  /** Its place among the blocks of the reply, for deltas. */
  readonly block: number;
  readonly fields: Fields;
  readonly pieces: string[];
}

/** A piece of the content while it arrives; `texts` if it has a text. */
interface OpenPiece {
  readonly fields: Fields;
  readonly texts?: string[];
}

class ChatAccumulator implements ReplyAccumulator<OpenaiChatChunk> {
  readonly #options: OpenaiChatReplyOptions;
  readonly #reasoningMembers: readonly string[];
  /** Members of a message that are text of their own; other strings of a delta replace the one before. */
  readonly #textMembers: ReadonlySet<string>;
  readonly #reply: Fields = {};
  readonly #choice: Fields = {};
  readonly #message: Fields = {};
  readonly #texts = new Map<string, string[]>();
  readonly #content: OpenPiece[] = [];
  /** Whether a piece of the content came in a list. */
  #isList = false;
  readonly #calls: OpenCall[] = [];
  /** The call that an index stands for: the last one that a piece with this index was for. */
  readonly #callAt = new Map<number, OpenCall>();
  /** Some providers send their reasoning in two members at once. */
  #reasoningMember: string | undefined;
  readonly #end = new ReplyEnd();
  #blocks = 0;
  #block: { readonly kind: string; readonly index: number } | undefined;

  constructor(options: OpenaiChatReplyOptions) {
    this.#options = options;
    this.#reasoningMembers = openaiChatDialectReasoningMembers(readDialect(options.dialect));
    this.#textMembers = new Set(["refusal", ...this.#reasoningMembers]);
  }

  get isComplete(): boolean {
    return this.#end.reason !== undefined;
  }

  push(chunk: OpenaiChatChunk): readonly ReplyDelta[] {
    if (!isRecord(chunk)) return [];
    const { choices, error, x_groq: groq, ...fields } = chunk as Fields;
    if (error !== undefined && error !== null && !this.isComplete) throw chunkError(error);
    for (const [name, value] of readMembers(fields)) {
      const isNew = name === "usage" || !this.isComplete || !Object.hasOwn(this.#reply, name);
      if (isNew && value !== 0) this.#reply[name] = value;
    }
    if (isRecord(groq)) this.#groq(groq);
    const choice = Array.isArray(choices) ? choices.find(isFirstChoice) : undefined;
    if (!isRecord(choice)) return [];
    // Some servers send a reply that they have at once as a message.
    const { message, delta = message, finish_reason: reason, ...members } = choice as Fields;
    const said = isRecord(delta) ? delta : {};
    // Moonshot's, perhaps with the end or after it.
    if (isRecord(members.usage)) this.#choice.usage = members.usage;
    // Some servers send an empty reason with each chunk.
    if (!this.#end.takes(chunk, hasContent(said), readText(reason))) return [];
    for (const [name, value] of readMembers(members)) this.#choice[name] = value;
    return this.#delta(said);
  }

  message(end: StreamEnd): AssistantMessage {
    const isOver = end.type === "complete";
    const message: Fields = { ...this.#message, content: this.#wholeContent() };
    for (const [name, pieces] of this.#texts) message[name] = pieces.join("");
    if (isRecord(message.audio)) message.audio = joinedAudio(message.audio);
    // No chunk ends a call; it is complete when the next one starts.
    const calls = isOver ? this.#calls : this.#calls.slice(0, -1).filter(isWhole);
    if (calls.length > 0) message.tool_calls = calls.map(({ fields, pieces }) => readCall(fields, pieces));
    const choices = [{ ...this.#choice, message, finish_reason: isOver ? this.#end.reason : "stop" }];
    const reply = {
      model: "unknown",
      created: Number.NaN,
      ...passing(this.#reply, { model: string }),
      choices,
    } as unknown as OpenaiChatReply;
    const read = readOpenaiChatReply(reply, this.#options);
    if (isOver) return read;
    const { finish_reason: _, ...fields } = read.providerFields ?? {};
    return { ...read, providerFields: fields, stopReason: end.type, errorMessage: end.reason };
  }

  /** Groq's own member, which has the usage of a stream. */
  #groq({ usage, ...fields }: Fields): void {
    if (isRecord(usage)) this.#reply.usage = usage;
    if (Object.keys(fields).length > 0 && !this.isComplete) this.#reply.x_groq = fields;
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
      if (value === null || value === undefined || unsaid.has(name)) continue;
      if (name === "content") add(this.#contentPieces(value));
      else if (typeof value === "string" && this.#textMembers.has(name)) add(this.#text(name, value));
      else if (name === "tool_calls")
        add(Array.isArray(value) ? value.flatMap((one) => this.#call(one)) : []);
      else if (name === "function_call") add(this.#call({ function: value }));
      else if (name === "audio") add(this.#spoken(value));
      else if (this.#textMembers.has(name)) continue;
      else if (Array.isArray(value)) this.#message[name] = merged(this.#message[name], value);
      else if (typeof value === "string") this.#member(name, value);
      else this.#message[name] = value;
    }
    return deltas;
  }

  /** A text that this library does not know comes in pieces, as all texts of a delta do. */
  #member(name: string, piece: string): void {
    const pieces = this.#texts.get(name);
    if (pieces === undefined || constants.has(name)) this.#texts.set(name, [piece]);
    else pieces.push(piece);
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

  /** Content as a text or a list. Mistral sends its reasoning in lists, then the answer as text. */
  #contentPieces(content: unknown): readonly ReplyDelta[] {
    if (typeof content === "string")
      return content === "" ? [] : this.#contentPiece({ type: "text" }, [content]);
    if (!Array.isArray(content)) return [];
    this.#isList = true;
    return content.filter(isRecord).flatMap((piece) => this.#contentPiece(piece, pieceTexts(piece)));
  }

  /** Pieces of one type that follow each other are one. */
  #contentPiece(fields: Fields, texts: readonly string[] | undefined): readonly ReplyDelta[] {
    const last = this.#content.at(-1);
    const goesOn = texts !== undefined && last?.texts !== undefined && last.fields.type === fields.type;
    if (texts === undefined) this.#content.push({ fields });
    else if (!goesOn) this.#content.push({ fields: { ...fields }, texts: [...texts] });
    else {
      Object.assign(last.fields, fields);
      for (const text of texts) last.texts?.push(text);
    }
    const type = fields.type === "thinking" ? "thinking" : "text";
    return (texts ?? []).map((text) => this.#textDelta(type, `content ${String(fields.type)}`, text));
  }

  #wholeContent(): unknown {
    if (this.#isList) return this.#content.map(joinedPiece);
    return this.#content.length === 0 ? null : this.#content.flatMap(({ texts = [] }) => texts).join("");
  }

  #spoken(audio: unknown): readonly ReplyDelta[] {
    if (!isRecord(audio)) return [];
    const before = isRecord(this.#message.audio) ? this.#message.audio : {};
    this.#message.audio = before;
    for (const [name, value] of readMembers(audio)) {
      const pieces = before[name];
      if (typeof value !== "string" || !spokenPieces.has(name)) before[name] = value;
      else if (Array.isArray(pieces)) pieces.push(value);
      else before[name] = [value];
    }
    const { transcript } = audio;
    if (typeof transcript !== "string" || transcript === "") return [];
    return [this.#textDelta("text", "audio", transcript)];
  }

  #call(piece: unknown): readonly ReplyDelta[] {
    if (!isRecord(piece)) return [];
    const { function: fn, custom, index, ...rest } = piece as Fields;
    const said: Fields = isRecord(fn) ? fn : isRecord(custom) ? custom : {};
    const { arguments: text, input, name: nameOrPiece, ...others } = said;
    const added = typeof text === "string" ? text : typeof input === "string" ? input : "";
    const named = { id: readText(rest.id), name: readText(nameOrPiece), hasText: added.trim() !== "" };
    const call = this.#readCall(index, named) ?? this.#newCall();
    if (typeof index === "number") this.#callAt.set(index, call);
    for (const [name, value] of readMembers(rest)) call.fields[name] = value;
    const member = isRecord(custom) ? "custom" : "function";
    const inner = { ...(call.fields[member] as Fields | undefined) };
    for (const [name, value] of readMembers(others)) inner[name] = value;
    const name = joinedName(readText(inner.name), named.name, call.pieces.length > 0);
    if (name !== undefined) inner.name = name;
    call.fields[member] = inner;
    if (added !== "") call.pieces.push(added);
    else if (isRecord(text)) inner.arguments = text;
    this.#block = undefined;
    const id = readText(call.fields.id) ?? "";
    return [{ type: "toolCall", index: call.block, id, name: name ?? "", arguments: added }];
  }

  /**
   * The call that a piece continues; undefined for the first piece of a call. Servers skip an index, give it
   * to two calls or the arguments another one, and send no index or no id: what names a call decides, and
   * what names none belongs to the last one.
   */
  #readCall(index: unknown, { id, name, hasText }: NamedPiece): OpenCall | undefined {
    const last = this.#calls.at(-1);
    const numbered = typeof index === "number" ? this.#callAt.get(index) : undefined;
    if (id === undefined && name === undefined) return numbered ?? last;
    const named =
      id === undefined || (numbered !== undefined && (numbered.fields.id ?? id) === id)
        ? numbered
        : this.#calls.findLast((call) => call.fields.id === id);
    const before = id === undefined && typeof index !== "number" ? last : named;
    if (before === undefined || (name !== undefined && hasText && isEnded(before))) return undefined;
    // A piece of a name has an id or an index.
    return id !== undefined || typeof index === "number" || callName(before) === name ? before : undefined;
  }

  #newCall(): OpenCall {
    const call: OpenCall = { block: this.#blocks++, fields: {}, pieces: [] };
    this.#calls.push(call);
    return call;
  }
}

/** Members of a delta that say nothing; an append leaves `__proto__` out of all values. */
const unsaid: ReadonlySet<string> = new Set(["role", "index", "__proto__"]);

/** Whether a delta has a piece of the reply. */
function hasContent(delta: Fields): boolean {
  return readMembers(delta).some(([name, value]) => {
    return !unsaid.has(name) && !(Array.isArray(value) && value.length === 0);
  });
}

/** The members that say something. An assignment to `__proto__` would set the prototype. */
function readMembers(fields: Fields): readonly (readonly [string, unknown])[] {
  return Object.entries(fields).filter(([name, value]) => isGiven(value) && name !== "__proto__");
}

/** How a piece names its call. */
interface NamedPiece {
  readonly id: string | undefined;
  readonly name: string | undefined;
  /** Whether it has a piece of the arguments. */
  readonly hasText: boolean;
}

/** Members of a delta that are names, and may be repeated. */
const constants: ReadonlySet<string> = new Set(["id", "name", "type", "status", "object", "model"]);

/** Members of audio that arrive in pieces. */
const spokenPieces: ReadonlySet<string> = new Set(["transcript", "data"]);

function joinedAudio(audio: Fields): Fields {
  return Object.fromEntries(
    Object.entries(audio).map(([name, value]) => [name, Array.isArray(value) ? value.join("") : value]),
  );
}

function isGiven(value: unknown): boolean {
  return value !== null && value !== undefined && value !== "";
}

function readText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** A name so far, and the next piece of it. Some servers repeat the name, or what they sent of it. */
function joinedName(
  before: string | undefined,
  piece: string | undefined,
  hasArguments: boolean,
): string | undefined {
  if (before === undefined || piece === undefined) return piece ?? before;
  if (hasArguments) return before;
  return piece.startsWith(before) ? piece : before + piece;
}

function callName({ fields }: OpenCall): unknown {
  const { function: fn, custom } = fields;
  return isRecord(fn) ? fn.name : isRecord(custom) ? custom.name : undefined;
}

function isFirstChoice(choice: unknown): boolean {
  return isRecord(choice) && (choice.index ?? 0) === 0;
}

function chunkError(error: unknown): Error {
  const message = isRecord(error) ? error.message : error;
  return replyFailed(typeof message === "string" ? message : "", error);
}

/** Whether the arguments are whole, or those of a call that takes any text. */
function isWhole(call: OpenCall): boolean {
  return isRecord(call.fields.custom) || isEnded(call);
}

/** Whether the arguments are a whole object, so that a name behind them is the next call's. */
function isEnded({ fields, pieces }: OpenCall): boolean {
  const { function: fn } = fields;
  if (isRecord(fn) && isRecord(fn.arguments)) return true;
  return pieces.at(-1)?.trimEnd().endsWith("}") === true && isRecord(parseJson(pieces.join("")));
}

function readCall(fields: Fields, pieces: readonly string[]): Fields {
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

function joinedPiece({ fields, texts }: OpenPiece): Fields {
  if (texts === undefined) return fields;
  const text = texts.join("");
  return fields.type === "text" ? { ...fields, text } : { ...fields, thinking: [{ type: "text", text }] };
}

/** How many items of a list are open at once; so few that a list of many costs linear time. */
const maxOpen = 32;

/**
 * Lists such as OpenRouter's `reasoning_details`: items with one index are pieces of one item. LiteLLM's
 * `thinking_blocks` have no index: there a signature ends a block.
 */
function merged(before: unknown, pieces: readonly unknown[]): readonly unknown[] {
  const items = Array.isArray(before) ? (before as unknown[]) : [];
  for (const piece of pieces) {
    const open = isRecord(piece) ? items.slice(-maxOpen).findLast((item) => goesOn(item, piece)) : undefined;
    if (open === undefined) items.push(isRecord(piece) ? { ...piece } : piece);
    else for (const [name, value] of readMembers(piece as Fields)) addTo(open as Fields, name, value);
  }
  return items;
}

function goesOn(item: unknown, piece: Fields): boolean {
  if (!isRecord(item) || item.type !== piece.type || item.index !== piece.index) return false;
  return piece.index !== undefined || (piece.type === "thinking" && !isGiven(item.signature));
}

const streamedFields: ReadonlySet<string> = new Set(["text", "summary", "data", "thinking"]);

function addTo(item: Fields, name: string, value: unknown): void {
  const before = item[name];
  const isText = streamedFields.has(name) && typeof value === "string" && typeof before === "string";
  item[name] = isText ? before + value : value;
}
