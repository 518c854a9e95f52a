import { createHash, randomUUID, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Transform, type TransformCallback } from "node:stream";
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { boundConnections } from "../support/http.js";

/** Options of {@link startMcpHttp}. */
export interface McpHttpOptions {
  /** Makes a server for one client. */
  readonly makeServer: () => McpServer;
  /** The bearer token. */
  readonly token: string;
  /** Default any free port. */
  readonly port?: number;
  /** Maximum bytes of one request. */
  readonly maxBodyBytes: number;
  /** Maximum bytes of all open requests. Default four of the largest. */
  readonly maxOpenBytes?: number;
  /** Default 16. If all have open requests, a new client gets 503. */
  readonly maxSessions?: number;
  /** Milliseconds after which an idle session ends. Default ten minutes. */
  readonly idleMs?: number;
}

/** A server that is running. */
export interface McpHttp extends AsyncDisposable {
  /** Such as `http://127.0.0.1:40001/mcp`. */
  readonly url: string;
}

interface HttpSession {
  readonly transport: StreamableHTTPServerTransport;
  readonly mcp: McpServer;
  /** Open requests. */
  open: number;
  usedAt: number;
}

/**
 * Serves MCP over streamable HTTP on 127.0.0.1. Host, Origin and token are checked before the body is read,
 * so a page in a browser cannot use it, not even by DNS rebinding.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports (a stored copy, read
 *   2026-11-22): 127.0.0.1, 403 for another origin, a token, 404 for a session that ended
 */
export async function startMcpHttp(options: McpHttpOptions): Promise<McpHttp> {
  const { maxSessions = 16, idleMs = 600_000, maxBodyBytes, maxOpenBytes = 4 * maxBodyBytes } = options;
  if (options.token === "")
    throw new RangeError("token: expected one that is not empty: whoever shows none has that");
  const sessions = new Map<string, HttpSession>();
  let openBytes = 0;
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const refusal = refusalOf(request, server, options.token);
    if (refusal !== undefined) return refuse(response, ...refusal);
    accept(request, response);
    // A body of unknown length counts as the largest one.
    const length = bodyBytes(request) ?? maxBodyBytes;
    if (length > maxBodyBytes) return refuse(response, 413, `the body has more than ${maxBodyBytes} bytes`);
    if (openBytes + length > maxOpenBytes) return refuse(response, 503, "too much is being sent at a time");
    openBytes += length;
    response.once("close", () => {
      openBytes -= length;
    });
    const id = request.headers["mcp-session-id"];
    const known = typeof id === "string" ? sessions.get(id) : undefined;
    if (id !== undefined && known === undefined) return refuse(response, 404, "there is no such session");
    if (known === undefined && !hasRoom(sessions, maxSessions)) {
      return refuse(response, 503, "there are too many sessions");
    }
    const session = known ?? (await newSession(options, sessions));
    session.open++;
    session.usedAt = Date.now();
    response.once("close", () => {
      session.open--;
      session.usedAt = Date.now();
      // The request opened no session.
      if (session.transport.sessionId === undefined) void session.mcp.close();
    });
    await session.transport.handleRequest(request, response);
  };
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  // A slow client holds a connection, but not for ever.
  server.headersTimeout = 10_000;
  server.requestTimeout = 60_000;
  // Node ends an idle connection after 5 s, perhaps just when a client sends its next request.
  server.keepAliveTimeout = 65_000;
  const accept = boundConnections(server, 8 * maxSessions);
  server.listen(options.port ?? 0, "127.0.0.1");
  await once(server, "listening");
  const sweep = setInterval(() => endIdle(sessions, idleMs), Math.min(idleMs, 60_000)).unref();
  return {
    url: `http://127.0.0.1:${portOf(server)}/mcp`,
    async [Symbol.asyncDispose]() {
      clearInterval(sweep);
      await Promise.all([...sessions.values()].map(({ mcp }) => mcp.close()));
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function newSession(
  { makeServer, maxBodyBytes, maxSessions = 16 }: McpHttpOptions,
  sessions: Map<string, HttpSession>,
): Promise<HttpSession> {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    maxRequestBodySize: maxBodyBytes,
    onsessioninitialized(id) {
      // Not earlier: some accepted requests open no session, and others arrive at the same time.
      makeRoom(sessions, maxSessions);
      sessions.set(id, session);
    },
  });
  const mcp = makeServer();
  const session: HttpSession = { transport, mcp, open: 0, usedAt: Date.now() };
  await mcp.connect(transport as Parameters<McpServer["connect"]>[0]);
  mcp.server.onclose = () => sessions.delete(transport.sessionId ?? "");
  return session;
}

function hasRoom(sessions: ReadonlyMap<string, HttpSession>, maxSessions: number): boolean {
  return sessions.size < maxSessions || [...sessions.values()].some(({ open }) => open === 0);
}

/** Ends the session that was idle longest if the maximum is reached. */
function makeRoom(sessions: ReadonlyMap<string, HttpSession>, maxSessions: number): void {
  if (sessions.size < maxSessions) return;
  const idle = [...sessions.values()].filter(({ open }) => open === 0);
  const [oldest] = idle.sort((one, other) => one.usedAt - other.usedAt);
  void oldest?.mcp.close();
}

function endIdle(sessions: Map<string, HttpSession>, idleMs: number): void {
  for (const { open, usedAt, mcp } of sessions.values()) {
    if (open === 0 && Date.now() - usedAt > idleMs) void mcp.close();
  }
}

function refusalOf(
  { url, headers }: IncomingMessage,
  server: Server,
  token: string,
): readonly [status: number, message: string] | undefined {
  const hosts = ["127.0.0.1", "localhost"].map((name) => `${name}:${portOf(server)}`);
  if (!hosts.includes(headers.host ?? "")) return [403, "another host is meant"];
  const { origin } = headers;
  if (origin !== undefined && !hosts.some((host) => origin === `http://${host}`)) {
    return [403, "another origin asks"];
  }
  const [, given = ""] = /^Bearer (.+)$/i.exec(headers.authorization ?? "") ?? [];
  if (!timingSafeEqual(digestOf(given), digestOf(token))) return [401, "the token is another one"];
  return url === "/mcp" ? undefined : [404, "there is nothing here"];
}

/** Undefined without a Content-Length. */
function bodyBytes({ headers, method }: IncomingMessage): number | undefined {
  if (method !== "POST") return 0;
  const told = headers["content-length"];
  return told === undefined ? undefined : Number(told);
}

function digestOf(text: string): Uint8Array {
  return createHash("sha256").update(text).digest();
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

function refuse(response: ServerResponse, status: number, message: string): void {
  const headers = status === 401 ? { "www-authenticate": "Bearer" } : {};
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify({ jsonrpc: "2.0", error: { code: -32000, message }, id: null }));
}

/**
 * Passes on complete lines in few pieces. The SDK's reader joins its buffer with each new piece, so it would
 * copy a line of many megabytes a thousand times.
 */
export class WholeLines extends Transform {
  readonly #maxLineBytes: number;
  #pieces: Buffer[] = [];
  #bytes = 0;

  /** @param maxLineBytes a longer line ends the stream with an error */
  constructor(maxLineBytes: number) {
    super();
    this.#maxLineBytes = maxLineBytes;
  }

  override _transform(piece: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const first = piece.indexOf(0x0a);
    const end = piece.lastIndexOf(0x0a) + 1;
    const [before, after] = [piece.subarray(0, end), piece.subarray(end)];
    // Lines between the two are within the piece, which is in memory.
    const begun = this.#bytes + (first < 0 ? piece.length : first);
    if (Math.max(begun, after.length) > this.#maxLineBytes) {
      done(new Error(`a line is longer than ${this.#maxLineBytes} bytes`));
      return;
    }
    if (end > 0) {
      this.push(Buffer.concat([...this.#pieces, before]));
      this.#pieces = [];
      this.#bytes = 0;
    }
    if (after.length > 0) this.#pieces.push(after);
    this.#bytes += after.length;
    done();
  }
}
