/** The running turn of a session as a stream of `useChat`, whichever process runs it. */

import type { AssistantMessage, Message, ToolResultMessage } from "../../content/index.js";
import { sleep } from "../../core/concurrency.js";
import { SessileError } from "../../core/errors/index.js";
import type { EphemeralEvent, ReplyDelta, Session, SessionEntry, UnknownEntry } from "../../session/index.js";
import { interruptedWords } from "../../session/internal.js";
import { assistantParts, resultFields, type ToUIMessagesOptions, updatedMessages } from "./to-ui-messages.js";
import { type UiChunk, type UiPart, uiNote } from "./ui-message.js";

/** The replies of an open session. A reply is all that one turn adds to the page: its steps, calls and results. */
export interface UIReplies<C extends UiChunk = UiChunk> {
  /**
   * The running reply; the next one, if none runs: the answer to a post. Of a reply that goes on with stored steps,
   * which the page that posted shows, it has the new ones.
   */
  stream(): ReadableStream<C>;
  /**
   * The running reply from its first step on, whichever process runs it; undefined if none runs: the answer to a
   * reconnection. A reply whose process has ended is followed, too: what was recorded of it, then what the process
   * says that takes the turn over. It ends with an error if none does within 10 seconds.
   */
  resume(): Promise<ReadableStream<C> | undefined>;
  /** Stops listening, and ends the streams. */
  close(): void;
}

/** What is read of a session. */
type RepliedSession = Pick<
  Session,
  "on" | "leafId" | "recent" | "refresh" | "turnState" | "follow" | "followReply"
>;

/**
 * Follows an open session, and gives its running reply to any number of pages, whenever they come. A reply of this
 * handle begins with the status `busy`, the first delta or the first message. It ends with a message that calls no
 * tool, or with the status `idle`, whose `message` is then an error. Without the status `busy` an aborted or failed
 * message ends it as well; with it the turn may go on after one. Text that was not published comes with its message.
 *
 * The turn of another handle or process is read from the store. Give `resume` a handle that is open for reading: its
 * leaf is the newest entry.
 *
 * Publish deltas with the `messageId` that the first message of the reply will have as its entry's id: it is
 * then the same before and after a reload.
 *
 * @example
 * ```ts
 * const replies = uiReplies(session);
 * session.publish({ type: "text_delta", delta: "Hel", messageId: "reply-1" });
 * const chunks = await replies.resume(); // for GET /api/chat/ID/stream; without a running reply, answer 204
 * ```
 */
export function uiReplies<C extends UiChunk = UiChunk>(
  session: RepliedSession,
  options: Pick<ToUIMessagesOptions, "fileUrl"> = {},
): UIReplies<C> {
  const follower = new ReplyFollower(session, options);
  const offs = [
    session.on("ephemeral", (event) => {
      // Before the event is handled, so that a page that reconnects now finds the reply.
      if (event.type === "status" && event.status === "busy") follower.log();
      const { leafId } = session;
      follower.queue(() => follower.published(event, leafId));
    }),
    session.on("entry", ({ entry }) => follower.queue(() => follower.appended(entry))),
    session.on("closed", () => follower.queue(async () => follower.end())),
  ];
  return {
    stream: () => follower.log().read({ isNew: true }) as ReadableStream<never>,
    resume: async () => (await follower.resume())?.read() as ReadableStream<never> | undefined,
    close() {
      for (const off of offs) off();
      follower.end();
    },
  };
}

/** How long a turn is followed whose process has ended, and how often one of another process is looked at. */
const takeOverMs = 10_000;
const pollMs = 500;

/** Text or reasoning that was published. */
interface Streamed {
  readonly type: "text" | "reasoning";
  readonly id: string;
  /** The reply of another process, and the block of it. */
  readonly of?: { readonly replyId: string; readonly index: number };
  text: string;
}

type SentChunk = UiChunk & { readonly [field: string]: unknown };

class ReplyFollower {
  running: ChunkLog<UiChunk> | undefined;
  readonly #session: RepliedSession;
  readonly #options: Pick<ToUIMessagesOptions, "fileUrl">;
  #work: Promise<void> = Promise.resolve();
  /** Whether the steps before the reply's first event were read. */
  #isRead = false;
  #isStarted = false;
  /** Whether stored steps are handled. */
  #isEarlier = false;
  /** Whether the handle said that it is at work. */
  #isBusy = false;
  /** Ends the following of another process's turn. */
  #watch: AbortController | undefined;
  #wake = () => {};
  /** Whether a step is open; its message may be there already. */
  #step: "none" | "streaming" | "answered" = "none";
  /** How the reply ends if no step follows the last message. */
  #failure: { readonly chunk: SentChunk; readonly isInterruption: boolean } | undefined;
  #streamed: Streamed[] = [];
  #open: Streamed | undefined;
  #parts = 0;
  /** The messages of the running reply, and of the last one that is whole: nothing is added to that one. */
  #messageIds = new Set<unknown>();
  #wholeIds: ReadonlySet<unknown> = new Set();
  /** Entries of the running reply that were handled. */
  readonly #handled = new Set<string>();

  constructor(session: RepliedSession, options: Pick<ToUIMessagesOptions, "fileUrl">) {
    this.#session = session;
    this.#options = options;
  }

  /** Handles events one after the other, since the address of a file may be asynchronous. */
  queue(act: () => Promise<void>): Promise<void> {
    this.#work = this.#work.then(act).catch((error: unknown) => {
      this.#push({ type: "error", errorText: error instanceof Error ? error.message : String(error) });
      this.end();
    });
    return this.#work;
  }

  log(): ChunkLog<UiChunk> {
    this.running ??= new ChunkLog<UiChunk>();
    return this.running;
  }

  /** The running reply; follows that of another process. */
  async resume(): Promise<ChunkLog<UiChunk> | undefined> {
    await this.#work;
    if (this.running === undefined) {
      await this.#session.refresh();
      await this.#work;
      const { state } = await this.#session.turnState();
      if (state === "busyElsewhere" || state === "interruptedReply") this.#watchTurn();
    }
    return this.running;
  }

  end(): void {
    this.#unwatch();
    this.running?.end();
    this.running = undefined;
    this.#isRead = false;
    this.#isStarted = false;
    this.#failure = undefined;
    this.#step = "none";
    this.#streamed = [];
    this.#open = undefined;
    this.#handled.clear();
  }

  /** @param leafId the leaf at the event */
  async published(event: EphemeralEvent, leafId: string | null): Promise<void> {
    switch (event.type) {
      case "text_delta":
      case "thinking_delta":
        if (!this.#isStarted && this.#wholeIds.has(event.messageId)) return;
        this.#unwatch();
        await this.#readEarlier(leafId);
        this.#delta(event.type === "text_delta" ? "text" : "reasoning", event.delta, event.messageId);
        return;
      case "tool_state": {
        const { toolCallId, state, output } = event;
        if (state !== "running" || output === undefined || this.#step !== "answered") return;
        this.#push({ type: "tool-output-available", toolCallId, output, preliminary: true });
        return;
      }
      case "status":
        if (event.status === "busy") await this.#busy(leafId);
        else if (event.status === "idle") await this.#idle(event.message);
        return;
      case "compacting":
        return;
    }
  }

  async appended(entry: SessionEntry | UnknownEntry): Promise<void> {
    this.#wake();
    if (entry.type !== "message" || this.#handled.has(entry.id)) return;
    const { role } = entry.message;
    // A result begins no reply: it may be one that is told before a message of the user.
    if (role !== "assistant" && !(role === "toolResult" && this.#isRead)) return;
    await this.#readEarlier(entry.parentId);
    this.#handled.add(entry.id);
    await this.#message(entry.message, entry.id);
  }

  async #message(message: Message, entryId: string): Promise<void> {
    if (message.role === "assistant") await this.#replied(message, entryId);
    else if (message.role === "toolResult") await this.#answered(message);
  }

  async #busy(leafId: string | null): Promise<void> {
    this.#isBusy = true;
    this.#unwatch();
    this.log();
    await this.#readEarlier(leafId);
  }

  /** Begins with the stored steps of a turn that goes on. */
  async #readEarlier(leafId: string | null): Promise<void> {
    if (this.#isRead) return;
    this.#isRead = true;
    this.#isEarlier = true;
    try {
      const { id, messages } = await storedSteps(this.#session, leafId);
      for (const { entryId, message } of messages) {
        this.#start(id);
        this.#handled.add(entryId);
        await this.#message(message, entryId);
      }
    } finally {
      this.#isEarlier = false;
    }
  }

  /** @param of for text of another process */
  #delta(
    type: Streamed["type"],
    delta: string,
    messageId: string | undefined,
    of?: NonNullable<Streamed["of"]>,
  ): void {
    this.#begin(messageId);
    if (this.#open?.type !== type || (of !== undefined && this.#open.of?.index !== of.index)) {
      this.#closePart();
      this.#open = this.#startPart(type, of);
      this.#streamed.push(this.#open);
    }
    this.#open.text += delta;
    this.#push({ type: `${type}-delta`, id: this.#open.id, delta });
  }

  /** A step of the reply is whole: adds the text that was not published. */
  async #replied(message: AssistantMessage, entryId: string): Promise<void> {
    const parts = await assistantParts(message, this.#options);
    this.#begin(entryId);
    this.#keepOnly(entryId);
    for (const part of parts) {
      if (part.type === "text" || part.type === "reasoning") this.#addText(part, part.type);
      else this.#addPart(part);
    }
    this.#closePart();
    this.#streamed = [];
    this.#step = "answered";
    const goesOn = this.#isEarlier || this.#isBusy || this.#watch !== undefined;
    const chunk = endOf(message);
    if (chunk === undefined || (goesOn && message.stopReason === "pause")) return;
    if (chunk.type === "finish") this.#wholeIds = this.#messageIds;
    if (chunk.type === "finish" || !goesOn) this.#finish(chunk);
    else this.#failure = { chunk, isInterruption: message.errorMessage === interruptedWords };
  }

  async #answered(message: ToolResultMessage): Promise<void> {
    if (!this.#isStarted) return;
    const { state: _, ...fields } = await resultFields(message, this.#options);
    const type = message.isError ? "tool-output-error" : "tool-output-available";
    this.#push({ type, toolCallId: message.toolCallId, ...fields });
  }

  async #idle(error: string | undefined): Promise<void> {
    this.#isBusy = false;
    if (this.running === undefined) return;
    // Another process has the turn, and its words are those of this reply.
    const state = await this.#session.turnState().catch(() => undefined);
    if (state?.state === "busyElsewhere") this.#watchTurn();
    else this.#ended(error);
  }

  /** The turn has ended, and the reply has not. */
  #ended(error: string | undefined): void {
    if (error !== undefined) {
      this.#begin(undefined);
      this.#finish({ type: "error", errorText: error });
    } else if (this.#failure !== undefined) this.#finish(this.#failure.chunk);
    else if (this.#isStarted) this.#finish({ type: "finish", finishReason: "other" });
    else this.end();
  }

  // The turn of another process.

  #unwatch(): void {
    this.#watch?.abort();
    this.#watch = undefined;
  }

  #watchTurn(): void {
    if (this.#watch !== undefined) return;
    this.#watch = new AbortController();
    const { signal } = this.#watch;
    this.log();
    const failed = (error: unknown) => {
      if (signal.aborted) return;
      void this.queue(async () => {
        if (!signal.aborted) throw error;
      });
    };
    void this.#readOn(signal).catch(failed);
    void this.#followTurn(signal).catch(failed);
  }

  /** Reads the entries of others: they are events. */
  async #readOn(signal: AbortSignal): Promise<void> {
    for await (const _ of this.#session.follow({ signal, pollMs })) if (signal.aborted) return;
  }

  async #followTurn(signal: AbortSignal): Promise<void> {
    const offsets = new Map<string, string>();
    let leftAt: number | undefined;
    while (!signal.aborted) {
      // Before a reply is read, for the entries that it follows.
      await this.#session.refresh();
      const now = await this.#session.turnState();
      const { leafId } = this.#session;
      await this.#during(signal, () => this.#readEarlier(leafId));
      if (now.state === "busyElsewhere") leftAt = undefined;
      else leftAt ??= Date.now();
      const replyId = "replyId" in now ? now.replyId : undefined;
      const isRead = replyId !== undefined && (await this.#followReply(replyId, offsets, signal));
      await this.#during(signal, async () => {
        if (leftAt === undefined) return;
        const isLeft = now.state === "interruptedReply" || this.#isLeft(now);
        if (isLeft && Date.now() - leftAt < takeOverMs) return;
        if (now.state !== "interruptedReply") this.#keepOnly();
        this.#ended(now.state === "interruptedReply" ? interruptedWords : undefined);
      });
      if (!isRead && !signal.aborted) await this.#changed(signal);
    }
  }

  /** Whether a turn without a process may be that of a process that has ended. */
  #isLeft(now: Awaited<ReturnType<Session["turnState"]>>): boolean {
    if (now.state === "aborted") return this.#failure?.isInterruption === true;
    return (
      now.state === "awaitingReply" ||
      (now.state === "awaitingResults" && now.calls.some(({ state }) => state === "running"))
    );
  }

  #during(signal: AbortSignal, act: () => Promise<void>): Promise<void> {
    return this.queue(async () => {
      if (!signal.aborted) await act();
    });
  }

  /** Follows one reply. Returns whether it has ended. */
  async #followReply(id: string, offsets: Map<string, string>, signal: AbortSignal): Promise<boolean> {
    if (this.#handled.has(id)) return false;
    const from = offsets.get(id);
    try {
      const options = { signal, pollMs, ...(from === undefined ? {} : { from }) };
      for await (const part of this.#session.followReply(id, options)) {
        offsets.set(id, part.offset);
        if (part.type === "deltas") await this.#during(signal, async () => this.#deltas(id, part.deltas));
        else if (part.type === "discarded") await this.#during(signal, async () => this.#keepOnly());
        if (part.type === "end" || part.type === "discarded") return true;
      }
    } catch (error) {
      if (!SessileError.is(error, "REPLY_NOT_FOUND")) throw error;
      await this.#during(signal, async () => this.#keepOnly());
    }
    return false;
  }

  #deltas(replyId: string, deltas: readonly ReplyDelta[]): void {
    // Its message has them.
    if (this.#handled.has(replyId)) return;
    this.#keepOnly(replyId);
    for (const delta of deltas) {
      if (delta.type === "toolCall") continue;
      const { type, index, text } = delta;
      this.#delta(type === "text" ? "text" : "reasoning", text, replyId, { replyId, index });
    }
  }

  /** Takes the words of a reply that became no message from the page. */
  #keepOnly(replyId?: string): void {
    if (!this.#streamed.some(({ of }) => of !== undefined && of.replyId !== replyId)) return;
    this.#push({ type: "reset-step" });
    this.#streamed = [];
    this.#open = undefined;
  }

  /** Resolves with the next entry, or after a while. */
  async #changed(signal: AbortSignal): Promise<void> {
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    await sleep(pollMs, AbortSignal.any([signal, woken.signal])).catch(() => undefined);
    this.#wake = () => {};
  }

  #start(messageId: string | undefined): void {
    if (this.#isStarted) return;
    this.#messageIds = new Set();
    this.#isStarted = true;
    // For every reader: it names the page's message.
    this.log().push({ type: "start", ...(messageId === undefined ? {} : { messageId }) } as UiChunk);
  }

  #begin(messageId: string | undefined): void {
    this.#start(messageId);
    if (messageId !== undefined) this.#messageIds.add(messageId);
    this.#failure = undefined;
    if (this.#step === "streaming") return;
    if (this.#step === "answered") this.#push({ type: "finish-step" });
    this.#push({ type: "start-step" });
    this.#step = "streaming";
  }

  #finish(chunk: SentChunk): void {
    this.#closePart();
    if (this.#step !== "none" && chunk.type === "finish") this.#push({ type: "finish-step" });
    this.#push(chunk);
    this.end();
  }

  #startPart(type: Streamed["type"], of?: Streamed["of"]): Streamed {
    const part = { type, id: `${type}-${this.#parts++}`, text: "", ...(of === undefined ? {} : { of }) };
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

  #push(chunk: SentChunk): void {
    this.log().push(chunk, this.#isEarlier);
  }
}

/** How a message ends a reply; undefined if its calls are next. */
function endOf({ stopReason, errorMessage, content }: AssistantMessage): SentChunk | undefined {
  if (stopReason === "aborted") return { type: "abort" };
  if (stopReason === "error") return { type: "error", errorText: errorMessage ?? "the model failed" };
  if (content.some(({ type }) => type === "toolCall")) return undefined;
  return { type: "finish", finishReason: stopReason === "length" ? "length" : "stop" };
}

interface StoredSteps {
  /** The id of the page's message. */
  readonly id: string | undefined;
  readonly messages: readonly { readonly entryId: string; readonly message: Message }[];
}

/** The steps up to an entry of the session's branch that the next step continues, as a page shows them. */
async function storedSteps(session: RepliedSession, leafId: string | null): Promise<StoredSteps> {
  let entries: readonly (SessionEntry | UnknownEntry)[] = [];
  let before: string | undefined;
  do {
    const page = await session.recent({ messages: 32, ...(before === undefined ? {} : { before }) });
    entries = [...page.entries, ...entries];
    before = page.before;
  } while (before !== undefined && !entries.some(isOfUser));
  const last = entries.findLastIndex(({ id }) => id === leafId);
  const messages = updatedMessages(entries.slice(0, last + 1));
  const notes = new Map(
    entries.flatMap((entry) => uiNote.read(entry) ?? []).map((note) => [note.entryId, note]),
  );
  const steps: { entryId: string; message: Message }[] = [];
  let id: string | undefined;
  for (const [entryId, message] of [...messages].reverse()) {
    if (message.role !== "assistant" && message.role !== "toolResult") break;
    steps.unshift({ entryId, message });
    if (message.role !== "assistant") continue;
    const note = notes.get(entryId);
    id = note?.messageId ?? entryId;
    if (note !== undefined) break;
  }
  const reply = steps.findLast(({ message }) => message.role === "assistant")?.message as
    | AssistantMessage
    | undefined;
  const isWhole = reply !== undefined && reply.stopReason !== "pause" && endOf(reply)?.type === "finish";
  return isWhole || reply === undefined ? { id: undefined, messages: [] } : { id, messages: steps };
}

function isOfUser(entry: SessionEntry | UnknownEntry): boolean {
  return entry.type === "message" && entry.message.role === "user";
}

// The chunks of a running reply, for any number of readers that join at any time.

/** Keeps chunks in order. A reader gets all of them from the first one on, then new ones as they arrive. */
class ChunkLog<C> {
  readonly #chunks: { readonly chunk: C; readonly isEarlier: boolean }[] = [];
  readonly #waiting = new Set<() => void>();
  #ended = false;
  #failure: { readonly error: unknown } | undefined;

  /** @param isEarlier for chunks that a page has which did not reconnect */
  push(chunk: C, isEarlier = false): void {
    this.#chunks.push({ chunk, isEarlier });
    this.#wake();
  }

  /** Ends the log; with a failure, the readers' streams fail. */
  end(failure?: { readonly error: unknown }): void {
    this.#ended = true;
    this.#failure = failure;
    this.#wake();
  }

  /**
   * A reader that stops or reads slowly does not block the others.
   *
   * @param options.isNew whether earlier chunks are left out
   */
  read({ isNew = false }: { readonly isNew?: boolean } = {}): ReadableStream<C> {
    let at = 0;
    let isCancelled = false;
    let wake = () => {};
    const next = () => {
      while (isNew && this.#chunks[at]?.isEarlier === true) at++;
      return this.#chunks[at];
    };
    return new ReadableStream<C>(
      {
        pull: async (controller) => {
          while (next() === undefined && !this.#ended && !isCancelled) {
            await new Promise<void>((resolve) => {
              wake = resolve;
              this.#waiting.add(resolve);
            });
          }
          if (isCancelled) return;
          const found = next();
          if (found !== undefined) {
            at++;
            controller.enqueue(found.chunk);
          } else if (this.#failure === undefined) controller.close();
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
