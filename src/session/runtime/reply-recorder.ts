/**
 * Replies of one handle while they stream: deltas wait for a time or a size, and are then lines of the side log
 * `reply`. A reply ends when its message is appended to the session, under its id; the log goes with its last reply.
 */

import type { AssistantMessage } from "../../content/index.js";
import { integerOption, oneOfOption, stringArgument } from "../../core/arguments.js";
import { maxTimerMs, unreferenced } from "../../core/concurrency.js";
import { SessileError } from "../../core/errors/index.js";
import type { EntryDraft, SessionEntry } from "../../log/internal.js";
import type { AppendOptions } from "../api/session.js";
import type { Reply, ReplyDelta, ReplyOptions } from "../api/turn.js";
import {
  continuedMessage,
  deltaText,
  isIndex,
  type ReplyBlock,
  type ReplyMaker,
  StoredReplies,
  type StoredReply,
  wholeBlock,
} from "./reply-log.js";
import { SideLog, type SideOf } from "./side-log.js";

/** The longest piece of one line, in UTF-16 units. */
const maxPiece = 65_536;
/** Appends of others before one gives up. Only a process that lost the turn appends to the log of another. */
const maxAttempts = 16;

/** The replies of a session, read and written by one handle. Calls that write are queued. */
export class ReplyLog {
  readonly #log: SideLog;
  #replies = new StoredReplies();
  /** The reply and block of the last line that was written. */
  #at: { readonly id: string; readonly index: number } | undefined;
  #working: Promise<unknown> = Promise.resolve();

  constructor(of: SideOf) {
    this.#log = new SideLog(of, "reply");
  }

  /** The replies that have not ended. */
  open(): Promise<readonly StoredReply[]> {
    return this.#queue(async () => {
      await this.#read();
      return [...this.#replies.byId.values()].filter(({ hasEnded }) => !hasEnded);
    });
  }

  /** Begins a reply. */
  begin(id: string, after: string | null, at: number, claim: string, maker: ReplyMaker): Promise<void> {
    const { provider, model, api } = maker;
    return this.#queue(async () => {
      this.#at = undefined;
      await this.#write(
        () => [{ reply: id, at, after, claim, provider, model, ...(api === undefined ? {} : { api }) }],
        () => this.#replies.byId.has(id),
      );
    });
  }

  /**
   * Takes a reply of a claim that is gone: its holder, if it comes back, records nothing more. Returns all that
   * arrived; undefined if it has ended.
   */
  take(id: string, claim: string): Promise<StoredReply | undefined> {
    const now = () => {
      const reply = this.#replies.byId.get(id);
      return reply?.hasEnded === false ? reply : undefined;
    };
    return this.#queue(async () => {
      await this.#read();
      await this.#write(
        () => (now() === undefined ? [] : [{ resumed: id, claim }]),
        () => now()?.claimId === claim,
      );
      return now();
    });
  }

  /** Records what of these blocks is not recorded, while the reply is of this claim. */
  record(id: string, claim: string, blocks: readonly (ReplyBlock | undefined)[]): Promise<void> {
    return this.#queue(async () => {
      if (!this.#log.isOpen) await this.#read();
      await this.#write(
        () => this.#lines(id, claim, blocks),
        () => false,
      );
    });
  }

  /** Ends a reply, and deletes the log with the last one. */
  end(id: string): Promise<void> {
    return this.#queue(async () => {
      for (let attempt = 0; attempt < maxAttempts; attempt++) {
        if (!this.#log.isOpen) await this.#read();
        const reply = this.#replies.byId.get(id);
        if (reply === undefined || reply.hasEnded) return;
        const isLast = [...this.#replies.byId.values()].every((each) => each.hasEnded || each.id === id);
        const line = { ended: id };
        if (await (isLast ? this.#log.remove([line]) : this.#log.append([line]))) {
          reply.hasEnded = true;
          return;
        }
        await this.#read();
      }
    });
  }

  close(): Promise<void> {
    return this.#queue(() => this.#log.close());
  }

  #queue<T>(act: () => Promise<T>): Promise<T> {
    const done = this.#working.then(act);
    this.#working = done.catch(() => undefined);
    return done;
  }

  async #read(): Promise<void> {
    const lines = await this.#log.read();
    if (lines === undefined || lines.isNew) this.#replies = new StoredReplies();
    if (lines === undefined || lines.values.length > 0) this.#at = undefined;
    for (const value of lines?.values ?? []) this.#replies.apply(value);
  }

  /** Writes lines; after another writer's, those that are still missing. */
  async #write(linesNow: () => readonly unknown[], isDone: () => boolean): Promise<void> {
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const lines = linesNow();
      if (lines.length === 0 || isDone()) return;
      try {
        if (await this.#log.append(lines)) {
          for (const line of lines) this.#replies.apply(line);
          return;
        }
      } catch (error) {
        this.#at = undefined;
        throw error;
      }
      await this.#read();
    }
    const details = { operation: "record a reply in", path: this.#log.path, errno: "EBUSY" };
    throw new SessileError("STORAGE_FAILED", `the record ${details.path} has another writer`, { details });
  }

  /** The lines for what of these blocks is not in the log. */
  #lines(id: string, claim: string, blocks: readonly (ReplyBlock | undefined)[]): readonly unknown[] {
    const stored = this.#replies.byId.get(id);
    // Whoever took the turn over has it.
    if (stored === undefined || stored.hasEnded || stored.claimId !== claim) return [];
    const lines: unknown[] = [];
    let at = this.#at;
    blocks.forEach((block, index) => {
      if (block === undefined) return;
      const known = stored.blocks[index];
      const text = textAfter(block, known?.length ?? 0);
      if (known !== undefined && text === "") return;
      if (at?.id !== id || at.index !== index || known === undefined) {
        const { type, id: callId, name } = block;
        const begun =
          known === undefined ? { type, ...(type === "toolCall" ? { id: callId, name } : {}) } : {};
        lines.push({ ...(at?.id === id ? {} : { on: id }), block: index, ...begun });
        at = { id, index };
      }
      for (let start = 0; start < text.length; start += maxPiece)
        lines.push(text.slice(start, start + maxPiece));
    });
    this.#at = at;
    return lines;
  }
}

/** The text of a block from an offset on. The pieces before it are dropped, since they are recorded. */
function textAfter(block: ReplyBlock, offset: number): string {
  let length = 0;
  let from = block.pieces.length;
  for (length = block.length; from > 0 && length > offset; from--)
    length -= block.pieces[from - 1]?.length ?? 0;
  return block.pieces
    .slice(from)
    .join("")
    .slice(offset - length);
}

/** What a reply needs of the handle that it is made with. */
export interface ReplyHost {
  readonly log: ReplyLog;
  readonly claimId: string;
  readonly signal: AbortSignal;
  append(draft: EntryDraft, options: AppendOptions | undefined): Promise<SessionEntry>;
  /** Called for a write that failed, of what may be lost with this process. */
  failed(error: unknown): void;
  /** Called once, when the reply has ended. */
  ended(): Promise<void>;
}

/** Checks the options of a reply. */
export function checkReplyOptions(options: ReplyOptions): {
  readonly batchMs: number;
  readonly batchChars: number;
} {
  stringArgument("provider", options.provider);
  stringArgument("model", options.model);
  oneOfOption("interrupted", options.interrupted, ["keep", "discard", "continue"]);
  return {
    batchMs: integerOption("batchMs", options.batchMs, 250, 0, maxTimerMs),
    batchChars: integerOption("batchChars", options.batchChars, 4096, 1),
  };
}

/** A reply that streams. */
export class RecordedReply implements Reply {
  readonly id: string;
  readonly prefix: AssistantMessage | undefined;
  readonly #host: ReplyHost;
  readonly #batch: { readonly batchMs: number; readonly batchChars: number };
  readonly #blocks: (ReplyBlock | undefined)[];
  /** The blocks of the prefix. */
  readonly #before: number;
  /** The block of the prefix that the first block goes on with, if it does. Known with the first delta. */
  #goesOn: { readonly at: number | undefined } | undefined;
  /** Characters that wait. */
  #waiting = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #state: "open" | "ending" | "ended" = "open";

  /** @param blocks those of the prefix */
  constructor(
    id: string,
    host: ReplyHost,
    batch: { readonly batchMs: number; readonly batchChars: number },
    prefix?: { readonly message: AssistantMessage; readonly blocks: readonly (ReplyBlock | undefined)[] },
  ) {
    this.id = id;
    this.prefix = prefix?.message;
    this.#host = host;
    this.#batch = batch;
    this.#blocks = (prefix?.blocks ?? []).map((block) => block && { ...block, pieces: [...block.pieces] });
    this.#before = this.#blocks.length;
  }

  get signal(): AbortSignal {
    return this.#host.signal;
  }

  push(delta: ReplyDelta): void {
    this.signal.throwIfAborted();
    if (this.#state === "ended") throw new TypeError("push: the reply has ended");
    if (!isIndex(delta.index))
      throw new RangeError(`index: expected the index of a block, got ${delta.index}`);
    const block = this.#block(delta);
    const text = deltaText(delta);
    if (text !== "") block.pieces.push(text);
    block.length += text.length;
    this.#waiting += text.length;
    if (this.#waiting >= this.#batch.batchChars) void this.#flushSafely();
    else this.#timer ??= this.#later();
  }

  async *record<D extends ReplyDelta>(stream: AsyncIterable<D>): AsyncGenerator<D, void, undefined> {
    for await (const delta of stream) {
      this.push(delta);
      yield delta;
    }
  }

  async flush(): Promise<void> {
    this.#stopTimer();
    this.#waiting = 0;
    if (this.#state !== "ended") await this.#host.log.record(this.id, this.#host.claimId, this.#blocks);
  }

  async end(
    message: AssistantMessage,
    options?: AppendOptions,
  ): Promise<SessionEntry & { readonly type: "message" }> {
    if (this.#state !== "open") throw new TypeError("end: the reply has ended");
    this.#state = "ending";
    this.#stopTimer();
    const whole = this.prefix === undefined ? message : continuedMessage(this.prefix, message);
    let entry: SessionEntry;
    try {
      entry = await this.#host.append({ type: "message", id: this.id, message: whole }, options);
    } catch (error) {
      if (this.signal.aborted) {
        await this.#end();
      } else {
        this.#state = "open";
        // Its record is all that is left, if the process ends now.
        await this.#flushSafely();
      }
      throw error;
    }
    await this.#end();
    return entry as SessionEntry & { readonly type: "message" };
  }

  async discard(): Promise<void> {
    if (this.#state !== "open") return;
    this.#state = "ending";
    this.#stopTimer();
    await this.#end();
  }

  /** Writes what waits, before the handle is closed: the reply is interrupted. */
  async abandon(): Promise<void> {
    if (this.#state === "ended") return;
    await this.#flushSafely();
    this.#state = "ended";
  }

  async #end(): Promise<void> {
    this.#state = "ended";
    try {
      // The message is stored: a record that stays is known by its id.
      if (!this.signal.aborted) await this.#host.log.end(this.id);
    } catch (error) {
      this.#host.failed(error);
    } finally {
      await this.#host.ended();
    }
  }

  #block(delta: ReplyDelta): ReplyBlock {
    // A text at first goes on with the last text of the prefix, as it does in the message: a call behind it that did
    // not arrive whole is in neither.
    this.#goesOn ??= { at: delta.type === "text" ? this.#lastText() : undefined };
    const { at } = this.#goesOn;
    const index =
      at === undefined ? this.#before + delta.index : delta.index === 0 ? at : this.#before + delta.index - 1;
    const known = this.#blocks[index];
    if (known !== undefined) return known;
    const { type } = delta;
    const block: ReplyBlock = {
      type,
      ...(delta.type === "toolCall" ? { id: delta.id, name: delta.name } : {}),
      pieces: [],
      length: 0,
    };
    this.#blocks[index] = block;
    return block;
  }

  /** The last block of the prefix's message, if it is a text. */
  #lastText(): number | undefined {
    const last = this.#blocks.findLastIndex((block) => wholeBlock(block).length > 0);
    return this.#blocks[last]?.type === "text" ? last : undefined;
  }

  #later(): ReturnType<typeof setTimeout> {
    const timer = setTimeout(() => void this.#flushSafely(), this.#batch.batchMs);
    unreferenced(timer);
    return timer;
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  async #flushSafely(): Promise<void> {
    await this.flush().catch((error: unknown) => this.#host.failed(error));
  }
}
