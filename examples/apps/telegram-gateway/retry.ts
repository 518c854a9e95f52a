import { setTimeout as pause } from "node:timers/promises";
import { TelegramError } from "./bot-api.js";

/** Seconds. A longer wait is not made. */
export const maxRetryAfter = 300;
const firstPauseMs = 500;
const longestPauseMs = 30_000;

/**
 * The pause before a failed call is retried, in milliseconds; undefined if a retry is useless. A 429 gives
 * its own pause; without a response and after 5xx the pause doubles (exponential backoff).
 *
 * @param failures number of failures so far, at least 1
 * @see https://core.telegram.org/bots/api#responseparameters read 2026-11-22
 */
export function pauseAfter(error: unknown, failures: number): number | undefined {
  if (!(error instanceof TelegramError)) return undefined;
  if (error.retryAfter !== undefined) {
    return error.retryAfter <= maxRetryAfter ? error.retryAfter * 1000 : undefined;
  }
  return error.code === undefined || error.code >= 500 ? backoff(failures) : undefined;
}

/** Milliseconds: half a second, then twice as long each time, up to half a minute. */
export function backoff(failures: number): number {
  return Math.min(firstPauseMs * 2 ** Math.min(failures - 1, 30), longestPauseMs);
}

/**
 * Makes a call with retries, at most five attempts. A call whose response was lost may have succeeded, so a
 * message can be sent twice; without a retry it could be lost.
 */
export async function withRetries<T>(call: () => Promise<T>, clock: Clock): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await call();
    } catch (error) {
      const pause = failures < 5 ? pauseAfter(error, failures) : undefined;
      if (pause === undefined) throw error;
      await clock.sleep(pause);
    }
  }
}

/** A clock that tests can replace. */
export interface Clock {
  /** Milliseconds since any fixed time. */
  now(): number;
  /** Rejects when the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The monotonic clock of this machine. */
export const systemClock: Clock = {
  now: () => performance.now(),
  sleep: (ms, signal) => pause(ms, undefined, signal === undefined ? {} : { signal }),
};
