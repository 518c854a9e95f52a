/** Requests to a bucket: sent, repeated while that can help, and answered by a value or an error. */

import { describe } from "../../../core/arguments.js";
import { encodeBase64 } from "../../../core/base64.js";
import { concatBytes, decodeUtf8, toHex } from "../../../core/bytes.js";
import { retry, untilAborted } from "../../../core/concurrency.js";
import { ObjectFailure, streamChunks } from "../driver.js";
import { childText, parseXml, type XmlElement } from "./xml.js";

/** Signs and sends one request, as `fetch` does. */
type S3Fetch = (url: string, init?: RequestInit) => Promise<Response>;

/** One request. */
export interface S3Request {
  /** For errors: such as `put into`. */
  readonly operation: string;
  readonly method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  /** An encoded path and query after the URL of the bucket. */
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  readonly signal?: AbortSignal | undefined;
  /** How often it is sent at most. @default the policy's number */
  readonly attempts?: number;
}

/** How often and after which waits a request is repeated. */
export interface RetryPolicy {
  readonly attempts: number;
  /** The longest wait before the second attempt, in milliseconds; it doubles with each further one. */
  readonly firstWaitMs: number;
}

/** Eleven seconds of waits at most, and those that the server asks for. */
const defaultPolicy: RetryPolicy = { attempts: 8, firstWaitMs: 100 };
const maxWaitMs = 5_000;
/** A longer `Retry-After` ends the attempts: the caller knows better if it can wait. */
const maxRetryAfterMs = 60_000;

/** Names of faults that another attempt can mend, beside statuses: damage on the way, and conflicts. */
const passing = new Set([
  "BadDigest",
  "XAmzContentSHA256Mismatch",
  "IncompleteBody",
  "RequestTimeout",
  "OperationAborted",
  "ConditionalRequestConflict",
  "InternalError",
  "ServiceUnavailable",
  "SlowDown",
]);
const passingStatus = new Set([408, 409, 429, 500, 502, 503, 504]);

/** Replies with these bounds fit: a page of a list has 1000 keys of 1024 bytes, an error a few hundred. */
const maxReplyBytes = 8 * 2 ** 20;
const maxErrorBytes = 64 * 1024;

/** An unexpected answer, or no answer. */
export class S3Failure extends ObjectFailure {
  readonly status: number;

  /** @param code that of the reply, such as `NoSuchBucket`; of a reply without a body `HTTP_<status>` */
  constructor(status: number, code: string, message: string, options?: ErrorOptions) {
    super(code, message, options);
    this.status = status;
  }
}

/** A reply that broke off or makes no sense: another attempt may bring a whole one. */
export class BrokenReply extends Error {}

/** Requests of one bucket. Also holds facts learned about its server. */
export class S3Client {
  readonly clock: ServerClock;
  /** The bucket's URL. */
  readonly base: string;
  readonly #fetch: S3Fetch;
  readonly #policy: RetryPolicy;
  /** When a reply last proved that the bucket exists. */
  #provedAt = Number.NEGATIVE_INFINITY;

  constructor(options: { readonly fetch: S3Fetch; readonly base: string; readonly policy?: RetryPolicy }) {
    this.#fetch = options.fetch;
    this.base = options.base;
    this.#policy = options.policy ?? defaultPolicy;
    this.clock = new ServerClock();
  }

  /** Whether a reply of the last minute proved that the bucket exists. */
  get isBucketProved(): boolean {
    return performance.now() - this.#provedAt < 60_000;
  }

  /**
   * Sends a request until it has an answer: a status of 2xx, or one of `others`.
   *
   * @param take reads the answer; it throws {@link BrokenReply} to have another attempt
   * @throws S3Failure for any other answer, or none, after all attempts; the signal's reason
   */
  async send<T>(
    request: S3Request,
    others: readonly number[],
    take: (response: Response, failure: S3Failure | undefined) => Promise<T> | T,
  ): Promise<T> {
    const { signal, operation, attempts = this.#policy.attempts } = request;
    let retryAfter = 0;
    let canPass = true;
    const attempt = async (): Promise<T> => {
      let failure: S3Failure;
      retryAfter = 0;
      canPass = true;
      try {
        const response = await this.#sendOnce(request);
        if (response.ok) {
          this.#provedAt = performance.now();
          return await take(response, undefined);
        }
        failure = await operationFailure(operation, response, request.method === "HEAD");
        if (others.includes(response.status) && failure.code !== "NoSuchBucket") {
          if (request.method !== "HEAD" && response.status !== 403) this.#provedAt = performance.now();
          return await take(response, failure);
        }
        retryAfter = retryAfterMs(response.headers);
        canPass = passingStatus.has(response.status) || passing.has(failure.code);
      } catch (error) {
        signal?.throwIfAborted();
        if (error instanceof S3Failure) {
          failure = error;
          canPass = passing.has(error.code);
        } else {
          failure = new S3Failure(0, networkCode(error), `${operation}: ${errorMessage(error)}`, {
            cause: error,
          });
        }
      }
      throw failure;
    };
    return retry(attempt, {
      waitMs: [this.#policy.firstWaitMs, maxWaitMs],
      signal,
      again: (error, count) =>
        error instanceof S3Failure &&
        canPass &&
        count < attempts &&
        retryAfter <= maxRetryAfterMs &&
        retryAfter,
    });
  }

  /** Sends a request whose answer is a document with this root. An answer of 200 can be an error. */
  async sendForXml(request: S3Request, root: string): Promise<XmlElement> {
    return this.send(request, [], async (response) => {
      const text = decodeUtf8(await readReply(response, maxReplyBytes));
      const document = text === undefined ? undefined : parseXml(text);
      if (document?.name === "Error") throw failureIn(document, response.status, request.operation);
      if (document?.name !== root) throw new BrokenReply(`the reply is no ${root}`);
      return document;
    });
  }

  async #sendOnce({ method, target, headers, body, signal }: S3Request): Promise<Response> {
    const sentAt = Date.now();
    const sent = this.#fetch(this.base + target, {
      method,
      headers: { ...headers },
      // Of an array that a caller owns: the types of fetch exclude shared memory.
      ...(body === undefined ? {} : { body: body as Uint8Array<ArrayBuffer> }),
      ...(signal === undefined ? {} : { signal }),
    });
    const response = await (signal === undefined ? sent : untilAborted(sent, signal));
    this.clock.observe(response.headers, sentAt);
    return response;
  }
}

/** The whole body of a reply, if it has at most so many bytes, and as many as its header states. */
async function readReply(response: Response, maxBytes: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of responseChunks(response)) {
    bytes += part.length;
    if (bytes > maxBytes) throw new BrokenReply(`the reply has more than ${maxBytes} bytes`);
    parts.push(part);
  }
  const declared = response.headers.get("content-length");
  const isEncoded = response.headers.has("content-encoding");
  if (declared !== null && !isEncoded && Number(declared) !== bytes) {
    throw new BrokenReply(`the reply has ${bytes} bytes of ${declared}`);
  }
  return concatBytes(parts, bytes);
}

/** The chunks of a reply's body. */
export async function* responseChunks({ body }: Response): AsyncGenerator<Uint8Array, void, undefined> {
  if (body !== null) yield* streamChunks(body);
}

async function operationFailure(operation: string, response: Response, isHead: boolean): Promise<S3Failure> {
  const { status } = response;
  const text = isHead ? undefined : decodeUtf8(await readReply(response, maxErrorBytes).catch(() => noBytes));
  const document = text === undefined ? undefined : parseXml(text);
  return document?.name === "Error"
    ? failureIn(document, status, operation)
    : new S3Failure(status, `HTTP_${status}`, `${operation}: status ${status}`);
}

const noBytes = new Uint8Array();

function failureIn(document: XmlElement, status: number, operation: string): S3Failure {
  const named = childText(document, "Code") ?? "";
  const code = /^[A-Za-z0-9._-]{1,100}$/.test(named) ? named : `HTTP_${status}`;
  const message = (childText(document, "Message") ?? "").slice(0, 300);
  return new S3Failure(status, code, `${operation}: status ${status}, ${code}: ${message}`);
}

/** `Retry-After` in milliseconds: seconds, or a date. */
function retryAfterMs(headers: Headers): number {
  const value = headers.get("retry-after") ?? "";
  const ms = /^\d{1,9}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isFinite(ms) ? Math.max(ms, 0) : 0;
}

/** The system's code of a failed connection, if the runtime gives one. */
function networkCode(error: unknown): string {
  for (let at = error, depth = 0; at instanceof Error && depth < 4; at = at.cause, depth++) {
    const { code } = at as { readonly code?: unknown };
    if (typeof code === "string" && /^[A-Z][A-Z0-9_]{2,40}$/.test(code)) return code;
  }
  return error instanceof BrokenReply ? "BROKEN_REPLY" : "NO_REPLY";
}

function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A SHA-256 in the two spellings of headers. */
export interface Sha256 {
  readonly hex: string;
  readonly base64: string;
}

/** The SHA-256 of bytes, in both spellings that headers need. */
export async function readSha256(bytes: Uint8Array, known?: string): Promise<Sha256> {
  const digest =
    known === undefined
      ? new Uint8Array(await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>))
      : Uint8Array.from(known.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  return { hex: toHex(digest), base64: encodeBase64(digest) };
}

/** The headers of a body. Servers compare it with its SHA-256 before they store it. */
export function bodyHeaders({ hex }: Sha256): Record<string, string> {
  return { "content-type": "application/octet-stream", "x-amz-content-sha256": hex };
}

/** Prints a query. A space is `%20`: signers do not agree on `+`. */
export function readQuery(query: URLSearchParams): string {
  return query.toString().replaceAll("+", "%20");
}

/** Whether the source of a copy is gone, or another one by now. */
export function isChanged({ status, code }: S3Failure): boolean {
  return (
    status === 412 ||
    code === "PreconditionFailed" ||
    (status === 404 && code !== "NoSuchBucket" && code !== "NoSuchUpload")
  );
}

/**
 * The clock of an S3 server, from the `Date` headers of its replies. A `Date` has whole seconds, so one reply
 * bounds the difference of the two clocks to a second and the time of the request; further replies narrow it.
 */
export class ServerClock {
  readonly #local: () => number;
  /** Bounds of the server's clock minus the local one, in milliseconds. */
  #bounds: { readonly low: number; readonly high: number } | undefined;
  #stamped = 0;

  constructor(local: () => number = Date.now) {
    this.#local = local;
  }

  /** Whether a reply had a date. */
  get isKnown(): boolean {
    return this.#bounds !== undefined;
  }

  /** Takes the date of a reply to a request that was sent at this local time. */
  observe(headers: Headers, sentAt: number): void {
    // An Age means a cache, whose date is older than the reply.
    if (headers.has("age")) return;
    const date = Date.parse(headers.get("date") ?? "");
    if (!Number.isFinite(date)) return;
    const [low, high] = [date - this.#local(), date + 1000 - sentAt];
    if (low > high) return; // the local clock was set meanwhile
    const known = this.#bounds ?? { low, high };
    const both = { low: Math.max(low, known.low), high: Math.min(high, known.high) };
    // Contradictory bounds mean that one of the clocks was set: the newest reply counts.
    this.#bounds = both.low <= both.high ? both : { low, high };
  }

  /** The server's time at the earliest, in milliseconds since 1970. Without a date the local time. */
  earliest(): number {
    return Math.floor(this.#local() + (this.#bounds?.low ?? 0));
  }

  /** A time for a lease: the server's time at the latest, and later than each stamp before. */
  stamp(): number {
    const latest = Math.ceil(this.#local() + (this.#bounds?.high ?? 0));
    this.#stamped = Math.max(latest, this.#stamped + 1);
    return this.#stamped;
  }
}

// Addresses: the URL of a bucket, and keys as parts of it.

/** A bucket's URL without a slash at the end, and its name if the URL tells it. */
interface BucketAddress {
  readonly base: string;
  readonly bucket: string | undefined;
}

/** Parses the URL of a bucket: in path style, `http://host/bucket`, or the bucket's own host. */
export function bucketAddress(url: unknown): BucketAddress {
  const parsed = typeof url === "string" && URL.canParse(url) ? new URL(url) : undefined;
  const isPlain = parsed !== undefined && /^https?:$/.test(parsed.protocol) && parsed.username === "";
  if (!isPlain || parsed.password !== "" || parsed.search !== "" || parsed.hash !== "") {
    const shown = parsed === undefined ? describe(url) : "another one";
    throw new TypeError(
      `url: expected an http or https URL without credentials, query and fragment, got ${shown}`,
    );
  }
  const path = parsed.pathname.replace(/\/{1,1000}$/, "");
  const segment = path.slice(path.lastIndexOf("/") + 1);
  return {
    base: parsed.origin + path,
    bucket: path === "" ? bucketOfHost(parsed.hostname) : decodeURIComponent(segment),
  };
}

/** Only AWS tells where the name of a bucket, which may have dots, ends in its host. */
function bucketOfHost(host: string): string | undefined {
  return /^(.{1,255}?)\.s3[.-][a-z0-9.-]{0,100}amazonaws\.com(?:\.cn)?$/.exec(host)?.[1];
}

/** A key as a path of a URL. Only unreserved characters stay, so that every signer agrees on its spelling. */
export function encodeKey(key: string): string {
  return encodeURIComponent(key)
    .replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll("%2F", "/");
}
