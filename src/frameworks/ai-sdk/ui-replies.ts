/** The running reply of a session as a stream of `useChat`: from its ephemeral events and its entries. */

import type { AssistantMessage, ToolResultMessage } from "../../content/index.js";
import type { EphemeralEvent, Session, SessionEntry, UnknownEntry } from "../../session/index.js";
import { assistantParts, resultFields, type ToUIMessagesOptions } from "./to-ui-messages.js";
import type { UiChunk, UiPart } from "./ui-message.js";

/** The replies of an open session. */
export interface UIReplies<C extends UiChunk = UiChunk> {
  /** The running reply from its first chunk on; of the next one, if none runs: the answer to a post. */
  stream(): ReadableStream<C>;
  /** The running reply from its first chunk on; undefined if none runs: the answer to a reconnection. */
  resume(): ReadableStream<C> | undefined;
  /** Stops listening, and ends the streams. */
  close(): void;
}

/**
 * Follows an open session, and gives its running reply to any number of pages, whenever they come. A reply
 * begins with the status `busy`, the first delta or the first message, and ends with a message that calls no
 * tool, or with the status `idle`, whose `message` is then an error. Text that was not published comes with
 * its message.
 *
 * Publish deltas with the `messageId` that the first message of the reply will have as its entry's id: it is
 * then the same before and after a reload.
 *
 * @example
 * ```ts
 * const replies = uiReplies(session);
 * session.publish({ type: "text_delta", delta: "Hel", messageId: "reply-1" });
 * const chunks = replies.resume(); // for GET /api/chat/ID/stream; without a running reply, answer 204
 * ```
 */
export function uiReplies<C extends UiChunk = UiChunk>(
  session: Pick<Session, "on">,
  options: Pick<ToUIMessagesOptions, "fileUrl"> = {},
): UIReplies<C> {
  const follower = new ReplyFollower(options);
  const offs = [
    session.on("ephemeral", (event) => {
      // Before the event is handled, so that a page that reconnects now finds the reply.
      if (event.type === "status" && event.status === "busy") follower.log();
      follower.queue(() => follower.published(event));
    }),
    session.on("entry", ({ entry }) => follower.queue(() => follower.appended(entry))),
    session.on("closed", () => follower.queue(async () => follower.end())),
  ];
  return {
    stream: () => follower.log().read() as ReadableStream<never>,
    resume: () => follower.running?.read() as ReadableStream<never> | undefined,
    close() {
      for (const off of offs) off();
      follower.end();
    },
  };
}

/** Text or reasoning that was published. */
interface Streamed {
  readonly type: "text" | "reasoning";
  readonly id: string;
  text: string;
}

class ReplyFollower {
  running: ChunkLog<UiChunk> | undefined;
  readonly #options: Pick<ToUIMessagesOptions, "fileUrl">;
  #work: Promise<void> = Promise.resolve();
  #isStarted = false;
  /** Whether a step is open; its message may be there already. */
  #step: "none" | "streaming" | "answered" = "none";
  #streamed: Streamed[] = [];
  #open: Streamed | undefined;
  #parts = 0;
  /** The messages of the running reply, and of the last one that is whole: nothing is added to that one. */
  #messageIds = new Set<unknown>();
  #wholeIds: ReadonlySet<unknown> = new Set();

  constructor(options: Pick<ToUIMessagesOptions, "fileUrl">) {
    this.#options = options;
  }

  /** Handles events one after the other, since the address of a file may be asynchronous. */
  queue(act: () => Promise<void>): void {
    this.#work = this.#work.then(act).catch((error: unknown) => {
      this.#push({ type: "error", errorText: error instanceof Error ? error.message : String(error) });
      this.end();
    });
  }

  log(): ChunkLog<UiChunk> {
    this.running ??= new ChunkLog<UiChunk>();
    return this.running;
  }

  end(): void {
    this.running?.end();
    this.running = undefined;
    this.#isStarted = false;
    this.#step = "none";
    this.#streamed = [];
    this.#open = undefined;
  }

  async published(event: EphemeralEvent): Promise<void> {
    switch (event.type) {
      case "text_delta":
      case "thinking_delta":
        if (!this.#isStarted && this.#wholeIds.has(event.messageId)) return;
        this.#delta(event.type === "text_delta" ? "text" : "reasoning", event.delta, event.messageId);
        return;
      case "tool_state": {
        const { toolCallId, state, output } = event;
        if (state !== "running" || output === undefined || this.#step !== "answered") return;
        this.#push({ type: "tool-output-available", toolCallId, output, preliminary: true });
        return;
      }
      case "status":
        if (event.status === "busy") this.log();
        else if (event.status === "idle") this.#idle(event.message);
        return;
      case "compacting":
        return;
    }
  }

  async appended(entry: SessionEntry | UnknownEntry): Promise<void> {
    if (entry.type !== "message") return;
    if (entry.message.role === "assistant") await this.#replied(entry.message, entry.id);
    else if (entry.message.role === "toolResult") await this.#answered(entry.message);
  }

  #delta(type: Streamed["type"], delta: string, messageId: string | undefined): void {
    this.#begin(messageId);
    if (this.#open?.type !== type) {
      this.#closePart();
      this.#open = this.#startPart(type);
      this.#streamed.push(this.#open);
    }
    this.#open.text += delta;
    this.#push({ type: `${type}-delta`, id: this.#open.id, delta });
  }

  /** A step of the reply is whole: adds the text that was not published. */
  async #replied(message: AssistantMessage, entryId: string): Promise<void> {
    const parts = await assistantParts(message, this.#options);
    this.#begin(entryId);
    for (const part of parts) {
      if (part.type === "text" || part.type === "reasoning") this.#addText(part, part.type);
      else this.#addPart(part);
    }
    this.#closePart();
    this.#streamed = [];
    this.#step = "answered";
    const { stopReason, errorMessage } = message;
    if (stopReason === "aborted") this.#finish({ type: "abort" });
    else if (stopReason === "error")
      this.#finish({ type: "error", errorText: errorMessage ?? "the model failed" });
    else if (!message.content.some(({ type }) => type === "toolCall")) {
      this.#wholeIds = this.#messageIds;
      this.#finish({ type: "finish", finishReason: stopReason === "length" ? "length" : "stop" });
    }
  }

  async #answered(message: ToolResultMessage): Promise<void> {
    if (!this.#isStarted) return;
    const { state: _, ...fields } = await resultFields(message, this.#options);
    const type = message.isError ? "tool-output-error" : "tool-output-available";
    this.#push({ type, toolCallId: message.toolCallId, ...fields });
  }

  #idle(error: string | undefined): void {
    if (this.running === undefined) return;
    if (error !== undefined) {
      this.#begin(undefined);
      this.#finish({ type: "error", errorText: error });
    } else if (this.#isStarted) this.#finish({ type: "finish", finishReason: "other" });
    else this.end();
  }

  #begin(messageId: string | undefined): void {
    if (!this.#isStarted) {
      this.#messageIds = new Set();
      this.#push({ type: "start", ...(messageId === undefined ? {} : { messageId }) });
    }
    this.#isStarted = true;
    if (messageId !== undefined) this.#messageIds.add(messageId);
    if (this.#step === "streaming") return;
    if (this.#step === "answered") this.#push({ type: "finish-step" });
    this.#push({ type: "start-step" });
    this.#step = "streaming";
  }

  #finish(chunk: UiChunk & { readonly [field: string]: unknown }): void {
    this.#closePart();
    if (this.#step !== "none" && chunk.type === "finish") this.#push({ type: "finish-step" });
    this.#push(chunk);
    this.end();
  }

  #startPart(type: Streamed["type"]): Streamed {
    const part = { type, id: `${type}-${this.#parts++}`, text: "" };
    this.#push({ type: `${type}-start`, id: part.id });
    return part;
  }

  /** @param part the part as the message has it */
  #closePart({ providerMetadata, citations }: Partial<UiPart> = {}): void {
    if (this.#open === undefined) return;
    const signed = providerMetadata === undefined ? {} : { providerMetadata };
    const cited = citations === undefined ? {} : { citations };
    this.#push({ type: `${this.#open.type}-end`, id: this.#open.id, ...cited, ...signed });
    this.#open = undefined;
  }

  #addText(part: UiPart, type: Streamed["type"]): void {
    const text = String(part.text);
    const [streamed] = this.#streamed;
    if (streamed?.type === type && streamed.text.startsWith(text) && streamed.text !== text) {
      // The page has two blocks as one part until it reloads.
      streamed.text = streamed.text.slice(text.length);
      return;
    }
    if (streamed?.type !== type) {
      this.#closePart();
      this.#open = this.#startPart(type);
    } else {
      this.#streamed.shift();
      // A part that was closed earlier is on the page as it was published.
      if (this.#open !== streamed) return;
    }
    const rest =
      streamed?.type === type
        ? text.startsWith(streamed.text)
          ? text.slice(streamed.text.length)
          : ""
        : text;
    if (rest !== "") this.#push({ type: `${type}-delta`, id: this.#open.id, delta: rest });
    this.#closePart(part);
  }

  /** Calls, files and sources. */
  #addPart(part: UiPart): void {
    this.#closePart();
    const { type, toolCallId, state, input, callProviderMetadata, providerExecuted, output, errorText } =
      part;
    if (!type.startsWith("tool-") || toolCallId === undefined) {
      const { filename: _, ...chunk } = part;
      this.#push(type === "file" ? chunk : part);
      return;
    }
    const executed = providerExecuted === undefined ? {} : { providerExecuted };
    const signed = callProviderMetadata === undefined ? {} : { providerMetadata: callProviderMetadata };
    const toolName = type.slice("tool-".length);
    this.#push({ type: "tool-input-available", toolCallId, toolName, input, ...executed, ...signed });
    const about = part.resultProviderMetadata;
    const answered = { toolCallId, ...executed, ...(about === undefined ? {} : { providerMetadata: about }) };
    if (state === "output-available") this.#push({ type: "tool-output-available", output, ...answered });
    else if (state === "output-error") this.#push({ type: "tool-output-error", errorText, ...answered });
  }

  #push(chunk: UiChunk & { readonly [field: string]: unknown }): void {
    this.log().push(chunk);
  }
}

// The chunks of a running reply, for any number of readers that join at any time.

/** Keeps chunks in order. A reader gets all of them from the first one on, then new ones as they arrive. */
class ChunkLog<C> {
  readonly #chunks: C[] = [];
  readonly #waiting = new Set<() => void>();
  #ended = false;
  #failure: { readonly error: unknown } | undefined;

  push(chunk: C): void {
    this.#chunks.push(chunk);
    this.#wake();
  }

  /** Ends the log; with a failure, the readers' streams fail. */
  end(failure?: { readonly error: unknown }): void {
    this.#ended = true;
    this.#failure = failure;
    this.#wake();
  }

  /** A reader that stops or reads slowly does not block the others. */
  read(): ReadableStream<C> {
    let at = 0;
    let isCancelled = false;
    let wake = () => {};
    return new ReadableStream<C>(
      {
        pull: async (controller) => {
          while (at === this.#chunks.length && !this.#ended && !isCancelled) {
            await new Promise<void>((resolve) => {
              wake = resolve;
              this.#waiting.add(resolve);
            });
          }
          if (isCancelled) return;
          if (at < this.#chunks.length) controller.enqueue(this.#chunks[at++] as C);
          else if (this.#failure === undefined) controller.close();
          else controller.error(this.#failure.error);
        },
        cancel: () => {
          isCancelled = true;
          this.#waiting.delete(wake);
          wake();
        },
      },
      { highWaterMark: 0 },
    );
  }

  #wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }
}

/** The running reply of each chat. */
export class RunningReplies<C> {
  readonly #logs = new Map<string, ChunkLog<C>>();

  /** Reads a stream to its end, whether or not a reader of the returned stream is there. */
  start(key: string, source: ReadableStream<C>): ReadableStream<C> {
    // Throws for a stream that another reader has.
    const reader = source.getReader();
    const log = new ChunkLog<C>();
    this.#logs.set(key, log);
    void this.#pump(key, log, reader);
    return log.read();
  }

  resume(key: string): ReadableStream<C> | undefined {
    return this.#logs.get(key)?.read();
  }

  async #pump(key: string, log: ChunkLog<C>, reader: ReadableStreamDefaultReader<C>): Promise<void> {
    let failure: { readonly error: unknown } | undefined;
    try {
      for (let next = await reader.read(); !next.done; next = await reader.read()) log.push(next.value);
    } catch (error) {
      failure = { error };
    }
    // A newer reply of the chat has its own log.
    if (this.#logs.get(key) === log) this.#logs.delete(key);
    log.end(failure);
  }
}
