/** When a failed request is sent again: which failures pass, what a provider says of the wait, and its bounds. */

import { integerOption } from "../core/arguments.js";
import { maxTimerMs } from "../core/concurrency.js";
import { isRecord } from "../core/shape.js";

/** Further attempts at a request that failed. */
export interface RetryOptions {
  /** Further attempts at one request. Minimum: 0. @default 4 */
  readonly attempts?: number;
  /** The bound of the first wait in milliseconds; it doubles. A wait is random below its bound. Minimum: 1. @default 1000 */
  readonly firstMs?: number;
  /** The longest wait in milliseconds. A provider that asks for a longer one gets no further attempt. @default 60_000 */
  readonly mostMs?: number;
  /** Whether a failure may pass. @default a lost connection, the statuses 408, 409, 429 and from 500 on, overload */
  readonly again?: (error: unknown) => boolean;
  /** A number from 0 to 1. @default Math.random */
  readonly random?: () => number;
  /** Waits; rejects once the signal aborts. @default a timer */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Milliseconds since 1970, for a `Retry-After` that is a date. @default Date.now */
  readonly now?: () => number;
}

/**
 * The wait before another attempt, in milliseconds; undefined for none.
 * @param status of the refusal, if known
 * @param attempt the number of attempts that followed the first
 */
export function retryWait(
  error: unknown,
  status: number | undefined,
  attempt: number,
  options: RetryOptions = {},
): number | undefined {
  const { random = Math.random, now = Date.now, again = (failure) => isPassing(failure, status) } = options;
  const attempts = integerOption("retry.attempts", options.attempts, 4, 0);
  const first = integerOption("retry.firstMs", options.firstMs, 1000, 1, maxTimerMs);
  const most = integerOption("retry.mostMs", options.mostMs, 60_000, 1, maxTimerMs);
  if (attempt >= attempts || !again(error)) return undefined;
  const least = retryAfterMs(error, now());
  if (least > most) return undefined;
  return Math.max(least, Math.ceil(random() * Math.min(most, first * 2 ** attempt)));
}

const passingStatuses: ReadonlySet<number> = new Set([408, 409, 429]);
/** Errors of connections, by the names and codes of clients and runtimes, and errors in a stream that pass. */
const connection =
  /connection|timeout|network|fetch failed|socket|terminated|ECONN|EPIPE|ETIMEDOUT|EAI_AGAIN|UND_ERR/i;
const passingWords =
  /overload|rate.?limit|too many requests|unavailable|server.?error|try again|throttl|before the reply was complete/i;

function isPassing(error: unknown, status: number | undefined): boolean {
  if (status !== undefined) return status >= 500 || passingStatuses.has(status);
  const words = wordsOf(error, 0);
  return connection.test(words) || passingWords.test(words);
}

/** The names, codes and messages of an error and of its causes. */
function wordsOf(error: unknown, depth: number): string {
  if (typeof error === "string") return error;
  if (!isRecord(error) || depth > 4) return "";
  const own = [error.name, error.constructor?.name, error.code, error.type, error.message];
  const words = own.filter((one) => typeof one === "string").join(" ");
  return `${words} ${wordsOf(error.cause, depth + 1)} ${wordsOf(error.error, depth + 1)}`.slice(0, 10_000);
}

/**
 * What the provider asks for: the headers `retry-after-ms` and `retry-after`, in seconds or as a date, and `retryDelay`
 * in the text of Google's errors.
 */
function retryAfterMs(error: unknown, now: number): number {
  const { headers, $response } = isRecord(error) ? error : {};
  const given = headers ?? (isRecord($response) ? $response.headers : undefined);
  const read = (name: string): string | undefined => {
    const value = given instanceof Headers ? given.get(name) : isRecord(given) ? given[name] : undefined;
    return typeof value === "string" ? value : undefined;
  };
  const ms = Number(read("retry-after-ms"));
  if (ms >= 0) return ms;
  const after = read("retry-after");
  if (after !== undefined) {
    const wait = /^\s{0,9}[\d.]{1,20}\s{0,9}$/.test(after) ? Number(after) * 1000 : Date.parse(after) - now;
    if (Number.isFinite(wait)) return Math.max(0, wait);
  }
  const delay = /"retryDelay"\s{0,9}:\s{0,9}"([\d.]{1,12})s"/.exec(
    isRecord(error) ? String(error.message) : "",
  );
  return delay === null ? 0 : Number(delay[1]) * 1000;
}
