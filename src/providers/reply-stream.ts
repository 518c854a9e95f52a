/**
 * Streamed replies: events of a provider, as its official client or its HTTP body yields them, become deltas
 * for a user interface and one assistant message. Each target supplies a {@link ReplyAccumulator}; the rest
 * is the same for all.
 */

import type { AssistantMessage } from "../content/index.js";
import { concatBytes } from "../core/bytes.js";
import { abortable } from "../core/concurrency.js";
import { SessileError } from "../core/errors/index.js";
import { ServerSentEvents } from "../core/event-streams.js";
import { parseJson } from "../core/json.js";
import { isRecord } from "../core/shape.js";
import type { ReplyDelta } from "../session/index.js";

export type { ReplyDelta } from "../session/index.js";

/**
 * Where events come from: the official client's stream, the `Response` of a fetch, its body, or any iterable
 * of events, of bytes or of text of server-sent events.
 */
export type ReplySource<E> = AsyncIterable<E | Uint8Array | string> | ReadableStream<Uint8Array> | Response;

/** Options of every reply stream. */
export interface ReplyStreamOptions {
  /** Ends the stream; the message then has all parts so far, with `stopReason: "aborted"`. */
  readonly signal?: AbortSignal;
}

/**
 * A reply while it arrives. Iterate it once for deltas, or call {@link ReplyStream.message} alone.
 *
 * @example
 * ```ts
 * const { value } = await project(await session.context(), anthropicMessages({ model }));
 * const events = await client.messages.create({ model, max_tokens: 4096, stream: true, ...value });
 * const stream = anthropicStream(events, { model });
 * for await (const delta of stream) if (delta.type === "text") process.stdout.write(delta.text);
 * await session.appendMessage(await stream.message());
 * ```
 */
export interface ReplyStream extends AsyncIterable<ReplyDelta> {
  /**
   * The assistant message, once the stream ended; reads the stream if it is not iterated. Never rejects: a
   * stream that was aborted or cut gives all parts so far with `stopReason: "aborted"`, one that failed with
   * `"error"`. Tool calls whose arguments did not arrive whole are left out, so that none of them is ever
   * pending. After the provider's end of the reply, a failure or an abort changes nothing.
   */
  message(): Promise<AssistantMessage>;
  /** The error that ended the stream, for `explain` of a projection; undefined if none did. */
  readonly error: unknown;
}

/** How a stream ended: `complete` if the provider said that the reply is whole. */
export type StreamEnd =
  | { readonly type: "complete" }
  | { readonly type: "aborted"; readonly reason: string }
  | { readonly type: "error"; readonly reason: string };

/** Collects the events of one reply. One for each provider. */
export interface ReplyAccumulator<E> {
  /**
   * Applies an event. Unknown events are ignored; throws {@link replyFailed} for an error event. Once the
   * reply is complete an event can add usage, but never change the content or the stop reason.
   */
  push(event: E): readonly ReplyDelta[];
  /** Whether the provider said that the reply is whole. Stays true, except as {@link ReplyEnd} describes. */
  readonly isComplete: boolean;
  /** The message of all events so far. Called once. */
  message(end: StreamEnd): AssistantMessage;
}

/** Decodes the bytes of a body into events, chunk by chunk. */
export interface EventDecoder<E> {
  push(chunk: Uint8Array): Iterable<E>;
}

/**
 * A reply stream over an accumulator. Bytes are server-sent events unless the provider has a decoder of its
 * own.
 */
export function replyStream<E>(
  source: ReplySource<E>,
  accumulator: ReplyAccumulator<E>,
  { signal }: ReplyStreamOptions = {},
  binary?: EventDecoder<E>,
): ReplyStream {
  return new AccumulatedReply(source, accumulator, signal, binary);
}

class AccumulatedReply<E> implements ReplyStream {
  readonly #source: ReplySource<E>;
  readonly #accumulator: ReplyAccumulator<E>;
  readonly #signal: AbortSignal | undefined;
  readonly #binary: EventDecoder<E> | undefined;
  #message: AssistantMessage | undefined;
  #reading = false;
  #error: unknown;
  #ended: () => void = () => undefined;
  readonly #end = new Promise<void>((resolve) => {
    this.#ended = resolve;
  });

  constructor(
    source: ReplySource<E>,
    accumulator: ReplyAccumulator<E>,
    signal: AbortSignal | undefined,
    binary: EventDecoder<E> | undefined,
  ) {
    if (!isSource(source))
      throw new TypeError("source: expected an iterable of events, a stream or a Response");
    this.#source = source;
    this.#accumulator = accumulator;
    this.#signal = signal;
    this.#binary = binary;
  }

  get error(): unknown {
    return this.#error;
  }

  [Symbol.asyncIterator](): AsyncIterator<ReplyDelta> {
    if (this.#reading) throw new TypeError("a reply stream can be iterated once");
    this.#reading = true;
    const deltas = this.#deltas();
    let started = false;
    return {
      next: () => {
        started = true;
        return deltas.next();
      },
      return: async () => {
        // The body of a generator that never began, its `finally` included, does not run.
        if (!started) this.#finish(stopped);
        return deltas.return(undefined);
      },
    };
  }

  async message(): Promise<AssistantMessage> {
    if (!this.#reading) {
      const iterator = this[Symbol.asyncIterator]();
      while ((await iterator.next()).done !== true);
    }
    await this.#end;
    return this.#message as AssistantMessage;
  }

  async *#deltas(): AsyncGenerator<ReplyDelta, void, undefined> {
    let end = stopped;
    try {
      for await (const event of abortable(sourceEvents(this.#source, this.#binary), this.#signal)) {
        for (const delta of this.#accumulator.push(event)) yield delta;
      }
      end = { type: "aborted", reason: "the stream ended before the reply was complete" };
    } catch (thrown) {
      const error = errorFailure(thrown);
      if (!this.#accumulator.isComplete) this.#error = error;
      const type = this.#signal?.aborted === true || isAbort(error) ? "aborted" : "error";
      end = { type, reason: errorReason(error) };
    } finally {
      this.#finish(end);
    }
  }

  #finish(end: StreamEnd): void {
    this.#message = this.#accumulator.message(this.#accumulator.isComplete ? { type: "complete" } : end);
    this.#ended();
  }
}

const stopped: StreamEnd = {
  type: "aborted",
  reason: "the reader stopped before the reply was complete",
};

function isSource(source: unknown): boolean {
  if (typeof source !== "object" || source === null) return false;
  return Symbol.asyncIterator in source || "getReader" in source || "body" in source;
}

function isAbort(error: unknown): boolean {
  // Official clients name theirs APIUserAbortError and set no code.
  return isRecord(error) && /abort/i.test(String(error.name ?? "") + String(error.constructor?.name ?? ""));
}

/** A client's or this module's error of a damaged event, whose message is a parser's own, is replaced. */
function errorFailure(error: unknown): unknown {
  if (!isRecord(error) || error.name !== "SyntaxError") return error;
  return replyFailed("the stream has an event that is not valid JSON", undefined);
}

function errorReason(error: unknown): string {
  const message = isRecord(error) && typeof error.message === "string" ? error.message : String(error);
  return message === "" ? "the stream failed" : message;
}

/** The error for a refusal that a provider answered or streamed; `body` is its own error object. */
export function replyFailed(message: string, body: unknown, status?: number): SessileError<"REPLY_FAILED"> {
  return new SessileError("REPLY_FAILED", message === "" ? "the provider sent an error" : message, {
    // Where official clients have them, so that a refusal is explained in the same way.
    cause: { ...(status === undefined ? {} : { status }), error: body },
    details: status === undefined ? {} : { status },
  });
}

const maxErrorCharacters = 64 * 1024;

async function* sourceEvents<E>(
  source: ReplySource<E>,
  binary: EventDecoder<E> | undefined,
): AsyncGenerator<E, void, undefined> {
  if ("body" in source && "ok" in source) {
    if (!source.ok) throw await responseError(source);
    if (source.body !== null) yield* sourceEvents<E>(source.body, binary);
    return;
  }
  const decoder = new ServerSentEvents();
  const items = Symbol.asyncIterator in source ? source : streamChunks(source);
  for await (const item of items) {
    if (typeof item !== "string" && !(item instanceof Uint8Array)) {
      yield item;
      continue;
    }
    if (binary !== undefined && typeof item !== "string") {
      yield* binary.push(item);
      continue;
    }
    for (const data of decoder.push(item)) yield* eventsIn<E>(data);
  }
  // Some servers omit the blank line after the last event.
  const last = parseJson(decoder.end() ?? "");
  if (isRecord(last)) yield last as E;
}

/** Data without an event: what keeps a connection open, and OpenAI's end. */
const noEvent = /^[[\]": ]{0,9}(?:done|ping|keep-?alive|heartbeat)?[[\]": ]{0,9}$/i;

/**
 * The events of one event's data. A proxy that gives up can write an error behind a damaged line: then the
 * error is the event.
 */
function eventsIn<E>(data: string): readonly E[] {
  if (noEvent.test(data.trim())) return [];
  const event = parseJson(data);
  if (event !== undefined) return [event as E];
  const errors = data.split("\n").map(parseJson).filter(isErrorEvent);
  if (errors.length === 0) throw new SyntaxError(data);
  return errors as E[];
}

function isErrorEvent(event: unknown): boolean {
  return isRecord(event) && (event.type === "error" || isRecord(event.error));
}

/** Safari's streams are not iterable. */
async function* streamChunks(
  stream: ReadableStream<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = stream.getReader();
  let done = false;
  try {
    for (;;) {
      const next = await reader.read();
      if (next.done) {
        done = true;
        return;
      }
      yield next.value;
    }
  } finally {
    if (!done) await reader.cancel().catch(() => undefined);
    reader.releaseLock();
  }
}

async function responseError(response: Response): Promise<SessileError<"REPLY_FAILED">> {
  const text = (await response.text().catch(() => "")).slice(0, maxErrorCharacters);
  // A proxy's page is no JSON; its text is the message.
  const body = parseJson(text) ?? text;
  const inner = isRecord(body) && isRecord(body.error) ? body.error : body;
  const said = isRecord(inner) && typeof inner.message === "string" ? inner.message : text;
  return replyFailed(`${response.status}: ${said}`, body, response.status);
}

// Blocks of a streamed reply by the index that the wire names, and deltas of unknown kinds merged into them.

/** A block while it arrives. */
interface OpenBlock {
  /** Whether its end has not come. */
  isOpen: boolean;
}

/** A block, and its place in the order of arrival, which deltas name. */
export interface PlacedBlock<B> {
  readonly block: B;
  readonly place: number;
}

/**
 * The blocks of a reply. Gateways leave indexes out, use one twice, or name another one for the pieces of a
 * block: no piece is lost for that.
 */
export class OpenBlocks<B extends OpenBlock> {
  readonly #blocks: B[] = [];
  readonly #indexes: number[] = [];
  /** The latest block with an index. */
  readonly #latest = new Map<number, number>();
  #next = 0;

  /** Adds a block. A block that still has the index is closed. */
  begin(index: unknown, block: B): PlacedBlock<B> {
    const key = isIndex(index) ? index : this.#next;
    this.#next = Math.max(this.#next, key + 1);
    const before = this.at(key);
    if (before !== undefined) before.block.isOpen = false;
    const place = this.#blocks.push(block) - 1;
    this.#indexes.push(key);
    this.#latest.set(key, place);
    return { block, place };
  }

  /** The latest block with an index; without an index the latest block of all. */
  at(index: unknown): PlacedBlock<B> | undefined {
    const place = isIndex(index) ? this.#latest.get(index) : this.#blocks.length - 1;
    const block = place === undefined ? undefined : this.#blocks[place];
    return block === undefined ? undefined : { block, place: place as number };
  }

  /** The block that a piece belongs to: that of its index if it fits, otherwise the latest open one that fits. */
  for(index: unknown, fits: (block: B) => boolean): PlacedBlock<B> | undefined {
    const named = this.at(index);
    if (named !== undefined && fits(named.block)) return named;
    const place = this.#blocks.findLastIndex((block) => block.isOpen && fits(block));
    return place < 0 ? undefined : { block: this.#blocks[place] as B, place };
  }

  /** All blocks, by index. */
  inOrder(): readonly B[] {
    return this.#blocks
      .map((block, place) => ({ block, index: this.#indexes[place] as number }))
      .sort((a, b) => a.index - b.index)
      .map(({ block }) => block);
  }
}

function isIndex(index: unknown): index is number {
  return Number.isSafeInteger(index) && (index as number) >= 0;
}

/**
 * Merges a delta of an unknown kind into a block: texts, lists and bytes go on, objects are merged, and any
 * other value replaces the one before. Null changes nothing.
 */
export function mergeDelta(into: Record<string, unknown>, delta: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(delta)) {
    if (value === undefined || name === "__proto__") continue;
    if (value !== null || into[name] === undefined) into[name] = merged(into[name], value);
  }
}

function merged(before: unknown, value: unknown): unknown {
  if (typeof value === "string") return typeof before === "string" ? before + value : value;
  if (value instanceof Uint8Array) return before instanceof Uint8Array ? concatBytes([before, value]) : value;
  if (Array.isArray(value)) return Array.isArray(before) ? [...(before as unknown[]), ...value] : value;
  if (!isRecord(value)) return value;
  const copy = isRecord(before) ? { ...before } : {};
  mergeDelta(copy, value);
  return copy;
}

// The end of a reply whose chunks carry a reason to stop, where a server gives one too early or too often.

/** Ends after which a server can go on: those of a cut or of a refusal are final. */
const mayGoOn: ReadonlySet<string> = new Set(["stop", "STOP", "tool_calls"]);

/**
 * Decides which chunks belong to a reply. Nothing counts after the first reason to stop, with two exceptions:
 * servers that give one with each chunk, and servers that give one before any content.
 *
 * @see https://github.com/BerriAI/litellm/issues/2195, https://github.com/songquanpeng/one-api/pull/1477 and
 *   https://github.com/router-for-me/CLIProxyAPI/issues/5651 (stored copies, 2026-11-28)
 */
export class ReplyEnd {
  #reason: string | undefined;
  #hasContent = false;
  /** Whether a chunk of content came without a reason: then the first reason is the end. */
  #isPlain = false;
  /** The first chunk of content, if it has a reason. A server that sends the reply again repeats it. */
  #first: string | undefined;

  /** The reason to stop; undefined while the reply arrives. */
  get reason(): string | undefined {
    return this.#reason;
  }

  /** Whether a chunk belongs to the reply; if it does, its reason counts. */
  takes(chunk: object, hasContent: boolean, reason: string | undefined): boolean {
    if (this.#reason !== undefined && !(hasContent && this.#goesOn(chunk, reason))) return false;
    if (hasContent && !this.#hasContent && reason !== undefined) this.#first = JSON.stringify(chunk);
    this.#isPlain ||= hasContent && reason === undefined;
    this.#hasContent ||= hasContent;
    this.#reason = reason;
    return true;
  }

  /** Whether content can follow the reason that came. */
  #goesOn(chunk: object, reason: string | undefined): boolean {
    if (this.#reason === undefined || !mayGoOn.has(this.#reason)) return false;
    if (!this.#hasContent) return true;
    return !this.#isPlain && reason !== undefined && JSON.stringify(chunk) !== this.#first;
  }
}
