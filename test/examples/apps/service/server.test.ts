import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { Agent, type IncomingMessage, request as send } from "node:http";
import { setTimeout } from "node:timers/promises";
import { memoryBlobStore, memorySessionStore, type Session, type SessionStore } from "sessile";
import { SessileError } from "sessile/errors";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { type ServiceClient, serviceClient } from "../../../../examples/apps/service/client.js";
import { limits } from "../../../../examples/apps/service/limits.js";
import { scriptedModel } from "../../../../examples/apps/service/script.js";
import { type Service, type ServiceOptions, startService } from "../../../../examples/apps/service/server.js";
import { requestAt } from "../support/request-at.js";

const services: Service[] = [];
const errors: unknown[] = [];
let sessions: SessionStore;
let service: Service;
let acme: ServiceClient;
let globex: ServiceClient;

const urlOf = ({ port }: Service) => `http://127.0.0.1:${port}`;

async function start(options: Partial<ServiceOptions> = {}): Promise<Service> {
  const started = await startService({
    sessions,
    blobs: memoryBlobStore({ quota: 1_000 }),
    modelOf: () => scriptedModel(0),
    tenants: { "acme-token": "acme", "globex-token": "globex" },
    port: 0,
    onError: (error) => errors.push(error),
    ...options,
  });
  services.push(started);
  return started;
}

beforeEach(async () => {
  sessions = memorySessionStore();
  service = await start();
  acme = serviceClient(urlOf(service), "acme-token");
  globex = serviceClient(urlOf(service), "globex-token");
});
afterEach(async () => {
  await Promise.all(services.splice(0).map((started) => started.close()));
  expect(errors.splice(0)).toEqual([]);
});

/** Until the question of a running turn is in session `a`. */
const untilAsked = (text: string) =>
  expect.poll(async () => (await acme.messages("a")).map((message) => message.text)).toContain(text);

const create = (id: string, by = acme) => by.send("PUT", `/sessions/${id}`, { title: `About ${id}` });
const refusal = async (answer: Promise<{ status: number; body: { error?: { code: string } } }>) => {
  const { status, body } = await answer;
  return [status, body.error?.code];
};

describe("the service", () => {
  it("creates a session once, and says so", async () => {
    expect(await create("a")).toEqual({ status: 201, body: { id: "a" } });
    expect(await create("a")).toEqual({ status: 200, body: { id: "a" } });
    expect(await create("a", globex)).toEqual({ status: 201, body: { id: "a" } });
    const { body } = await acme.send("GET", "/sessions/a");
    expect(body).toEqual({ id: "a", title: "About a", messages: [] });
  });

  it("lists by pages, newest first, and by archive", async () => {
    for (const id of ["a", "b", "c", "d", "e"]) {
      await create(id);
      await setTimeout(2);
    }
    await create("x", globex);
    const ids = async (options?: Parameters<ServiceClient["list"]>[0]) =>
      (await acme.list(options)).map(({ id }) => id);
    expect(await ids({ limit: 2 })).toEqual(["e", "d", "c", "b", "a"]);
    const archived = await acme.send<{ archivedAt?: string }>("PATCH", "/sessions/b", { archived: true });
    expect(archived.body.archivedAt).toMatch(/^\d{4}-/);
    expect(await ids({ archived: true })).toEqual(["b"]);
    expect(await ids({ archived: false, limit: 3 })).toEqual(["e", "d", "c", "a"]);
    await acme.send("PATCH", "/sessions/b", { archived: false });
    expect(await ids({ archived: true })).toEqual([]);
    expect(await refusal(acme.send("GET", "/sessions?limit=1000"))).toEqual([400, "INVALID_REQUEST"]);
    expect(await refusal(acme.send("GET", "/sessions?after=x"))).toEqual([400, "INVALID_REQUEST"]);
  });

  it("shows messages, all or behind one of them", async () => {
    await create("a");
    const first = await acme.turn("a", "One?");
    await acme.turn("a", "Two?");
    const shown = (await acme.messages("a")).map(({ role, text }) => [role, text]);
    expect(shown).toEqual([
      ["user", "One?"],
      ["assistant", "1: One?"],
      ["user", "Two?"],
      ["assistant", "2: Two?"],
    ]);
    const after = await acme.send<{ messages: readonly unknown[] }>(
      "GET",
      `/sessions/a?after=${first.body.answerId}`,
    );
    expect(after.body.messages).toHaveLength(2);
    expect(await refusal(acme.send("GET", "/sessions/a?after=none"))).toEqual([404, "NOT_FOUND"]);
  });

  it("attaches uploads of the tenant alone, by their bytes", async () => {
    await create("a");
    const { status, body } = await acme.send<{ ref: string; size: number }>(
      "POST",
      "/blobs",
      Buffer.from("hello"),
    );
    expect([status, body.size]).toEqual([201, 5]);
    await acme.turn("a", "What is this?", [body.ref]);
    expect((await acme.messages("a"))[0]?.attachments).toEqual([body.ref]);
    expect(await acme.send("GET", `/blobs/${body.ref}`)).toEqual({ status: 200, body: "hello" });
    await create("b", globex);
    expect(await refusal(globex.turn("b", "And this?", [body.ref]) as never)).toEqual([404, "NOT_FOUND"]);
    expect(await refusal(globex.send("GET", `/blobs/${body.ref}`))).toEqual([404, "NOT_FOUND"]);
    expect(await globex.messages("b")).toEqual([]);
  });

  it("forks once, up to an entry", async () => {
    await create("a");
    const first = await acme.turn("a", "One?");
    await acme.turn("a", "Two?");
    const fork = (id: string, upTo?: string) => acme.send("POST", "/sessions/a/forks", { id, upTo });
    expect(await fork("b", first.body.answerId)).toEqual({ status: 201, body: { id: "b" } });
    expect(await fork("b", first.body.answerId)).toEqual({ status: 200, body: { id: "b" } });
    expect(await acme.messages("b")).toHaveLength(2);
    await create("c");
    expect(await refusal(fork("c"))).toEqual([409, "SESSION_EXISTS"]);
    expect(await refusal(fork("d", "none"))).toEqual([404, "ENTRY_NOT_FOUND"]);
  });

  it("deletes", async () => {
    await create("a");
    expect((await acme.send("DELETE", "/sessions/a")).status).toBe(204);
    expect(await refusal(acme.send("DELETE", "/sessions/a"))).toEqual([404, "NOT_FOUND"]);
    expect(await refusal(acme.turn("a", "Are you there?") as never)).toEqual([404, "SESSION_NOT_FOUND"]);
  });

  it("holds each tenant to its quota", async () => {
    expect((await acme.send("POST", "/blobs", Buffer.alloc(900, 1))).status).toBe(201);
    const more = Buffer.alloc(900, 2);
    expect(await refusal(acme.send("POST", "/blobs", more))).toEqual([507, "QUOTA_EXCEEDED"]);
    expect((await globex.send("POST", "/blobs", more)).status).toBe(201);
  });

  it("sends entries as events, of other processes too, and the missed ones at a reconnect", async () => {
    await create("a");
    await acme.turn("a", "One?");
    const second = await start();
    const headers = { authorization: "Bearer acme-token" };
    const events = async (lastEventId: string | undefined, count: number) => {
      const stop = new AbortController();
      const own = { ...headers, ...(lastEventId && { "last-event-id": lastEventId }) };
      const response = await fetch(`${urlOf(second)}/sessions/a/events`, {
        headers: own,
        signal: stop.signal,
      });
      let text = "";
      for await (const chunk of response.body ?? []) {
        text += Buffer.from(chunk).toString("utf8");
        if (text.split("\n\n").length > count) break;
      }
      stop.abort();
      const data = [...text.matchAll(/^id: (.*)\nevent: message\ndata: (.*)$/gm)];
      return data.map(([, id = "", json = ""]) => [id, JSON.parse(json).text] as const);
    };
    const live = events(undefined, 4);
    await setTimeout(100);
    const turn = await acme.turn("a", "Two?");
    const texts = (await live).map(([, text]) => text);
    expect(texts).toEqual(["One?", "1: One?", "Two?", "2: Two?"]);
    expect(await events(turn.body.questionId, 1)).toEqual([[turn.body.answerId, "2: Two?"]]);
  });

  it("ends an event stream whose client left while the session was being opened", async () => {
    await create("a");
    const steps = { begun: () => {}, goOn: () => {}, opened: (_: Session) => {} };
    const begun = new Promise<void>((done) => {
      steps.begun = done;
    });
    const gate = new Promise<void>((done) => {
      steps.goOn = done;
    });
    const opened = new Promise<Session>((done) => {
      steps.opened = done;
    });
    const slow = {
      async open(...args: Parameters<SessionStore["open"]>) {
        steps.begun();
        await gate;
        const session = await sessions.open(...args);
        steps.opened(session);
        return session;
      },
    } as unknown as SessionStore;
    const at = await start({ sessions: slow });
    const headers = { authorization: "Bearer acme-token" };
    const stop = new AbortController();
    const stream = fetch(`${urlOf(at)}/sessions/a/events`, { headers, signal: stop.signal });
    stream.catch(() => {});
    await begun;
    stop.abort();
    // The server sees the end of the connection.
    await setTimeout(200);
    steps.goOn();
    const session = await opened;
    const codeOf = () => session.refresh().then(String, ({ code }) => code);
    await expect.poll(codeOf).toBe("SESSION_CLOSED");
  });

  it.each([
    ["PUT", "/sessions/-", "NOT_FOUND", 404, { title: "t" }],
    ["PUT", "/sessions/a:b", "INVALID_REQUEST", 400, { title: "t" }],
    ["PUT", "/sessions/a", "INVALID_REQUEST", 400, { title: "" }],
    ["PUT", "/sessions/a", "INVALID_REQUEST", 400, { title: "t", more: 1 }],
    ["PUT", "/sessions/a", "NOT_JSON", 415, Buffer.from("{}")],
    ["PUT", "/sessions/a", "TOO_LARGE", 413, { title: "t".repeat(limits.bodyBytes) }],
    ["POST", "/blobs", "TOO_LARGE", 413, Buffer.alloc(limits.uploadBytes + 1)],
    ["GET", "/sessions/none", "SESSION_NOT_FOUND", 404, undefined],
    ["GET", "/sessions/%2e%2e", "NOT_FOUND", 404, undefined],
    ["GET", "/blobs/none", "NOT_FOUND", 404, undefined],
    ["PATCH", "/sessions/none", "SESSION_NOT_FOUND", 404, { archived: true }],
    ["POST", "/sessions/a/turns", "INVALID_REQUEST", 400, { text: "t" }],
    ["GET", "/", "NOT_FOUND", 404, undefined],
    ["GET", "/constructor", "NOT_FOUND", 404, undefined],
  ])("answers %s %s: %s", async (method, path, code, status, body) => {
    expect(await refusal(acme.send(method, path, body))).toEqual([status, code]);
  });

  it.each(["//", "//[", "http://["])("answers a request for %s: NOT_FOUND", async (path) => {
    const headers = { authorization: "Bearer acme-token" };
    const status = await new Promise((done, failed) => {
      const sent = send({ port: service.port, host: "127.0.0.1", path, headers }, (answer) => {
        answer.resume();
        done(answer.statusCode);
      });
      sent.once("error", failed).end();
    });
    expect(status).toBe(404);
  });

  it("tells nothing without a token", async () => {
    for (const token of ["acme-toke", "acme-token2", "x".repeat(5_000)]) {
      const answer = await refusal(serviceClient(urlOf(service), token).send("GET", "/sessions"));
      expect(answer).toEqual([401, "UNAUTHORIZED"]);
    }
  });

  it("says that it is healthy, or why not", async () => {
    const healthOf = async (at: Service) => (await fetch(`${urlOf(at)}/health`)).status;
    expect(await healthOf(service)).toBe(200);
    const details = { errno: "08006", operation: "list" };
    const failure = new SessileError("STORAGE_FAILED", "the database is away", { details: details as never });
    const broken = { ...sessions, latest: () => Promise.reject(failure) } as unknown as SessionStore;
    expect(await healthOf(await start({ sessions: broken }))).toBe(503);
    expect(errors.splice(0)).toEqual([failure]);
  });

  it("ends in order: running turns finish, streams end, and new requests are refused", async () => {
    const slow = await start({ modelOf: () => scriptedModel(300) });
    const client = serviceClient(urlOf(slow), "acme-token");
    await client.send("PUT", "/sessions/a", { title: "t" });
    const headers = { authorization: "Bearer acme-token" };
    await client.turn("a", "One?");
    const events = (await fetch(`${urlOf(slow)}/sessions/a/events`, { headers })).body;
    let seen = "";
    const stream = (async () => {
      for await (const chunk of events ?? []) seen += Buffer.from(chunk).toString("utf8");
    })();
    await expect.poll(() => seen).toContain("One?");
    const turn = client.turn("a", "Two?");
    await untilAsked("Two?");
    const closing = slow.close();
    await stream;
    expect((await turn).body.answer).toBe("2: Two?");
    await closing;
    await expect(fetch(`${urlOf(slow)}/health`)).rejects.toThrow();
  });

  it("answers a request that had begun, and closes its connection", async () => {
    const slow = await start({ modelOf: () => scriptedModel(300), graceMs: 600_000 });
    const client = serviceClient(urlOf(slow), "acme-token");
    await client.send("PUT", "/sessions/a", { title: "t" });
    const key = { "idempotency-key": randomUUID(), "content-type": "application/json" };
    const agent = new Agent({ keepAlive: true });
    onTestFinished(() => agent.destroy());
    // The body comes after the end has begun.
    const late = send(`${urlOf(slow)}/sessions/a/turns`, {
      method: "POST",
      headers: { authorization: "Bearer acme-token", ...key },
      agent,
    });
    const arrived = requestAt(slow.port);
    late.flushHeaders();
    await arrived;
    const closing = slow.close();
    const answered = once(late, "response") as Promise<[IncomingMessage]>;
    late.end(JSON.stringify({ text: "One?" }));
    const [answer] = await answered;
    expect(answer.resume().statusCode).toBe(200);
    // The client would keep the connection, and the server too, for more than a minute.
    const ended = closing.then(() => "closed");
    expect(await Promise.race([ended, setTimeout(30_000, "open", { ref: false })])).toBe("closed");
  });

  it("aborts a turn that outlasts the grace period; another process finishes it", async () => {
    const slow = await start({ modelOf: () => scriptedModel(60_000), graceMs: 50 });
    await create("a");
    const key = { "idempotency-key": randomUUID() };
    const turn = (at: Service) =>
      fetch(`${urlOf(at)}/sessions/a/turns`, {
        method: "POST",
        headers: { authorization: "Bearer acme-token", "content-type": "application/json", ...key },
        body: JSON.stringify({ text: "One?" }),
      });
    const aborted = turn(slow);
    await untilAsked("One?");
    await slow.close();
    expect((await aborted).status).toBe(503);
    expect((await aborted).headers.get("retry-after")).toBe("1");
    expect(await (await aborted).json()).toMatchObject({ error: { code: "SHUTTING_DOWN" } });
    expect(await (await turn(service)).json()).toMatchObject({ answer: "1: One?" });
    expect(await acme.messages("a")).toHaveLength(2);
    errors.splice(0);
  });
});
