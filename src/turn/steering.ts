/**
 * Messages that a person adds while a turn runs: durable at once, and part of the conversation from the next request
 * on. Until then an entry outside the conversation holds each of them, since it must not come between a call and its
 * result.
 */

import { asUserMessage, type UserMessage } from "../content/index.js";
import { isBroken } from "../content/internal.js";
import { Mutex } from "../core/concurrency.js";
import { SessileError } from "../core/errors/index.js";
import { uuidv7 } from "../core/ids.js";
import { isRecord } from "../core/shape.js";
import { ownEntry } from "../log/internal.js";
import type { EntryDraft, Session } from "../session/index.js";

/** A message that waits, and the id that its entry will have, so that it enters once. */
interface Steering {
  readonly messageId: string;
  readonly message: UserMessage;
}

const steering = ownEntry<Steering>("sessile.steering", (data) => {
  if (!isRecord(data) || typeof data.messageId !== "string")
    throw new TypeError("steering: expected a messageId and a message");
  return { messageId: data.messageId, message: asUserMessage(data.message, { trusted: true }) };
});

/**
 * Adds a message for a turn that runs, in this process or another: durable once it resolves. `runTurn` appends it
 * to the conversation before its next request, in the order of the calls; after a crash, the next `runTurn` does.
 *
 * @param session any handle of the session that is open for writing, such as one of its own in another process
 * @param messageId the id that the message is to have. One that the session has, or that waits, is not added again
 * @returns the id that the message will have
 * @throws errors of `append`
 * @example
 * ```ts
 * await steer(session, userMessage("Use the other file."));
 * ```
 */
export async function steer(session: Session, message: UserMessage, messageId?: string): Promise<string> {
  const id = messageId ?? uuidv7(Date.now());
  const draft = { ...steering.draft({ messageId: id, message }), id: `${id}.steering` };
  const isKnown = async (entryId: string) => (await session.entry(entryId)) !== undefined;
  if (messageId !== undefined && ((await isKnown(id)) || (await isKnown(draft.id)))) return id;
  try {
    await session.append([draft], { conflict: "follow" });
  } catch (error) {
    // Another handle has added it meanwhile.
    if (messageId === undefined || !(await isKnown(draft.id))) throw error;
  }
  return id;
}

/** Replies behind which no message waits: each request takes all that came before it. */
const mostReplies = 2;

/** The messages that wait, as drafts, oldest first. Reads the newest entries of the path alone. */
export async function waitingMessages(session: Session): Promise<readonly EntryDraft[]> {
  const waiting: EntryDraft[] = [];
  const entered = new Set<string>();
  let replies = 0;
  let before: string | undefined;
  do {
    const page = await session.recent({ messages: 50, ...(before === undefined ? {} : { before }) });
    for (const entry of page.entries.toReversed()) {
      if (entry.type === "message") {
        entered.add(entry.id);
        const { message } = entry;
        // No message enters between the parts of a reply that was paused or broke off.
        if (message.role === "assistant" && message.stopReason !== "pause" && !isBroken(message)) replies++;
      }
      if (replies === mostReplies) break;
      const found = steering.read(entry);
      if (found !== undefined && !entered.has(found.messageId))
        waiting.unshift({ type: "message", id: found.messageId, message: found.message });
    }
    before = page.before;
  } while (replies < mostReplies && before !== undefined);
  if (waiting.length === 0) return waiting;
  // One that entered longer ago, or on another branch.
  const tree = await session.tree();
  return waiting.filter(({ id }) => id === undefined || !tree.has(id));
}

const metadata: ReadonlySet<string> = new Set(["label", "session_info", "usage"]);

/**
 * Moves the leaf behind messages that other handles added after it. Returns whether there were some: not if anything
 * else is behind them, which another process added that has taken the turn on.
 *
 * @param conflict whose other entries may be such messages on other branches, which wait there
 */
export async function followSteering(
  session: Session,
  conflict?: SessileError<"CONCURRENT_WRITER">,
): Promise<boolean> {
  const tree = await session.tree();
  let leaf = session.leafId;
  let isSteered = false;
  for (;;) {
    const next = tree.children(leaf).at(-1);
    if (next === undefined) break;
    const entry = next.type === "custom" ? await session.entry(next.id) : undefined;
    if (entry !== undefined && steering.read(entry) !== undefined) isSteered = true;
    else if (!metadata.has(next.type)) return false;
    leaf = next.id;
  }
  if (isSteered) await session.branch(leaf);
  return isSteered || (conflict !== undefined && followElsewhere(session, conflict.details));
}

/** The entries of the last conflict of a session that were messages on other branches. */
const elsewhere = new WeakMap<Session, string>();

/** Returns whether messages on other branches are all that other handles added. The leaf stays. */
async function followElsewhere(
  session: Session,
  details: SessileError<"CONCURRENT_WRITER">["details"],
): Promise<boolean> {
  // Appends of calls beside each other fail together. A second move would part the first one's next append from theirs.
  const ids = JSON.stringify(details.entryIds);
  if (elsewhere.get(session) === ids) return true;
  if (!(await isSteeringAlone(session, details))) return false;
  elsewhere.set(session, ids);
  await session.branch(session.leafId);
  return true;
}

async function isSteeringAlone(
  session: Session,
  { added = 0, entries = [] }: SessileError<"CONCURRENT_WRITER">["details"],
): Promise<boolean> {
  if (added === 0 || added > entries.length) return false;
  for (const { id, type } of entries) {
    const entry = type === "custom" ? await session.entry(id) : undefined;
    const isSteering = entry !== undefined && steering.read(entry) !== undefined;
    if (!isSteering && !metadata.has(type)) return false;
  }
  return true;
}

/**
 * Makes an append of a turn. Steering by another handle is no conflict: the entries follow it. Anything else is, so
 * that one process runs a call.
 *
 * @param append makes the same append with each call
 * @param attempts of a function of the caller, whose conflict may be with something else
 * @throws SessileError CONCURRENT_WRITER if another handle took the turn on
 */
export async function besideSteering<T>(
  session: Session,
  append: () => Promise<T>,
  attempts = Number.POSITIVE_INFINITY,
): Promise<T> {
  for (let left = attempts - 1; ; left--) {
    try {
      return await append();
    } catch (error) {
      if (!SessileError.is(error, "CONCURRENT_WRITER") || left <= 0) throw error;
      // Another append of the turn, which failed with this one, may have moved the leaf.
      const { expected } = error.details;
      const moved = await oneAtATime(session).run(
        async () => (session.leafId ?? "none") !== expected || followSteering(session, error),
      );
      if (!moved) throw error;
    }
  }
}

const mutexes = new WeakMap<Session, Mutex>();

/** What moves the leaf of a session, one after the other. */
export function oneAtATime(session: Session): Mutex {
  const mutex = mutexes.get(session) ?? new Mutex();
  mutexes.set(session, mutex);
  return mutex;
}
