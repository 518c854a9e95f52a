import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { SessileError } from "sessile/errors";

/** Headers of every response: not cached, not framed, no other type guessed. */
export const commonHeaders: Readonly<Record<string, string>> = {
  "cache-control": "no-store",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

/** How much of a refused body is read and discarded, so that the client reads the answer. */
export interface LingerLimits {
  readonly lingerBytes: number;
  /** Milliseconds without a byte of it. */
  readonly lingerMs: number;
}

/** Answers with JSON. */
export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  const body = Buffer.from(JSON.stringify(value));
  response.writeHead(status, jsonHeaders(body));
  response.end(body);
}

/** Answers with a failure, or closes the connection if a response has begun. */
export async function sendFailure(
  request: IncomingMessage,
  response: ServerResponse,
  { status, body, headers }: HttpFailure,
  limits: LingerLimits,
): Promise<void> {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const bytes = Buffer.from(JSON.stringify({ error: body }));
  const unread = !request.complete;
  const closing = unread ? { connection: "close" } : {};
  response.writeHead(status, { ...jsonHeaders(bytes), ...headers, ...closing });
  if (unread) {
    // Closing a connection with unread bytes resets it, and the client could not read the response.
    response.write(bytes);
    await drain(request, limits);
    response.end();
    return;
  }
  response.end(bytes);
}

function jsonHeaders(body: Uint8Array): Readonly<Record<string, string | number>> {
  return {
    ...commonHeaders,
    "content-type": "application/json; charset=utf-8",
    "content-length": body.length,
  };
}

/** Discards the rest of a body, within the limits, so that the client can read the response. */
function drain(request: IncomingMessage, { lingerBytes, lingerMs }: LingerLimits): Promise<void> {
  return new Promise((resolve) => {
    let left = lingerBytes;
    const done = () => {
      clearTimeout(timer);
      request.pause();
      resolve();
    };
    const timer = setTimeout(done, lingerMs);
    request.on("data", (chunk: Uint8Array) => {
      left -= chunk.length;
      timer.refresh();
      if (left < 0) done();
    });
    request.once("end", done).once("close", done).once("error", done);
    // The reader before has paused it.
    setImmediate(() => request.resume());
  });
}

/** The body of a failure. */
export interface FailureBody {
  readonly code: string;
  readonly message: string;
  readonly category?: string;
  /** The refused attachments, by name and without paths. */
  readonly errors?: readonly unknown[];
}

/** An error with the response that it causes. */
export class HttpFailure extends Error {
  readonly status: number;
  readonly body: FailureBody;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, body: FailureBody, headers: Readonly<Record<string, string>> = {}) {
    super(body.message);
    this.status = status;
    this.body = body;
    this.headers = headers;
  }
}

const conflicts = new Set(["SESSION_LOCKED", "CONCURRENT_WRITER", "SESSION_BUSY"]);

/** Any error as a response. The response has no paths and no messages that are not meant for a client. */
export function failureOf(error: unknown): HttpFailure {
  if (error instanceof HttpFailure) return error;
  if (SessileError.is(error, "ATTACHMENT_FAILURE")) {
    const { status, category, errors } = error.details;
    return new HttpFailure(status, { code: error.code, message: error.message, category, errors });
  }
  if (SessileError.is(error, "ENTRY_NOT_FOUND")) {
    return new HttpFailure(404, { code: error.code, message: "there is no such entry" });
  }
  if (error instanceof SessileError) {
    const status = conflicts.has(error.code) ? 409 : error.code === "QUOTA_EXCEEDED" ? 507 : 500;
    return new HttpFailure(status, { code: error.code, message: "the session could not be read or written" });
  }
  return new HttpFailure(500, { code: "INTERNAL", message: "something went wrong" });
}

/**
 * The body of a request in chunks, at most `maxBytes`. Stopping early does not destroy the request, which can
 * still be answered.
 *
 * @throws HttpFailure 413, before the first chunk if Content-Length is too large; 415 for an encoded body
 */
export async function* bodyOf(request: IncomingMessage, maxBytes: number): AsyncGenerator<Uint8Array> {
  // A few encoded bytes can decode to any number.
  if (request.headers["content-encoding"] !== undefined) {
    throw new HttpFailure(415, {
      code: "ENCODED_BODY",
      message: "a body is taken as it is, without encoding",
    });
  }
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) throw tooLarge(maxBytes);
  let total = 0;
  const chunks: AsyncIterable<Uint8Array> = request.iterator({ destroyOnReturn: false });
  for await (const chunk of chunks) {
    total += chunk.length;
    if (total > maxBytes) throw tooLarge(maxBytes);
    yield chunk;
  }
}

const decoder = new TextDecoder("utf-8", { fatal: true });

/** A body of JSON. */
export async function readJson(request: IncomingMessage, maxBytes: number): Promise<unknown> {
  const [type = ""] = (request.headers["content-type"] ?? "").split(";");
  if (type.trim().toLowerCase() !== "application/json") {
    throw new HttpFailure(415, { code: "NOT_JSON", message: "content-type: expected application/json" });
  }
  const chunks: Uint8Array[] = [];
  for await (const chunk of bodyOf(request, maxBytes)) chunks.push(chunk);
  try {
    return JSON.parse(decoder.decode(Buffer.concat(chunks)));
  } catch {
    throw new HttpFailure(400, { code: "INVALID_BODY", message: "the body is no JSON in UTF-8" });
  }
}

function tooLarge(maxBytes: number): HttpFailure {
  return new HttpFailure(413, { code: "TOO_LARGE", message: `at most ${maxBytes} bytes are taken` });
}

/**
 * The path of a request as it was sent. Nothing is decoded or normalized: routes compare it byte for byte.
 */
export function pathOf({ url = "" }: IncomingMessage): string {
  return url.split("?", 1)[0] ?? "";
}

/**
 * A response of server-sent events. Sending never waits or throws, and does nothing after the client has
 * gone.
 */
export interface EventStream {
  /** @param id comes back as `Last-Event-ID` if the client connects again */
  send(event: string, data: unknown, id?: string): void;
  end(): void;
}

/**
 * Begins a response of server-sent events.
 *
 * A slow client must not delay the turn, and its unread events must not fill the memory. Past the bound its
 * connection is closed; the session has the events that it missed.
 *
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream (read
 *   2026-11-22)
 */
export function openEventStream(
  response: ServerResponse,
  { unsentBytes, heartbeatMs }: { readonly unsentBytes: number; readonly heartbeatMs: number },
): EventStream {
  response.writeHead(200, { ...commonHeaders, "content-type": "text/event-stream; charset=utf-8" });
  response.flushHeaders();
  const write = (text: string): void => {
    if (response.destroyed || response.writableEnded) return;
    if (response.writableLength > unsentBytes) response.destroy();
    else response.write(text);
  };
  // A line that begins with a colon is a comment.
  const heartbeat = setInterval(() => write(":\n\n"), heartbeatMs);
  response.once("close", () => clearInterval(heartbeat));
  return {
    // JSON contains no line feed, so an event is one line of data.
    send(event, data, id) {
      const place = id === undefined ? "" : `id: ${id}\n`;
      write(`${place}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    },
    end() {
      clearInterval(heartbeat);
      response.end();
    },
  };
}

const codes: ReadonlySet<unknown> = new Set(["ECONNRESET", "EPIPE", "ERR_STREAM_PREMATURE_CLOSE"]);

/**
 * Whether an error means that the client has gone. A destroyed response does not mean that: a pipeline also
 * destroys it if its source fails.
 */
export function isClientGone(error: unknown): boolean {
  return error instanceof Error && "code" in error && codes.has(error.code);
}

/**
 * Bounds the number of connections. `maxConnections` of Node refuses the newest one, so a few hundred slow
 * connections could shut out every client. Here a new connection replaces the one that has been idle longest;
 * it is refused only if all have an accepted request.
 *
 * @returns call it with each accepted request: its connection stays until the response ends
 */
export function boundConnections(
  server: Server,
  maxConnections: number,
): (request: IncomingMessage, response: ServerResponse) => void {
  // A Set keeps the order of insertion: the first one has been idle longest.
  const waiting = new Set<Socket>();
  const atWork = new Map<Socket, number>();
  server.on("connection", (socket) => {
    waiting.add(socket);
    socket.once("close", () => {
      waiting.delete(socket);
      atWork.delete(socket);
    });
    if (waiting.size + atWork.size <= maxConnections) return;
    const [longest] = waiting;
    if (longest === undefined) return;
    waiting.delete(longest);
    longest.destroy();
  });
  return ({ socket }, response) => {
    waiting.delete(socket);
    atWork.set(socket, (atWork.get(socket) ?? 0) + 1);
    response.once("close", () => {
      const others = (atWork.get(socket) ?? 1) - 1;
      if (others > 0) return void atWork.set(socket, others);
      atWork.delete(socket);
      if (!socket.destroyed) waiting.add(socket);
    });
  };
}

/**
 * Checks that a request comes from this machine and from a page of this server. A page of another origin can
 * make a browser send requests to 127.0.0.1; such a request names its origin, or another host if that page's
 * name was rebound to 127.0.0.1.
 *
 * @param place.origins origins of pages that another server delivers; default none
 * @throws HttpFailure 403
 */
export function checkOrigin(
  request: IncomingMessage,
  { port, origins = [] }: { readonly port: number; readonly origins?: readonly string[] },
): void {
  const { remoteAddress = "" } = request.socket;
  if (!/^(?:127\.|::1$|::ffff:127\.)/.test(remoteAddress)) throw forbidden("only this machine may ask");
  const hosts = headerValues(request, "host");
  const host = hosts.length === 1 ? hosts[0]?.toLowerCase() : undefined;
  if (host !== `127.0.0.1:${port}` && host !== `localhost:${port}`) throw forbidden("Host is another one");
  const foreign = headerValues(request, "origin").some(
    (origin) => origin !== `http://${host}` && !origins.includes(origin),
  );
  if (foreign) throw forbidden("Origin is another one");
}

/**
 * Checks that a request has the token.
 *
 * @throws HttpFailure 401
 */
export function checkToken(request: IncomingMessage, { token }: { readonly token: string }): void {
  const given = /^Bearer ([^\s]+)$/i.exec(request.headers.authorization ?? "")?.[1] ?? "";
  // Digests have one length, so the time does not depend on how much of the token is right.
  if (timingSafeEqual(sha256(given), sha256(token))) return;
  throw new HttpFailure(
    401,
    { code: "UNAUTHORIZED", message: "Authorization: expected the token of this server" },
    { "www-authenticate": "Bearer" },
  );
}

/** Every value of a repeated header; `headers` keeps only the first of some. */
function headerValues({ rawHeaders }: IncomingMessage, name: string): readonly string[] {
  return rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === name);
}

function forbidden(message: string): HttpFailure {
  return new HttpFailure(403, { code: "FORBIDDEN", message });
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
