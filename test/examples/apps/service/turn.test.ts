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
import { answering, scriptedModel } from "../../../../examples/apps/service/script.js";
import { answerQuestion, type Question } from "../../../../examples/apps/service/turn.js";

let sessions: SessionStore;
let session: Session;
beforeEach(async () => {
  sessions = memorySessionStore();
  session = await sessions.create({ cwd: "/", id: "s" });
  await session.updateInfo({ title: "A session" });
  await session.flush();
});

const { signal } = new AbortController();
const never = answering((_questions, ended) => rejected(ended));
const question = (text: string, key = text): Question => ({ key, text, attachments: [] });
const run = (on: Session, asked: Question, model = scriptedModel(0)) =>
  answerQuestion(on, asked, { model, signal });
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
    expect(turn).toEqual({ questionId: "one.question", answerId: expect.any(String), answer: "1: one" });
    expect(await run(session, question("one"))).toEqual(turn);
    expect(await run(await other(), question("one"), never)).toEqual(turn);
    expect(await roles()).toEqual(["user", "assistant"]);
  });

  it("is finished by another process if the first one ended after the question", async () => {
    const first = run(session, question("one"), never);
    await untilAsked();
    await Promise.all([session.close(), expect(first).rejects.toMatchObject({ code: "SESSION_CLOSED" })]);
    expect((await run(await other(), question("one"))).answer).toBe("1: one");
    expect(await roles()).toEqual(["user", "assistant"]);
  });

  it("has one answer if two processes are asked, of a model that is asked once", async () => {
    let goOn = () => {};
    const isReady = new Promise<void>((done) => {
      goOn = done;
    });
    let asked = 0;
    const slow = answering(async () => {
      asked++;
      await isReady;
      return "once";
    });
    const first = run(session, question("one"), slow);
    await untilAsked();
    await expect(run(await other(), question("one"), slow)).rejects.toEqual(failure(409, "TURN_RUNNING"));
    goOn();
    const turn = await first;
    expect(turn.answer).toBe("once");
    expect(await run(await other(), question("one"), slow)).toEqual(turn);
    expect(asked).toBe(1);
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

  it("takes a question while another waits for its answer, and answers it behind that", async () => {
    let goOn = () => {};
    const isReady = new Promise<void>((done) => {
      goOn = done;
    });
    const slow = answering(async (questions) => {
      if (questions.length === 1) await isReady;
      return `${questions.length}: ${questions.at(-1)}`;
    });
    const first = run(session, question("one"), slow);
    await untilAsked();
    for (let repeated = 0; repeated < 2; repeated++)
      await expect(run(await other(), question("two"))).rejects.toEqual(failure(409, "TURN_RUNNING"));
    goOn();
    expect((await first).answer).toBe("1: one");
    expect((await run(await other(), question("two"), never)).answer).toBe("2: two");
    expect(await roles()).toEqual(["user", "assistant", "user", "assistant"]);
  });

  it("answers each of two questions that are asked at once, perhaps in one reply, if they are repeated", async () => {
    const both = [question("one"), question("two")];
    const handles = [session, await other()];
    await Promise.allSettled(both.map((asked, at) => run(handles[at] as Session, asked)));
    for (const asked of both) expect((await run(await other(), asked)).answer).toContain(asked.text);
    expect((await roles()).filter((role) => role === "user")).toHaveLength(2);
  });

  it("does not hide other failures", async () => {
    const failing = answering(() => Promise.reject(new Error("no model")));
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

function rejected(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
}
