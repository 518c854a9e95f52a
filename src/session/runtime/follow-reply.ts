/** A reply as another process reads it: from its log while it streams, from its entry afterwards. */

import type { AssistantMessage, TextBlock, ThinkingBlock, ToolCall } from "../../content/index.js";
import { integerOption } from "../../core/arguments.js";
import { maxTimerMs } from "../../core/concurrency.js";
import { SessileError } from "../../core/errors/index.js";
import type { FollowReplyOptions, ReplyDelta, ReplyPart } from "../api/turn.js";
import { treeRows } from "../tree/session-tree.js";
import {
  blockDelta,
  callTag,
  parseReplyOffset,
  printReplyOffset,
  type ReplyBlock,
  type ReplyOffset,
  type ReplyPiece,
  StoredReplies,
} from "./reply-log.js";
import type { SessionState } from "./session-state.js";
import { SideLog, type SideOf } from "./side-log.js";
import { ClaimReader } from "./turn-lease.js";

/** The session of a followed reply. */
export interface FollowedSession {
  readonly state: SessionState;
  readonly of: SideOf;
  /** Reads new lines of the session. */
  readOn(): Promise<void>;
}

type MessageEntry = (ReplyPart & { readonly type: "end" })["entry"];

/** See `Session.followReply`. */
export async function* followReply(
  session: FollowedSession,
  id: string,
  { from, signal, live = true, pollMs }: FollowReplyOptions,
): AsyncGenerator<ReplyPart, void, undefined> {
  const { state, of } = session;
  const has = parseReplyOffset(from);
  const everyMs = integerOption("pollMs", pollMs, 1000, 1, maxTimerMs);
  const log = new SideLog({ ...of, mode: "read" }, "reply");
  const claims = new ClaimReader({ ...of, mode: "read" }, state.settings.now);
  const closed = new AbortController();
  const stopped = signal === undefined ? closed.signal : AbortSignal.any([signal, closed.signal]);
  const unheard = state.events.on("closed", () => closed.abort());
  let replies = new StoredReplies();
  let isKnown = false;
  /** Whether the process that streams the reply has ended, by the last look. */
  let isLeft = false;
  try {
    while (!stopped.aborted) {
      const lines = await log.read();
      if (lines === undefined || lines.isNew) replies = new StoredReplies();
      const pieces: ReplyPiece[] = [];
      for (const value of lines?.values ?? []) {
        const piece = replies.apply(value);
        if (piece?.reply.id === id) pieces.push(piece);
      }
      const deltas = newDeltas(pieces, has);
      if (deltas.length > 0) yield { type: "deltas", offset: printReplyOffset(has), deltas };
      const reply = replies.byId.get(id);
      isKnown ||= reply !== undefined;
      if (reply === undefined || reply.hasEnded) {
        // The entry comes before the end of its log.
        const entry = await storedReply(session, id);
        if (entry === undefined && !isKnown) throw notFound(state, id);
        if (entry === undefined) yield { type: "discarded", offset: printReplyOffset(has) };
        else yield* ofMessage(entry, has);
        return;
      }
      if (lines !== undefined && lines.values.length > 0) isLeft = false;
      else if (isLeft) {
        yield { type: "interrupted", offset: printReplyOffset(has) };
        return;
      } else {
        const holder = await claims.read();
        // The holder may have ended the reply between the two reads: only a log without more is left.
        isLeft = holder?.claimId !== reply.claimId || !claims.isLive(holder);
        if (!isLeft && !live) return;
        if (!isLeft) await log.changed(stopped, everyMs);
      }
    }
  } finally {
    unheard();
    await log.close();
    await claims.log.close();
  }
}

function place({ type, id = "" }: Pick<ReplyBlock, "type" | "id">) {
  return { type, ...(type === "toolCall" ? { tag: callTag(id) } : {}) };
}

/** The pieces that a reader does not have, joined by block. Adds them to what it has. */
function newDeltas(pieces: readonly ReplyPiece[], has: ReplyOffset): readonly ReplyDelta[] {
  const deltas: ReplyDelta[] = [];
  let parts: string[] = [];
  for (const [at, { reply, index, start, text }] of pieces.entries()) {
    const block = reply.blocks[index] as ReplyBlock;
    const known = has[index];
    const length = Math.max(known?.length ?? 0, start + text.length);
    if (known === undefined || length > known.length)
      parts.push(text.slice((known?.length ?? start) - start));
    if (known === undefined || parts.length > 0) has[index] = { ...place(block), length };
    const next = pieces[at + 1];
    if (parts.length === 0 || (next?.index === index && next.reply === reply)) continue;
    deltas.push(blockDelta(block, index, parts.join("")));
    parts = [];
  }
  return deltas;
}

async function storedReply({ state, readOn }: FollowedSession, id: string) {
  await readOn();
  if (!state.reader.tree.has(id)) await state.complete();
  const row = treeRows(state.reader.tree).row(id);
  const entry = row < 0 ? undefined : await state.cache.read(row);
  return entry?.type === "message" ? entry : undefined;
}

/** What a reader does not have of a reply that is an entry, and its end. */
function* ofMessage(entry: MessageEntry, has: ReplyOffset): Generator<ReplyPart> {
  const { message } = entry;
  const deltas = message.role === "assistant" ? restOfMessage(message, has) : [];
  if (deltas.length > 0) yield { type: "deltas", offset: printReplyOffset(has), deltas };
  yield { type: "end", offset: printReplyOffset(has), entry };
}

function restOfMessage({ content }: AssistantMessage, has: ReplyOffset): readonly ReplyDelta[] {
  const deltas: ReplyDelta[] = [];
  // Blocks that do not stream have places in a message, so that the texts of one type are told by their order. Those
  // without text are left out: the message of an interrupted reply has none of them.
  const known = [...has.keys()].filter((index) => has[index] !== undefined);
  const texts = known.filter((index) => has[index]?.length !== 0);
  for (const block of content) {
    if (block.type !== "text" && block.type !== "thinking" && block.type !== "toolCall") continue;
    const text = blockText(block);
    if (text === "") continue;
    const { id = "", name = "" } = block.type === "toolCall" ? block : {};
    const { type, tag } = place({ type: block.type, id });
    const places = tag === undefined ? texts : known;
    const at = places.findIndex((index) => has[index]?.type === type && has[index]?.tag === tag);
    const [index = has.length] = at === -1 ? [] : places.splice(at, 1);
    const length = has[index]?.length ?? 0;
    // The text of arguments that arrived need not be that of the message.
    if (type === "toolCall" ? length > 0 : length >= text.length) continue;
    has[index] = { type, length: text.length, ...(tag === undefined ? {} : { tag }) };
    deltas.push(blockDelta({ type, id, name }, index, text.slice(length)));
  }
  return deltas;
}

function blockText(block: TextBlock | ThinkingBlock | ToolCall): string {
  if (block.type === "text") return block.text;
  return block.type === "thinking" ? block.thinking : JSON.stringify(block.arguments);
}

function notFound(state: SessionState, replyId: string): SessileError<"REPLY_NOT_FOUND"> {
  const { id } = state.header;
  const message = `session ${id} has no reply ${SessileError.printable(replyId)}`;
  return new SessileError("REPLY_NOT_FOUND", message, { details: { id, replyId } });
}
