/** The turn of one handle: its lease, its replies, and what other processes left. Loaded when a call asks for it. */

import type { AssistantMessage } from "../../content/index.js";
import { SessileError } from "../../core/errors/index.js";
import { uniqueHex8 } from "../../core/ids.js";
import type { EntryDraft, SessionEntry } from "../../log/internal.js";
import type { AppendOptions } from "../api/session.js";
import type {
  ClaimOptions,
  InterruptedPolicy,
  Reply,
  ReplyOptions,
  TurnClaim,
  TurnOwner,
} from "../api/turn.js";
import { isOnPath, noRow, treeRows } from "../tree/session-tree.js";
import { interruptedMessage, type StoredReply } from "./reply-log.js";
import { checkReplyOptions, RecordedReply, ReplyLog } from "./reply-recorder.js";
import type { SessionState } from "./session-state.js";
import type { SideOf } from "./side-log.js";
import { ClaimReader, claimOwner, claimTurn, type Lease, turnTaken } from "./turn-lease.js";

/** What a turn needs of its handle. */
export interface TurnHandle {
  readonly state: SessionState;
  readonly of: SideOf;
  append(drafts: readonly EntryDraft[], options?: AppendOptions): Promise<readonly SessionEntry[]>;
  /** Resolves when the queue of appends is empty. */
  idle(): Promise<void>;
  /** Writes staged entries, too. */
  flush(): Promise<void>;
  /** Reads new lines. */
  readOn(): Promise<void>;
}

/** What a session's side logs tell of its turn. */
export type TurnBeside =
  | { readonly state: "busyElsewhere"; readonly owner: TurnOwner; readonly replyId: string | undefined }
  | { readonly state: "interruptedReply"; readonly reply: StoredReply; readonly message: AssistantMessage }
  | undefined;

const maxAttempts = 16;
/** Entries that are searched for the end of a claim: those of one who took it over a moment ago. */
const maxFenceRows = 256;

/** The turn of one handle. */
export class SessionTurn {
  readonly #handle: TurnHandle;
  readonly #replyLog: ReplyLog;
  readonly #replies = new Set<RecordedReply>();
  #lease: Lease | undefined;
  /** The call that takes or reads the lease, so that they do not overlap. */
  #working: Promise<unknown> = Promise.resolve();

  constructor(handle: TurnHandle) {
    this.#handle = handle;
    this.#replyLog = new ReplyLog(handle.of);
  }

  claim(options: ClaimOptions): Promise<TurnClaim> {
    return this.#inOrder(() => this.#claim(options));
  }

  reply(options: ReplyOptions): Promise<Reply> {
    const batch = checkReplyOptions(options);
    const { interrupted = "keep" } = options;
    return this.#inOrder(async () => {
      const { lease, release } = await this.#leased(options);
      try {
        const { state } = this.#handle;
        // A reply follows what is stored.
        await this.#handle.flush();
        const left = await this.#endInterrupted(lease, interrupted);
        const message = left && interruptedMessage(left);
        const prefix = left && message ? { message, blocks: left.blocks } : undefined;
        const id = left?.id ?? uniqueHex8() + uniqueHex8();
        const now = state.settings.now();
        if (left === undefined) await this.#replyLog.begin(id, state.leafId, now, lease.id, options);
        const reply: RecordedReply = new RecordedReply(
          id,
          this.#replyHost(lease, release, () => reply),
          batch,
          prefix,
        );
        this.#replies.add(reply);
        return reply;
      } catch (error) {
        await release();
        throw error;
      }
    });
  }

  /** Ends what other processes left of replies. */
  recover(policy: InterruptedPolicy): Promise<void> {
    return this.#inOrder(async () => {
      const { lease, release } = await this.#leased({});
      try {
        await this.#handle.idle();
        await this.#endInterrupted(lease, policy);
      } finally {
        await release();
      }
    });
  }

  /** What the side logs tell that the entries do not. */
  beside(): Promise<TurnBeside> {
    return this.#inOrder(async () => {
      const { state, of } = this.#handle;
      if (this.#lease?.isHeld !== true) {
        const reader = new ClaimReader(of, state.settings.now);
        const holder = await reader.read().finally(() => reader.log.close());
        if (holder !== undefined && reader.isLive(holder)) {
          const reply = (await this.#replyLog.open()).at(-1);
          const isOpen = reply !== undefined && (await this.#isOpen(reply));
          return {
            state: "busyElsewhere",
            owner: claimOwner(holder),
            replyId: isOpen ? reply.id : undefined,
          };
        }
      }
      for (const reply of (await this.#replyLog.open()).toReversed()) {
        if (this.#isOwn(reply) || !(await this.#isOpen(reply))) continue;
        const message = interruptedMessage(reply);
        if (message !== undefined) return { state: "interruptedReply", reply, message };
      }
      return undefined;
    });
  }

  /** Ends the turn, for a handle that is closed. Replies that stream are interrupted. */
  async close(): Promise<void> {
    await this.#working;
    for (const reply of this.#replies) await reply.abandon();
    const lease = this.#lease;
    await lease?.release();
    lease?.close();
    await this.#replyLog.close();
  }

  async #claim(options: ClaimOptions): Promise<Lease> {
    const { state, of } = this.#handle;
    state.assertWritable();
    const own = this.#lease;
    if (own !== undefined) {
      const { id } = state.header;
      const message = `this handle of session ${id} has claimed the turn already`;
      const since = new Date(state.settings.now()).toISOString();
      throw new SessileError("TURN_BUSY", message, { details: { id, claimId: own.id, since } });
    }
    const host = {
      state,
      of,
      catchUp: () => this.#catchUp(),
      fence: (claimId: string, isStillGone: () => Promise<boolean>) => this.#fence(claimId, isStillGone),
    };
    // The claim may be released before the call returns.
    let lease: Lease | undefined;
    lease = await claimTurn(host, options, () => {
      if (this.#lease === lease) this.#lease = undefined;
    });
    this.#lease = lease;
    return lease;
  }

  /** The lease of this handle, or one for a single call. */
  async #leased(
    options: ClaimOptions,
  ): Promise<{ readonly lease: Lease; readonly release: () => Promise<void> }> {
    if (this.#lease !== undefined) return { lease: this.#lease, release: async () => undefined };
    const lease = await this.#claim(options);
    return { lease, release: () => lease.release() };
  }

  #replyHost(lease: Lease, release: () => Promise<void>, own: () => RecordedReply) {
    const handle = this.#handle;
    return {
      log: this.#replyLog,
      claimId: lease.id,
      signal: lease.signal,
      append: async (draft: EntryDraft, options: AppendOptions | undefined) => {
        const [entry] = await handle.append([draft], options);
        return entry as SessionEntry;
      },
      failed: (error: unknown) => handle.state.events.emit("error", { error, operation: "reply" }),
      ended: async () => {
        this.#replies.delete(own());
        await release();
      },
    };
  }

  /**
   * Ends the replies that others left, by a policy. With `continue` returns the last one that has something to go on
   * with, and leaves it.
   */
  async #endInterrupted(
    lease: Lease,
    policy: InterruptedPolicy | "continue",
  ): Promise<StoredReply | undefined> {
    const left = (await this.#replyLog.open()).filter((reply) => !this.#isOwn(reply));
    const last = left.at(-1);
    for (const { id } of left) {
      lease.signal.throwIfAborted();
      const reply = await this.#replyLog.take(id, lease.id);
      if (reply === undefined) continue;
      const message = (await this.#isOpen(reply)) ? interruptedMessage(reply) : undefined;
      if (message !== undefined && policy === "continue" && id === last?.id) return reply;
      // Of two at once only the first can follow its place.
      if (message !== undefined && policy !== "discard")
        await this.#handle.append([{ type: "message", id: reply.id, message }]);
      await this.#replyLog.end(reply.id);
    }
    return undefined;
  }

  /** Whether a reply of this handle streams. */
  #isOwn({ id }: StoredReply): boolean {
    for (const reply of this.#replies) if (reply.id === id) return true;
    return false;
  }

  /** Whether a reply is not stored, and the conversation has not gone on without it. */
  async #isOpen({ id, after }: StoredReply): Promise<boolean> {
    const { state } = this.#handle;
    await this.#handle.readOn();
    // Its message comes after the entry that it follows.
    if (after === null || !state.reader.tree.has(after)) await state.complete();
    const { leafId, reader } = state;
    if (reader.tree.has(id)) return false;
    if (after === leafId) return true;
    const rows = treeRows(reader.tree);
    const roles = ["user", "assistant", "toolResult"].map((role) => rows.kindCode(`message/${role}`));
    for (let row = leafId === null ? noRow : rows.row(leafId); row !== noRow; row = rows.parent(row)) {
      if (rows.id(row) === after) return true;
      if (roles.includes(rows.kindAt(row))) return false;
    }
    return after === null;
  }

  /** Reads other writers' entries. A leaf that they follow moves to the newest of them. */
  async #catchUp(): Promise<void> {
    const { state } = this.#handle;
    await this.#handle.idle();
    await this.#handle.readOn();
    const { others, leafId, reader } = state;
    if (others === undefined || others.leafId === leafId) return;
    if (leafId === null || isOnPath(leafId, others.leafId, reader.tree)) state.branch(others.leafId);
  }

  /** Records that a claim has ended, for its holder. Returns whether it had. */
  async #fence(claimId: string, isStillGone: () => Promise<boolean>): Promise<boolean> {
    if (!this.#handle.state.exists) return true;
    for (let attempt = 1; ; attempt++) {
      await this.#catchUp();
      // Another one may have ended it, and be at work by now: a second entry would be in its way.
      if (await this.#isFenced(claimId)) return true;
      // This process may have been stopped: whoever works by then is not to be disturbed.
      if (!(await isStillGone())) return false;
      try {
        await this.#handle.append([turnTaken.draft({ claimId })]);
        return true;
      } catch (error) {
        if (!SessileError.is(error, "CONCURRENT_WRITER") || attempt === maxAttempts) throw error;
      }
    }
  }

  async #isFenced(claimId: string): Promise<boolean> {
    const { reader, cache } = this.#handle.state;
    const rows = treeRows(reader.tree);
    const custom = rows.kindCode("custom");
    for (let row = rows.size - 1; row >= Math.max(0, rows.size - maxFenceRows); row--) {
      const entry = rows.kindAt(row) === custom ? await cache.read(row) : undefined;
      if (entry !== undefined && turnTaken.read(entry)?.claimId === claimId) return true;
    }
    return false;
  }

  #inOrder<T>(act: () => Promise<T>): Promise<T> {
    const done = this.#working.then(act);
    this.#working = done.catch(() => undefined);
    return done;
  }
}
