import { Pool } from "pg";
import { assistantMessage, type Session, type SessionStore, userMessage } from "sessile";
import { SessileError } from "sessile/errors";
import { fileSessionStore } from "sessile/node";
import { postgresSessionStore } from "sessile/postgres";
import { numbers } from "./postgres-work.js";
import { say } from "./say.js";

/**
 * A process that takes turns of one session until it is killed, or follows its replies. Each message names the claim
 * that it was made under, so that the log shows whether two turns were at work at once.
 */

const [role = "", address = "", id = "", seed = "1", ttl = "30000"] = process.argv.slice(2);
const random = numbers(Number(seed));
const maker = { provider: "p", model: "m" };
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function openStore(): Promise<SessionStore> {
  if (address.startsWith("postgres:")) {
    const pool = new Pool({ connectionString: address, max: 4 });
    pool.on("error", () => undefined);
    return postgresSessionStore({ db: pool, notify: true });
  }
  return fileSessionStore({ dir: address, durability: "os", lockWaitMs: 60_000 });
}

/** The reply to the turn of a number: its text is known to the test. */
const replyText = (turn: string) => Array.from({ length: 12 }, (_, at) => `${turn}.${at} `).join("");

async function turn(session: Session): Promise<void> {
  const claim = await session.claimTurn({ ttlMs: Number(ttl) });
  say(`claimed ${claim.id}`);
  const before = await session.turnState();
  if (before.state === "busyElsewhere") {
    // The claim was lost since: the process was stopped.
    claim.signal.throwIfAborted();
    throw new Error("busy elsewhere under an own claim");
  }
  if (before.state === "interruptedReply") {
    say(`interrupted ${before.replyId}`);
    await session.recoverReply("keep");
  }
  await session.appendMessage(userMessage(`ask ${claim.id}`));
  if (random(3) === 0) await pause(random(6));
  const reply = await session.reply({ ...maker, batchChars: 20 });
  const text = replyText(claim.id);
  for (let at = 0; at < text.length; ) {
    const piece = text.slice(at, at + 1 + random(9));
    reply.push({ type: "text", index: 0, text: piece });
    at += piece.length;
    if (random(4) === 0) await reply.flush();
    if (random(6) === 0) await pause(random(4));
  }
  await reply.end(assistantMessage(maker, text));
  say(`answered ${reply.id}`);
  await claim.release();
  say(`released ${claim.id}`);
}

/** A process that was stopped just before it ended an old claim is in the way of one append, and of nothing else. */
function isStaleFence(error: unknown): boolean {
  return (
    SessileError.is(error, "CONCURRENT_WRITER") &&
    error.details.entries?.every(({ type }) => type === "custom") === true
  );
}

async function work(): Promise<void> {
  const store = await openStore();
  let session: Session | undefined;
  for (;;) {
    try {
      session ??= await store.open(id, { mode: "write" });
      await turn(session);
    } catch (error) {
      const code = error instanceof SessileError ? error.code : String((error as Error).stack);
      const isExpected =
        ["TURN_BUSY", "TURN_LOST", "STORAGE_FAILED", "SESSION_LOCKED"].includes(code) || isStaleFence(error);
      say(`${isExpected ? "again" : "bad"} ${code}`);
      if (code === "TURN_BUSY") {
        await pause(2 + random(10));
        continue;
      }
      await session?.close();
      session = undefined;
    }
  }
}

/** Follows each reply that it meets, and says what it saw. */
async function follow(): Promise<void> {
  const store = await openStore();
  const session = await store.open(id);
  for (let last = ""; ; ) {
    const state = await session.turnState();
    const replyId = "replyId" in state ? state.replyId : undefined;
    if (replyId === undefined || replyId === last) {
      await session.refresh();
      await pause(1);
      continue;
    }
    let text = "";
    let how = "";
    let from: string | undefined;
    try {
      for (let isDone = false; !isDone; ) {
        isDone = true;
        const options = { pollMs: 50, ...(from === undefined ? {} : { from }) };
        for await (const part of session.followReply(replyId, options)) {
          if (part.type === "deltas")
            for (const delta of part.deltas) text += "text" in delta ? delta.text : "";
          how = part.type;
          from = part.offset;
          // Goes on with another connection.
          isDone = part.type !== "deltas" || random(3) > 0;
          if (!isDone) break;
        }
      }
    } catch (error) {
      if (!SessileError.is(error, "REPLY_NOT_FOUND")) say(`bad ${String((error as Error).stack)}`);
    }
    say(`saw ${replyId} ${how} ${JSON.stringify(text)}`);
    if (how === "end") last = replyId;
  }
}

await (role === "follow" ? follow() : work());
