import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { HttpFailure } from "../support/http.js";

/** Whose requests are taken. */
export interface Guard {
  readonly port: number;
  readonly token: string;
}

/**
 * Whether a request comes from this machine and from the page that this server gave out. A page of another origin can make a
 * browser send requests to 127.0.0.1: they name their origin, or, where a name of that page's was pointed here, another host.
 *
 * @throws HttpFailure 403
 */
export function checkPlace(request: IncomingMessage, { port }: Guard): void {
  const { remoteAddress = "" } = request.socket;
  if (!/^(?:127\.|::1$|::ffff:127\.)/.test(remoteAddress)) throw forbidden("only this machine may ask");
  const hosts = headerValues(request, "host");
  const host = hosts.length === 1 ? hosts[0]?.toLowerCase() : undefined;
  if (host !== `127.0.0.1:${port}` && host !== `localhost:${port}`) throw forbidden("Host is another one");
  const foreign = headerValues(request, "origin").some((origin) => origin !== `http://${host}`);
  if (foreign) throw forbidden("Origin is another one");
}

/**
 * Whether a request has the token.
 *
 * @throws HttpFailure 401
 */
export function checkToken(request: IncomingMessage, { token }: Guard): void {
  const given = /^Bearer ([^\s]+)$/i.exec(request.headers.authorization ?? "")?.[1] ?? "";
  // Digests are of one length, and how many characters of the token are right does not show in the time.
  if (timingSafeEqual(sha256(given), sha256(token))) return;
  throw new HttpFailure(
    401,
    { code: "UNAUTHORIZED", message: "Authorization: expected the token of this server" },
    { "www-authenticate": "Bearer" },
  );
}

/** Each time that a header is there: of some, `headers` would have the first alone. */
function headerValues({ rawHeaders }: IncomingMessage, name: string): readonly string[] {
  return rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === name);
}

function forbidden(message: string): HttpFailure {
  return new HttpFailure(403, { code: "FORBIDDEN", message });
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

/** Bounds of the server: whatever a client does, it costs no more than this. */
export interface TurnLimits {
  /** Of the JSON of a turn. Default 1 MiB. */
  readonly bodyBytes: number;
  /** Of a file that is uploaded. Default 10 MiB, as a turn takes it. */
  readonly uploadBytes: number;
  /** Files that wait in uploads/; the oldest go first. Default 100. */
  readonly uploads: number;
  /** Paths in one turn. Default 100. */
  readonly attachments: number;
  /**
   * Events that a client has not taken yet; past that its stream is cut off, and the turn goes on. Default 4 MiB,
   * some times the largest event, which is a message of `bodyBytes`.
   */
  readonly unsentBytes: number;
  /** A comment is sent where nothing else was, so that a connection that is gone is noticed. Default 15 s. */
  readonly heartbeatMs: number;
  /** Of a body that is refused, read and thrown away so that the client comes to read the answer. Default 16 MiB. */
  readonly lingerBytes: number;
  /** Default 2 s. */
  readonly lingerMs: number;
  /** Until all headers are there. Default 10 s. */
  readonly headersMs: number;
  /** Until the whole request is there. Default 60 s. */
  readonly requestMs: number;
  /** A connection on which nothing moves. Default 60 s. */
  readonly idleMs: number;
  /** Past that a new one takes the place of one that waits; see `boundConnections`. Default 64. */
  readonly connections: number;
  /** Of a turn, from its beginning. Default 10 min. */
  readonly turnMs: number;
  /** How often the model is asked in one turn. Default 10. */
  readonly rounds: number;
}

/** What counts where nothing else is said. */
export const turnLimits: TurnLimits = {
  bodyBytes: 2 ** 20,
  uploadBytes: 10 * 2 ** 20,
  uploads: 100,
  attachments: 100,
  unsentBytes: 4 * 2 ** 20,
  heartbeatMs: 15_000,
  lingerBytes: 2 ** 24,
  lingerMs: 2_000,
  headersMs: 10_000,
  requestMs: 60_000,
  idleMs: 60_000,
  connections: 64,
  turnMs: 600_000,
  rounds: 10,
};
