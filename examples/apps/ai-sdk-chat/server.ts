// The chat over HTTP: the routes of `DefaultChatTransport`, and the history and files that a page needs after a
// reload.
//
//   POST   /api/chat                     a turn; answered with the UI message stream
//   GET    /api/chat/:id/stream          the running turn from its first chunk, also that of another server on the
//                                        same store; goes on with one whose server has ended; 204 if there is none
//   DELETE /api/chat/:id/stream          stops the turn; answered once the reply so far is stored
//   GET    /api/chat/:id                 the messages of the current branch
//   DELETE /api/chat/:id                 deletes the chat
//   GET    /api/chat/:id/versions/:message   the versions of a message, oldest first
//   POST   /api/chat/:id/leaf            moves to another branch, `{ leafId }`
//   GET    /api/chat/:id/files/:file     the bytes of a file that was sent
//   GET    /api/chat                     the chats with their titles, newest first
//   GET    /                             a page, if the server has one
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { resolve } from "node:path";
import {
  pipeUIMessageStreamToResponse,
  safeValidateUIMessages,
  type UIMessage,
  type UIMessageChunk,
} from "ai";
import type { BlobStore, Resource, Session, SessionStore } from "sessile";
import { appendUIMessages, toUIMessages, type UIReplies, uiReplies, uiVersions } from "sessile/ai-sdk";
import { findResource } from "sessile/attachments";
import { SessileError } from "sessile/errors";
import { limitProfiles } from "sessile/limits";
import {
  boundConnections,
  checkOrigin,
  commonHeaders,
  failureOf,
  HttpFailure,
  isClientGone,
  pathOf,
  readJson,
  sendFailure,
  sendJson,
} from "../support/http.js";
import { closeOpenCalls } from "../support/tools.js";
import { answer, RunningTurn, type TurnParts } from "./turn.js";

/** Options of {@link startChatServer}. */
export interface ChatServerOptions extends Omit<TurnParts, "blobs"> {
  readonly sessions: SessionStore;
  readonly blobs: BlobStore;
  /** Recorded in each session as its project. */
  readonly dir: string;
  /** Default any free port. */
  readonly port?: number;
  /** Origins of pages that another server delivers, such as `http://localhost:5173`. Default none. */
  readonly origins?: readonly string[];
  /** Makes the page for `/` and its script, at the first request for it. Default none. */
  readonly page?: () => Promise<Page>;
  /** Told of errors that are the server's fault. */
  readonly onError?: (error: unknown) => void;
}

/** A running chat server; disposing of it aborts the turns, and waits until what they said is stored. */
export interface ChatServer extends AsyncDisposable {
  /** Such as `http://127.0.0.1:40001`. */
  readonly url: string;
}

/** A request with all messages, whose files are data URLs in the tab that sent them. */
const maxBodyBytes = 32 * 2 ** 20;
const limits = { lingerBytes: 2 ** 26, lingerMs: 10_000 };
const maxConnections = 128;

/** Starts the server on 127.0.0.1. */
export async function startChatServer(options: ChatServerOptions): Promise<ChatServer> {
  const { sessions, blobs } = options;
  const turns = new Map<string, Turn>();
  const report = (error: unknown) => {
    if (failureOf(error).status === 500 && !isClientGone(error)) options.onError?.(error);
  };

  const routes: Readonly<Record<string, Route>> = {
    "POST /": async (request, response) => {
      const { id, messages } = await asTurn(await readJson(request, maxBodyBytes));
      const { turn, stream } = await begin(id, (session, signal) => store(session, messages, signal));
      await send(response, stream, turn.ended);
    },
    "GET /:id/stream": async (_request, response, { id }) => {
      const turn = turns.get(id) ?? (await takeOver(id));
      if (turn !== undefined) {
        const stream = await turn.replies?.resume();
        if (stream !== undefined) return send(response, stream, turn.ended);
      }
      await using session = await openToRead(sessions, id);
      const replies = session && uiReplies<UIMessageChunk>(session, { fileUrl: fileUrlOf(id) });
      const stream = await replies?.resume();
      if (stream === undefined) response.writeHead(204, commonHeaders).end();
      else await send(response, stream, Promise.resolve());
      replies?.close();
    },
    "DELETE /:id/stream": async (_request, response, { id }) => {
      const running = turns.get(id);
      if (running === undefined)
        throw new HttpFailure(404, { code: "NO_TURN", message: "no turn is running" });
      running.running.abort();
      await running.ended;
      response.writeHead(204, commonHeaders).end();
    },
    "GET /:id": async (_request, response, { id }) => {
      await using session = await openToRead(sessions, id);
      if (session === undefined) return sendJson(response, 200, []);
      const { state } = await session.turnState();
      const show = { fileUrl: fileUrlOf(id), running: state === "busyElsewhere" };
      sendJson(response, 200, await toUIMessages(await session.path(), show));
    },
    "DELETE /:id": async (_request, response, { id }) => {
      if (turns.has(id)) throw conflict("a turn is running");
      if (!(await sessions.delete(id))) throw notFound();
      response.writeHead(204, commonHeaders).end();
    },
    "GET /:id/versions/:message": async (_request, response, { id, name }) => {
      await using session = await openToRead(sessions, id);
      sendJson(
        response,
        200,
        session === undefined ? [] : await uiVersions(session, decodeURIComponent(name)),
      );
    },
    "POST /:id/leaf": async (request, response, { id }) => {
      const { leafId } = ((await readJson(request, 1000)) ?? {}) as { readonly leafId?: unknown };
      if (turns.has(id)) throw conflict("a turn is running");
      await using session = await sessions.open(id, { mode: "write" });
      if (typeof leafId !== "string" || !(await session.tree()).has(leafId)) throw notFound();
      // Closing the session records the leaf.
      await session.branch(leafId);
      response.writeHead(204, commonHeaders).end();
    },
    "GET /:id/files/:file": async (_request, response, { id, name }) => {
      await using session = await openToRead(sessions, id);
      const resource = session && (await resourceById(session, name));
      const bytes =
        resource === undefined || resource.kind === "link" ? undefined : await blobs.get(resource.blob);
      if (bytes === undefined || resource === undefined || resource.kind === "link") throw notFound();
      response.writeHead(200, {
        ...commonHeaders,
        "cache-control": "private, max-age=31536000, immutable",
        "content-type": resource.mediaType,
        "content-length": bytes.length,
        "content-disposition": resource.kind === "image" ? "inline" : "attachment",
        "content-security-policy": "default-src 'none'; sandbox",
      });
      response.end(bytes);
    },
    "GET /": async (_request, response) => {
      const chats = [];
      for await (const { id, title, name, firstMessage, modified } of sessions.list({ limit: 100 })) {
        chats.push({ id, title: title ?? name ?? firstMessage ?? "", modified });
      }
      sendJson(response, 200, chats);
    },
  };

  /** Opens a session, and starts a turn of it that ends by itself. Of two for one chat the second is refused. */
  async function begin(
    id: string,
    prepare: (session: Session, signal: AbortSignal) => Promise<void>,
  ): Promise<{ readonly turn: Turn; readonly stream: ReadableStream<UIMessageChunk> }> {
    if (turns.has(id)) throw conflict("a turn is running");
    let end = () => {};
    const turn: Turn = {
      running: new RunningTurn(),
      ended: new Promise((done) => (end = done)),
      replies: undefined,
    };
    turns.set(id, turn);
    const finish = async (session?: Session) => {
      await session?.close().catch(report);
      turns.delete(id);
      end();
    };
    let session: Session | undefined;
    try {
      session = await openOrCreate(sessions, id, options.dir);
      if ((await session.turnState()).state === "busyElsewhere")
        throw conflict("a turn is running elsewhere");
      const replies = uiReplies<UIMessageChunk>(session, { fileUrl: fileUrlOf(id) });
      turn.replies = replies;
      await prepare(session, turn.running.signal);
      session.publish({ type: "status", status: "busy" });
      const stream = replies.stream();
      void run(session, turn.running, replies).then(finish);
      return { turn, stream };
    } catch (error) {
      await finish(session);
      throw refusalOf(error);
    }
  }

  /** Goes on with a reply whose process has ended. */
  async function takeOver(id: string): Promise<Turn | undefined> {
    await using session = await openToRead(sessions, id);
    if ((await session?.turnState())?.state !== "interruptedReply") return undefined;
    // Another request may be faster, here or in another process: its turn is followed.
    return begin(id, async () => undefined).then(
      ({ turn }) => turn,
      () => turns.get(id),
    );
  }

  async function store(session: Session, messages: readonly UIMessage[], signal: AbortSignal): Promise<void> {
    // A process that died left calls without results; a result has to stand before the next message.
    await closeOpenCalls(session);
    const resource = async (url: string) => {
      const known = await resourceById(session, url.split("/").at(-1) ?? "");
      if (known !== undefined) return known;
      const expected = "a data URL, or a file of this chat";
      throw new SessileError("INVALID_MESSAGE", `url: expected ${expected}`, {
        details: { path: "url", expected },
      });
    };
    await appendUIMessages(session, messages, { blobs, limits: limitProfiles.anthropic, resource, signal });
  }

  async function run(session: Session, turn: RunningTurn, replies: UIReplies): Promise<Session> {
    // If another process was faster, the reply is that of its turn, and ends with it.
    const told = replies.stream().pipeTo(new WritableStream());
    const message = await answer(session, turn, { ...options, blobs }).catch((error: unknown) => {
      report(error);
      return failureOf(error).body.message;
    });
    session.publish({ type: "status", status: "idle", ...(message === undefined ? {} : { message }) });
    await told;
    return session;
  }

  let made: Promise<Page> | undefined;
  const page = options.page && (() => (made ??= options.page?.() as Promise<Page>));

  const server = createServer((request, response) => {
    response.on("error", () => {});
    handle(request, response)
      .catch((error: unknown) => {
        report(error);
        return sendFailure(request, response, failureOf(error), limits);
      })
      .catch(() => response.destroy());
  });
  // Node ends an idle connection after 5 s, perhaps just when a client sends its next request.
  server.keepAliveTimeout = 65_000;
  const accept = boundConnections(server, maxConnections);
  server.listen(options.port ?? 0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    checkOrigin(request, { port, origins: options.origins ?? [] });
    accept(request, response);
    if (page !== undefined && isPage(request)) return sendPage(request, response, await page());
    const [route, names] = routeOf(request, routes);
    await route(request, response, names);
  }

  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      for (const { running } of turns.values()) running.abort();
      await Promise.all([...turns.values()].map(({ ended }) => ended));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** A turn, from its request until its session is closed. */
interface Turn {
  readonly running: RunningTurn;
  readonly ended: Promise<void>;
  replies: UIReplies<UIMessageChunk> | undefined;
}

const prefix = "/api/chat";
const fileUrlOf = (id: string) => (file: Resource) => `${prefix}/${id}/files/${file.resourceId}`;

interface Names {
  readonly id: string;
  /** The last part of the address. */
  readonly name: string;
}

type Route = (request: IncomingMessage, response: ServerResponse, names: Names) => Promise<void>;

/** @throws HttpFailure 404 */
function routeOf(request: IncomingMessage, routes: Readonly<Record<string, Route>>): [Route, Names] {
  const path = pathOf(request);
  const [, id = "", rest = "", name = ""] =
    /^\/api\/chat(?:\/([\w-]{1,64})(?:\/(stream|leaf|files(?=\/res_[0-9a-f]{16}$)|versions(?=\/.))(?:\/([^/]+))?)?)?$/.exec(
      path,
    ) ?? [];
  const last = name === "" ? "" : rest === "files" ? "/:file" : "/:message";
  const shape = path === prefix ? "/" : `/:id${rest === "" ? "" : `/${rest}`}${last}`;
  const isKnown = path === prefix || idPattern.test(id);
  const route = isKnown ? routes[`${request.method} ${shape}`] : undefined;
  if (route === undefined) throw notFound();
  return [route, { id, name }];
}

/** A page, and its script for `/page.js`. */
export interface Page {
  readonly html: string;
  readonly script: string;
}

function isPage(request: IncomingMessage): boolean {
  return request.method === "GET" && ["/", "/page.js"].includes(pathOf(request));
}

function sendPage(request: IncomingMessage, response: ServerResponse, { html, script }: Page): void {
  const isScript = pathOf(request) === "/page.js";
  response.writeHead(200, {
    ...commonHeaders,
    "content-type": `${isScript ? "text/javascript" : "text/html"}; charset=utf-8`,
    "content-security-policy":
      "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; connect-src 'self'; img-src 'self' data:",
  });
  response.end(isScript ? script : html);
}

/**
 * Each watcher gets every chunk. One that goes away, or reads slowly, does not hold up the turn. The response ends
 * once the next turn may begin.
 */
function send(
  response: ServerResponse,
  stream: ReadableStream<UIMessageChunk>,
  ended: Promise<void>,
): Promise<void> {
  const whole = stream.pipeThrough(
    new TransformStream<UIMessageChunk, UIMessageChunk>({ flush: () => ended }),
  );
  return pipeUIMessageStreamToResponse({
    response,
    stream: whole,
    headers: { ...commonHeaders },
    keepAliveMs: 15_000,
  });
}

/** The resource with this id in any branch; undefined if there is none. */
async function resourceById(session: Session, resourceId: string): Promise<Resource | undefined> {
  for (const { id } of await session.leaves()) {
    const path = {
      tree: () => session.tree(),
      leafId: id,
      entry: (entryId: string) => session.entry(entryId),
    };
    const found = await findResource(path, resourceId);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Ids are those that `generateId` makes, or as short and plain: they become names of files. */
const idPattern = /^[A-Za-z0-9](?:[\w-]{0,62}[A-Za-z0-9])?$/;

/**
 * The body that `DefaultChatTransport` posts: `{ id, messages, trigger, messageId }`. Only the last message
 * is stored; of the others the ids count, and none of them is needed.
 *
 * @throws HttpFailure 400
 */
async function asTurn(
  body: unknown,
): Promise<{ readonly id: string; readonly messages: readonly UIMessage[] }> {
  const { id, messages } = (body ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof id !== "string" || !idPattern.test(id)) throw invalid("id: expected letters, digits, - and _");
  if (!Array.isArray(messages)) throw invalid("messages: expected an array");
  const valid = await safeValidateUIMessages<UIMessage>({ messages: messages.slice(-1) });
  const message = valid.success ? valid.data[0] : undefined;
  if (message?.role !== "user") throw invalid("messages: expected a message of the user at the end");
  if (!idPattern.test(message.id)) throw invalid("messages: the last one has no id that can be stored");
  if (
    !message.parts.some((part) => part.type === "file" || (part.type === "text" && part.text.trim() !== ""))
  ) {
    throw invalid("messages: the last one has neither text nor a file");
  }
  const before = messages.slice(0, -1).flatMap((one: { readonly id?: unknown } | null) => {
    return typeof one?.id === "string" ? [{ id: one.id, role: "assistant", parts: [] } as UIMessage] : [];
  });
  return { id, messages: [...before, message] };
}

async function openOrCreate(sessions: SessionStore, id: string, cwd: string): Promise<Session> {
  try {
    return await sessions.open(id, { mode: "write" });
  } catch (error) {
    if (!SessileError.is(error, "SESSION_NOT_FOUND")) throw error;
    return sessions.create({ id, cwd: resolve(cwd) });
  }
}

/** `await using` takes undefined too: a chat that nobody has written to has no session yet. */
async function openToRead(sessions: SessionStore, id: string): Promise<Session | undefined> {
  try {
    return await sessions.open(id);
  } catch (error) {
    if (SessileError.is(error, "SESSION_NOT_FOUND")) return undefined;
    throw error;
  }
}

/** The status of an attachment that cannot be stored; its message never has its bytes. */
const refusals: Readonly<Record<string, number>> = {
  INVALID_MESSAGE: 400,
  BLOB_TOO_LARGE: 413,
  LIMIT_EXCEEDED: 413,
  MEDIA_INVALID: 415,
  MEDIA_TYPE_MISMATCH: 415,
};

function refusalOf(error: unknown): unknown {
  const status = error instanceof SessileError ? refusals[error.code] : undefined;
  if (status === undefined || !(error instanceof SessileError)) return error;
  return new HttpFailure(status, { code: error.code, message: error.message });
}

function invalid(message: string): HttpFailure {
  return new HttpFailure(400, { code: "INVALID_BODY", message });
}

function conflict(message: string): HttpFailure {
  return new HttpFailure(409, { code: "TURN_RUNNING", message });
}

function notFound(): HttpFailure {
  return new HttpFailure(404, { code: "NOT_FOUND", message: "there is no such address" });
}
