import { setTimeout } from "node:timers/promises";
import {
  assistantMessage,
  memoryBlobStore,
  memorySessionStore,
  type Session,
  type SessionStore,
  userMessage,
} from "sessile";
import { ingest } from "sessile/attachments";
import { beforeEach, describe, expect, it } from "vitest";
import { scriptedModel } from "../../../../examples/apps/service/script.js";
import { type Question, runTurn } from "../../../../examples/apps/service/turn.js";
import type { Model } from "../../../../examples/apps/support/claude.js";

let sessions: SessionStore;
let session: Session;
beforeEach(async () => {
  sessions = memorySessionStore();
  session = await sessions.create({ cwd: "/", id: "s" });
  await session.updateInfo({ title: "A session" });
  await session.flush();
});

const { signal } = new AbortController();
const never: Model = { generate: () => new Promise(() => {}) };
const question = (text: string, key = text): Question => ({ key, text, attachments: [] });
const run = (on: Session, asked: Question, model = scriptedModel(0), turnMs = 60_000) =>
  runTurn(on, asked, { model, signal, turnMs });
/** A handle as of another process. */
const other = () => sessions.open("s", { mode: "write" });
const roles = async () => {
  const seen = await sessions.open("s");
  return (await seen.path()).flatMap((entry) =>
    entry.type === "message" && "role" in entry.message ? [entry.message.role] : [],
  );
};
/** Until a question is in the log, and nothing else. */
const untilAsked = () => expect.poll(roles, { interval: 2 }).toEqual(["user"]);
const failure = (status: number, code: string) =>
  expect.objectContaining({ status, body: expect.objectContaining({ code }) });

describe("a turn", () => {
  it("is in the log once, however often it is asked for, and by whichever process", async () => {
    const turn = await run(session, question("one"));
    expect(turn).toEqual({ questionId: "one.question", answerId: "one.answer", answer: "1: one" });
    expect(await run(session, question("one"))).toEqual(turn);
    expect(await run(await other(), question("one"), never)).toEqual(turn);
    expect(await roles()).toEqual(["user", "assistant"]);
  });

  it("is finished by another process if the first one died after the question", async () => {
    void run(session, question("one"), never);
    await untilAsked();
    expect((await run(await other(), question("one"))).answer).toBe("1: one");
    expect(await roles()).toEqual(["user", "assistant"]);
  });

  it("has one answer if two processes finish it: the first that is appended", async () => {
    let goOn = () => {};
    const isAnswered = new Promise<void>((done) => {
      goOn = done;
    });
    const slow: Model = {
      async generate() {
        await isAnswered;
        return assistantMessage({ provider: "p", model: "m" }, "late");
      },
    };
    const late = run(session, question("one"), slow);
    await untilAsked();
    const early = await run(await other(), question("one"));
    goOn();
    expect(await late).toEqual(early);
    expect(await roles()).toEqual(["user", "assistant"]);
  });

  it("refuses a key of another question", async () => {
    await run(session, question("one", "key"));
    await expect(run(session, question("two", "key"))).rejects.toEqual(failure(422, "KEY_REUSED"));
    expect(await roles()).toEqual(["user", "assistant"]);
  });

  it("compares questions without their attachments' descriptors", async () => {
    const attachments = [await ingest({ bytes: Buffer.from("a file") }, { blobs: memoryBlobStore() })];
    const turn = await run(session, { key: "key", text: "What is this?", attachments });
    expect(await run(session, { key: "key", text: "What is this?", attachments: [] })).toEqual(turn);
  });

  it("refuses a question while another waits for its answer, until that one's time is over", async () => {
    void run(session, question("one"), never);
    await untilAsked();
    await expect(run(await other(), question("two"))).rejects.toEqual(failure(409, "TURN_RUNNING"));
    await setTimeout(10);
    expect((await run(await other(), question("two"), scriptedModel(0), 5)).answer).toBe("2: two");
    // Its answer would be behind another turn.
    await expect(run(await other(), question("one"))).rejects.toEqual(failure(409, "TURN_OVERTAKEN"));
    expect(await roles()).toEqual(["user", "user", "assistant"]);
  });

  it("refuses the second of two questions that are asked at once", async () => {
    const both = await Promise.allSettled([
      run(session, question("one")),
      run(await other(), question("two")),
    ]);
    const refused = both.filter(({ status }) => status === "rejected");
    expect(refused).toEqual([{ status: "rejected", reason: failure(409, "TURN_RUNNING") }]);
    expect(await roles()).toEqual(["user", "assistant"]);
  });

  it("does not hide other failures", async () => {
    const failing: Model = { generate: () => Promise.reject(new Error("no model")) };
    await expect(run(session, question("one"), failing)).rejects.toThrow("no model");
    await session.close();
    await expect(run(session, question("one"))).rejects.toMatchObject({ code: "SESSION_CLOSED" });
  });

  it("follows a conversation of another kind of client", async () => {
    await session.appendMessage(userMessage("Hello"));
    await session.appendMessage(assistantMessage({ provider: "p", model: "m" }, "Hello"));
    expect((await run(await other(), question("two"))).answer).toBe("2: two");
  });
});
