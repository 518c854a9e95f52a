import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { HttpFailure } from "./http-failure.js";

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
