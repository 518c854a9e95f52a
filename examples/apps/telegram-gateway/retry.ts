import { setTimeout as pause } from "node:timers/promises";
import { TelegramError } from "./bot-api.js";

/** Seconds: who is told to wait longer gives up. */
export const maxRetryAfter = 300;
const firstPauseMs = 500;
const longestPauseMs = 30_000;

/**
 * How long to wait before a failed call is made again, in milliseconds; undefined where that would change nothing. A 429 says how
 * long; after anything that may pass, no answer and 5xx, the pauses double.
 *
 * @param failures how often it has failed, from 1 on
 * @see https://core.telegram.org/bots/api#responseparameters read 2026-11-22
 */
export function pauseAfter(error: unknown, failures: number): number | undefined {
  if (!(error instanceof TelegramError)) return undefined;
  if (error.retryAfter !== undefined) {
    return error.retryAfter <= maxRetryAfter ? error.retryAfter * 1000 : undefined;
  }
  return error.code === undefined || error.code >= 500 ? growingPause(failures) : undefined;
}

/** Milliseconds: half a second, then twice as long each time, up to half a minute. */
export function growingPause(failures: number): number {
  return Math.min(firstPauseMs * 2 ** Math.min(failures - 1, 30), longestPauseMs);
}

/**
 * Makes a call, and again while that helps, five times at most. A call whose answer was lost may have done its work, so that a
 * message can be there twice; the other way round it could be lost.
 */
export async function patiently<T>(call: () => Promise<T>, clock: Clock): Promise<T> {
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

/** Time, so that tests need not wait for it. */
export interface Clock {
  /** Milliseconds since whenever. */
  now(): number;
  /** Rejects when the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The time of this machine; setting its date does not change it. */
export const systemClock: Clock = {
  now: () => performance.now(),
  sleep: (ms, signal) => pause(ms, undefined, signal === undefined ? {} : { signal }),
};
