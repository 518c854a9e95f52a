/** The work of one client, and its own check of everything that was acknowledged. */
import { isDeepStrictEqual } from "node:util";
import type { Answer, ServiceClient } from "./client.js";

/** A client with its sessions. */
export interface Worker {
  readonly client: ServiceClient;
  /** The id of its session; unique among all tenants. */
  readonly id: string;
}

/** The text of a question. */
const questionOf = ({ id }: Worker, turn: number) => `question ${turn} of ${id}`;
const bytesOf = ({ id }: Worker) => Buffer.from(`an attachment of ${id}`);
const forkedTurns = 2;

/** Everything of a worker that was acknowledged. */
export interface Done {
  /** Of the attachment. */
  readonly ref: string;
  readonly turns: number;
}

/**
 * Creates a session, uploads, takes turns, forks, archives the fork, and deletes another session.
 *
 * @param goesOn whether to take another turn after so many; two are the least
 */
export async function work(worker: Worker, goesOn: (turns: number) => boolean): Promise<Done> {
  const { client, id } = worker;
  expectStatus(await client.send("PUT", `/sessions/${id}`, { title: `Session of ${id}` }), 201, 200);
  const upload = await client.send<{ ref: string }>("POST", "/blobs", bytesOf(worker));
  expectStatus(upload, 201);
  const { ref } = upload.body;
  let turns = 0;
  while (turns < forkedTurns || goesOn(turns)) {
    const turn = ++turns;
    const text = questionOf(worker, turn);
    const answer = await client.turn(id, text, turn === 1 ? [ref] : []);
    expectStatus(answer, 200);
    // The model counts the questions of its context.
    if (!answer.body.answer.startsWith(`${turn}: ${text}`)) throw new Error(`${id}: ${answer.body.answer}`);
    if (turn === forkedTurns) {
      const fork = { id: `${id}-fork`, upTo: answer.body.answerId };
      expectStatus(await client.send("POST", `/sessions/${id}/forks`, fork), 201, 200);
    }
  }
  expectStatus(await client.send("PATCH", `/sessions/${id}-fork`, { archived: true }), 200);
  expectStatus(await client.send("PUT", `/sessions/${id}-gone`, { title: "To be deleted" }), 201, 200);
  expectStatus(await client.turn(`${id}-gone`, "Is this kept?"), 200);
  // 404 if the answer to an earlier attempt was lost.
  expectStatus(await client.send("DELETE", `/sessions/${id}-gone`), 204, 404);
  return { ref, turns };
}

/** Differences between the acknowledged work and the sessions: every turn once, in order, nothing else. */
export async function findProblems(worker: Worker, { ref, turns }: Done): Promise<readonly string[]> {
  const { client, id } = worker;
  const problems: string[] = [];
  const check = (name: string, actual: unknown, expected: unknown) => {
    if (isDeepStrictEqual(actual, expected)) return;
    problems.push(`${id}: ${name}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`);
  };
  const texts = async (session: string) =>
    (await client.messages(session)).map(({ role, text }) => `${role} ${text.split("\n")[0]}`);
  const history = (count: number) =>
    Array.from({ length: count }, (_, at) => questionOf(worker, at + 1)).flatMap((text, at) => [
      `user ${text}`,
      `assistant ${at + 1}: ${text}`,
    ]);
  check("history", await texts(id), history(turns));
  check("fork", await texts(`${id}-fork`), history(forkedTurns));
  check("attachment", (await client.messages(id))[0]?.attachments, [ref]);
  check("bytes", (await client.send("GET", `/blobs/${ref}`)).status, 200);
  check("deleted", (await client.send("GET", `/sessions/${id}-gone`)).status, 404);
  const own = async (archived: boolean) =>
    (await client.list({ limit: 7, archived })).map((session) => session.id);
  check(
    "listed",
    (await own(false)).filter((listed) => listed === id || listed === `${id}-gone`),
    [id],
  );
  check("archived", (await own(true)).includes(`${id}-fork`), true);
  return problems;
}

/** Things of a worker that another tenant can see. */
export async function findLeaks(
  stranger: ServiceClient,
  { id }: Worker,
  { ref }: Done,
): Promise<readonly string[]> {
  const turn = { text: "Who is there?" };
  const answers = {
    read: await stranger.send("GET", `/sessions/${id}`),
    turn: await stranger.send("POST", `/sessions/${id}/turns`, turn, {
      "idempotency-key": "a-strangers-key",
    }),
    fork: await stranger.send("POST", `/sessions/${id}/forks`, { id: `${id}-stolen` }),
    archive: await stranger.send("PATCH", `/sessions/${id}`, { archived: true }),
    delete: await stranger.send("DELETE", `/sessions/${id}`),
    events: await stranger.send("GET", `/sessions/${id}/events`),
    blob: await stranger.send("GET", `/blobs/${ref}`),
  };
  const seen = Object.entries(answers).filter(([, { status }]) => status !== 404);
  const listed = (await stranger.list()).filter(
    (session) => session.id === id || session.id.startsWith(`${id}-`),
  );
  return [
    ...seen.map(([name, { status }]) => `${id}: ${name}: ${status}`),
    ...listed.map((session) => session.id),
  ];
}

function expectStatus({ status, body }: Answer, ...expected: readonly number[]): void {
  if (!expected.includes(status))
    throw new Error(`expected ${expected}, got ${status} ${JSON.stringify(body)}`);
}
