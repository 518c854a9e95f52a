import type { BotApi } from "./bot-api.js";
import { arrayOf, fieldsOf, integerOf, TelegramError } from "./bot-api.js";
import type { Clock } from "./retry.js";
import { backoff, maxRetryAfter } from "./retry.js";

/** An update with a valid id and unchecked content. */
export interface Update {
  readonly update_id: number;
}

/** Options of {@link pollUpdates}. */
export interface PollOptions {
  readonly clock: Clock;
  /** Stops polling at once. */
  readonly signal: AbortSignal;
  readonly onProblem?: (problem: string) => void;
}

/** Seconds that a poll waits for updates; the server allows at most 50. */
const timeout = 30;

/**
 * Yields updates in batches of at most 100. The next iteration acknowledges the batch, so store it first. An
 * update is confirmed by an offset above its id. The offset is sent until a poll with it succeeds, and not
 * after that: after a week without updates the next ids may be smaller.
 *
 * Retries after transient failures. Ends when the signal aborts.
 *
 * @throws TelegramError for an unknown token
 * @see https://core.telegram.org/bots/api#getupdates and #update, read 2026-11-22
 */
export async function* pollUpdates(
  api: BotApi,
  { clock, signal, onProblem }: PollOptions,
): AsyncGenerator<readonly Update[], void, undefined> {
  let offset: number | undefined;
  let failures = 0;
  while (!signal.aborted) {
    try {
      const updates = await poll(api, offset, signal);
      failures = 0;
      offset = updates.length === 0 ? undefined : Math.max(...updates.map(({ update_id: id }) => id)) + 1;
      if (updates.length > 0) yield updates;
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof TelegramError) || error.code === 401 || error.code === 404) throw error;
      failures++;
      onProblem?.(error.message);
      await clock.sleep(pauseOf(error, failures), signal).catch(() => undefined);
    }
  }
}

async function poll(
  api: BotApi,
  offset: number | undefined,
  signal: AbortSignal,
): Promise<readonly Update[]> {
  const params = { timeout, allowed_updates: ["message"], ...(offset === undefined ? {} : { offset }) };
  // A dead connection times out a little after the server would have answered.
  const result = await api.call("getUpdates", params, { signal, timeoutMs: (timeout + 10) * 1000 });
  return arrayOf(result).filter(isUpdate);
}

function isUpdate(value: unknown): value is Update {
  return integerOf(fieldsOf(value)?.update_id) !== undefined;
}

/** A 409 means that another process polls, or that a webhook is set; it is transient. */
function pauseOf({ retryAfter }: TelegramError, failures: number): number {
  return retryAfter === undefined ? backoff(failures) : Math.min(retryAfter, maxRetryAfter) * 1000;
}
