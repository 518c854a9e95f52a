/** Cases of turns: leases, replies that are recorded while they stream, and what other handles see of them. */

import { assistantMessage, userMessage } from "../../content/index.js";
import { SessileError } from "../../core/errors/index.js";
import { type ReplyDelta, type ReplyPart, type Session, sessionStore } from "../../session/index.js";
import { equal, rejects } from "../expect.js";
import { type ConformanceCase, collect, conformanceCase, cwd, type Harness, say } from "./harness.js";

const maker = { provider: "p", model: "m" };
const text = (delta: string, index = 0): ReplyDelta => ({ type: "text", index, text: delta });

/** The text of all deltas of the parts, by block. */
function textOf(parts: readonly ReplyPart[]): string {
  const deltas = parts.flatMap((part) => (part.type === "deltas" ? part.deltas : []));
  return deltas.map((delta) => (delta.type === "toolCall" ? delta.arguments : delta.text)).join("");
}

/** The first parts of a reply, up to the last that is there. */
async function partsNow(
  session: Session,
  id: string,
  count: number,
  from?: string,
): Promise<readonly ReplyPart[]> {
  const parts: ReplyPart[] = [];
  const options = { pollMs: 20, ...(from === undefined ? {} : { from }) };
  for await (const part of session.followReply(id, options)) if (parts.push(part) === count) break;
  return parts;
}

const listed = async (harness: Harness) =>
  (await collect((await harness.store()).list())).map(({ id }) => id);

/** A case for backends whose logs can be deleted. */
function turnCase(name: string, run: (harness: Harness) => Promise<void>): ConformanceCase {
  return conformanceCase(name, async (harness) => {
    const { backend } = await harness.store();
    const { log } = await backend.create({
      id: "probe",
      partition: "",
      cwd,
      timestamp: new Date().toISOString(),
    });
    await log.close();
    if (log.delete === undefined) return { skipped: "the logs of this backend cannot be deleted" };
    await run(harness);
    return undefined;
  });
}

export const turnCases: readonly ConformanceCase[] = [
  turnCase("one handle has the turn; another is told who, until it is released", async (harness) => {
    const session = await harness.start();
    const asked = session.leafId as string;
    const other = await harness.open(session.id);
    const claim = await session.claimTurn();
    await rejects(() => other.claimTurn(), "TURN_BUSY", "TURN_BUSY");
    await rejects(() => other.reply(maker), "TURN_BUSY", "TURN_BUSY");
    const busy = await other.turnState();
    equal([busy.state, "claimId" in busy && busy.claimId], ["busyElsewhere", claim.id], "elsewhere");
    equal(await session.turnState(), { state: "awaitingReply", entryId: asked }, "here");
    equal(await other.turnState(asked === other.leafId ? null : asked), { state: "idle" }, "another leaf");
    await claim.release();
    equal((await other.turnState()).state, "awaitingReply", "after the release");
    const second = await other.claimTurn();
    await rejects(() => session.claimTurn(), "TURN_BUSY", "TURN_BUSY");
    await other.close();
    equal(claim.signal.aborted, false, "a release is no loss");
    const ended: unknown = second.signal.reason;
    equal(SessileError.is(ended, "SESSION_CLOSED"), true, "a close ends the work of the turn");
    await (await session.claimTurn()).release();
    equal(await listed(harness), [session.id], "a list has the session alone");
  }),

  turnCase("a claim reads what others appended, and moves the leaf to it", async (harness) => {
    const session = await harness.start();
    const other = await harness.open(session.id);
    const [added] = await session.append([say("more")]);
    const claim = await other.claimTurn();
    equal(other.leafId, added?.id, "leaf");
    await other.append([say("and more")]);
    await claim.release();
  }),

  turnCase("a claim that is not renewed is taken over, and its holder cannot append", async (harness) => {
    const session = await harness.start();
    const store = await harness.store();
    const stopped = await harness.keep(store.open(session.id, { mode: "write" }));
    const claim = await stopped.claimTurn({ ttlMs: 600_000 });
    // An hour later, by the clock of another machine.
    const later = sessionStore(store.backend, { now: () => Date.now() + 3_600_000 });
    const heir = await harness.keep(later.open(session.id, { mode: "write" }));
    const taken = await heir.claimTurn({ ttlMs: 7_200_000 });
    await rejects(() => stopped.append([say("late")]), "TURN_LOST", "TURN_LOST");
    await rejects(() => stopped.append([say("late")], { conflict: "follow" }), "TURN_LOST", "TURN_LOST");
    equal(claim.signal.aborted, true, "the signal of the lost claim");
    const [next] = await heir.append([say("mine")]);
    await claim.release();
    await rejects(() => stopped.claimTurn(), "TURN_BUSY", "TURN_BUSY");
    await taken.release();
    await (await stopped.claimTurn()).release();
    equal(stopped.leafId, next?.id, "leaf of the first holder");
  }),

  turnCase("a reply is read by others while it streams, and becomes one message", async (harness) => {
    const session = await harness.start();
    const reply = await session.reply({ ...maker, batchMs: 600_000, batchChars: 8 });
    const reader = await harness.open(session.id, "read");
    reply.push(text("Hello"));
    reply.push(text(", world"));
    await reply.flush();
    const [first] = await partsNow(reader, reply.id, 1);
    equal(textOf(first === undefined ? [] : [first]), "Hello, world", "what arrived");
    equal(await reader.turnState().then((turn) => "replyId" in turn && turn.replyId), reply.id, "its id");
    const rest = partsNow(reader, reply.id, 99, first?.offset);
    const call = { type: "toolCall", id: "c1", name: "look", arguments: "" } as const;
    reply.push({ ...call, index: 1 });
    reply.push({ ...call, index: 1, arguments: '{"a":1}' });
    reply.push(text("\ud83d", 2));
    await reply.flush();
    reply.push(text("\ude00!", 2));
    const message = assistantMessage(
      maker,
      "Hello, world",
      { type: "toolCall", id: "c1", name: "look", arguments: { a: 1 } },
      "😀!",
    );
    const entry = await reply.end(message);
    equal([entry.id, session.leafId], [reply.id, reply.id], "the entry");
    const parts = await rest;
    equal(textOf(parts), '{"a":1}😀!', "from an offset");
    equal(parts.at(-1)?.type, "end", "the end");
    const whole = await partsNow(await harness.open(session.id, "read"), reply.id, 99);
    equal(textOf(whole), 'Hello, world{"a":1}😀!', "from the entry");
    await harness.reads(session.id, [...(await session.path())] as never, "after a reply");
    equal(await listed(harness), [session.id], "list");
    await rejects(() => partsNow(reader, "nothing", 1), "REPLY_NOT_FOUND", "REPLY_NOT_FOUND");
  }),

  turnCase("a reply whose handle is closed is interrupted: kept, discarded or continued", async (harness) => {
    const session = await harness.start();
    const asked = session.leafId;
    const leave = async (words: string) => {
      const writer = await harness.open(session.id);
      const reply = await writer.reply(maker);
      reply.push(text(words));
      reply.push({ type: "toolCall", index: 1, id: "c1", name: "look", arguments: '{"cut' });
      await writer.close();
      return reply.id;
    };
    const left = await leave("so far");
    const reader = await harness.open(session.id, "read");
    const found = await reader.turnState();
    equal([found.state, "replyId" in found && found.replyId], ["interruptedReply", left], "state");
    const content = "message" in found ? found.message.content : [];
    equal(content, [{ type: "text", text: "so far" }], "content");
    equal("entryId" in found && found.entryId, asked, "place");
    equal((await partsNow(reader, left, 9)).at(-1)?.type, "interrupted", "followed");
    const continuing = await harness.open(session.id);
    const reply = await continuing.reply({ ...maker, interrupted: "continue" });
    equal([reply.id, reply.prefix?.content], [left, content], "prefix");
    reply.push(text(", and on"));
    await reply.flush();
    equal(textOf(await partsNow(reader, left, 1)), 'so far{"cut, and on', "followed again");
    const entry = await reply.end(assistantMessage(maker, ", and on"));
    equal(
      entry.message.role === "assistant" && entry.message.content,
      [{ type: "text", text: "so far, and on" }],
      "joined",
    );
    await continuing.append([say("again")]);
    await leave("gone");
    const third = await harness.open(session.id);
    await third.recoverReply("discard");
    equal((await third.turnState()).state, "awaitingReply", "discarded");
    const kept = await leave("kept");
    const fourth = await harness.open(session.id);
    const next = await fourth.reply(maker);
    await next.discard();
    equal(await fourth.turnState(), { state: "aborted", entryId: kept }, "kept");
    equal((await fourth.entry(kept))?.type, "message", "its entry");
  }),

  turnCase("a reply whose message is stored is not told twice", async (harness) => {
    const session = await harness.start();
    const writer = await harness.open(session.id);
    const reply = await writer.reply(maker);
    reply.push(text("all of it"));
    await reply.flush();
    // The process ends between the message and the end of the record.
    const message = assistantMessage(maker, "all of it");
    await writer.append([{ type: "message", id: reply.id, message }]);
    await writer.close();
    const reader = await harness.open(session.id);
    equal((await reader.turnState()).state, "idle", "state");
    await reader.recoverReply("keep");
    const entries = await reader.path();
    equal(entries.filter(({ type }) => type === "message").length, 2, "messages");
    equal((await partsNow(reader, reply.id, 9)).at(-1)?.type, "end", "followed");
  }),

  turnCase("a deleted session takes its reply with it, and a new one of its id has none", async (harness) => {
    const store = await harness.store();
    const session = await harness.start({ store, id: "reused" });
    const writer = await harness.open(session.id);
    const reply = await writer.reply(maker);
    reply.push(text("secret"));
    await reply.flush();
    await store.delete(session.id);
    await rejects(
      () => reply.end(assistantMessage(maker, "secret")),
      "SESSION_NOT_FOUND",
      "SESSION_NOT_FOUND",
    );
    await writer.close();
    await session.close();
    const again = await harness.start({ id: "reused" });
    equal((await again.turnState()).state, "awaitingReply", "state");
    await rejects(() => partsNow(again, reply.id, 1), "REPLY_NOT_FOUND", "REPLY_NOT_FOUND");
    await (await again.reply(maker)).discard();
    equal(await listed(harness), [session.id], "list");
  }),

  turnCase("two replies of one handle are recorded at once", async (harness) => {
    const session = await harness.start();
    const claim = await session.claimTurn();
    const one = await session.reply(maker);
    const two = await session.reply(maker);
    for (const word of ["a", "b", "c"]) {
      one.push(text(word));
      await one.flush();
      two.push(text(word.toUpperCase()));
      await two.flush();
    }
    const reader = await harness.open(session.id, "read");
    equal(textOf(await partsNow(reader, one.id, 1)), "abc", "first");
    equal(textOf(await partsNow(reader, two.id, 1)), "ABC", "second");
    await two.end(assistantMessage(maker, "ABC"));
    equal(textOf(await partsNow(reader, one.id, 1)), "abc", "first, after the second");
    await one.discard();
    equal((await partsNow(reader, two.id, 9)).at(-1)?.type, "end", "end");
    await claim.release();
    await session.append([{ type: "message", message: userMessage("next") }]);
  }),
];
