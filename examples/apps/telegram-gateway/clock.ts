import { setTimeout as pause } from "node:timers/promises";

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
