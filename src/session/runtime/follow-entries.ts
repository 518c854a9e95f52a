/** `session.follow`: every entry from now on. */

import { integerOption } from "../../core/arguments.js";
import { sleep } from "../../core/concurrency.js";
import { SessileError } from "../../core/errors/index.js";
import type { SessionEntry, UnknownEntry } from "../../log/internal.js";
import type { SessionState } from "./session-state.js";

/** Yields every entry from now on, until the signal aborts or the session closes. */
export async function* followEntries(
  state: SessionState,
  options: {
    readonly signal: AbortSignal;
    readonly pollMs?: number;
  },
): AsyncGenerator<SessionEntry | UnknownEntry, void, undefined> {
  const pollMs = integerOption("pollMs", options.pollMs, 1000, 1);
  const queue: (SessionEntry | UnknownEntry)[] = [];
  const stop = new AbortController();
  let wake = (): void => undefined;
  const undo = [
    state.events.on("entry", ({ entry }) => {
      queue.push(entry);
      wake();
    }),
    state.events.on("closed", () => stop.abort()),
  ];
  const onAbort = () => stop.abort();
  options.signal.addEventListener("abort", onAbort, { once: true });
  if (options.signal.aborted || state.closed) stop.abort();
  try {
    for (;;) {
      yield* queue.splice(0);
      if (stop.signal.aborted) return;
      if (queue.length > 0) continue;
      const pause = new AbortController();
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
        stop.signal.addEventListener("abort", () => resolve(), { once: true, signal: pause.signal });
      });
      try {
        await Promise.race([woken, mayHaveChanged(state, pollMs, pause.signal)]);
      } finally {
        pause.abort();
      }
      if (!stop.signal.aborted && !(await readUnlessDeleted(state))) return;
    }
  } finally {
    options.signal.removeEventListener("abort", onAbort);
    for (const off of undo) off();
  }
}

/** Reads new lines without consuming the changes that {@link refresh} returns. */
async function readUnlessDeleted(state: SessionState): Promise<boolean> {
  try {
    await state.mutex.run(async () => {
      if (state.exists && !state.closed) await state.readRemoteChanges();
    });
    return true;
  } catch (error) {
    if (!SessileError.is(error, "SESSION_NOT_FOUND")) throw error;
    state.events.emit("deleted", { id: state.header.id });
    return false;
  }
}

/** Resolves when the log reports a change, after a poll interval without reports, or when the signal aborts. */
async function mayHaveChanged(state: SessionState, pollMs: number, signal: AbortSignal): Promise<void> {
  const { log, position } = state;
  if (log.changed !== undefined) await log.changed(signal, { position, pollMs });
  else await sleep(pollMs, signal).catch(() => undefined);
}
