/**
 * Changes of sessions that readers follow. One poll asks for all of them, and one connection listens for all:
 * neither grows with the sessions, partitions or stores of a process.
 */

import { crc32Hex, encodeUtf8 } from "../../core/bytes.js";
import type { SessionLog } from "../../session/index.js";
import type { FollowedSession, ListenForChanges } from "./dialect.js";

type SessionName = Pick<FollowedSession, "partition" | "id">;
type ChangesSince = Parameters<NonNullable<SessionLog["changed"]>>[1];

/** How sessions of one database are asked for. */
export interface ChangePoll {
  readonly client: object;
  /** The indices of those that are elsewhere than their readers. */
  moved(sessions: readonly FollowedSession[]): Promise<readonly number[]>;
}

/** Waits for changes of one session. */
export interface ChangeWatch {
  /** The name of the session in notifications. */
  readonly name: string;
  /** Resolves after a change since the last call, also one between two calls, or when the signal aborts. */
  changed(signal: AbortSignal, since: ChangesSince): Promise<void>;
  close(): Promise<void>;
}

/** A reader that waits. */
interface Wait extends FollowedSession {
  readonly poll: ChangePoll;
  readonly pollMs: number;
  /** The time of the last poll, or of the read before the wait. */
  polledAt: number;
  /** Whether a poll has no answer yet. */
  isAsked: boolean;
  end(error?: unknown): void;
}

/** An open log with its waits. */
interface Reader extends ChangeWatch {
  readonly waits: Set<Wait>;
  /** Whether a change came while none waited. */
  isBehind: boolean;
}

/** A connection that listens. */
interface Connection {
  stop: Promise<(() => Promise<void>) | undefined>;
}

/** Sessions of one statement: 700 kB of values at most. */
const maxPolled = 5000;

/** The followed sessions of one database. */
export class Changes {
  /** The logs that were ever waited for, by the name of their session, until they are closed. */
  readonly #readers = new Map<string, Set<Reader>>();
  readonly #waiting = new Set<Wait>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #tickMs = Number.POSITIVE_INFINITY;
  #listen: ListenForChanges | undefined;
  /** The connection that listens; undefined without readers, and after it was lost. */
  #listening: Connection | undefined;
  /** Whether a lost connection was opened again since the last tick. */
  #isReopened = false;

  /** Listens as soon as there is a reader. The first caller's connection serves all. */
  listenBy(listen: ListenForChanges): void {
    this.#listen ??= listen;
  }

  watch(session: SessionName, poll: ChangePoll): ChangeWatch {
    const name = changeName(session);
    const reader: Reader = {
      name,
      waits: new Set(),
      isBehind: false,
      changed: async (signal, since) => {
        const readers = this.#readers.get(name) ?? new Set();
        this.#readers.set(name, readers.add(reader));
        this.#keepListening();
        const { isBehind } = reader;
        reader.isBehind = false;
        if (!isBehind && !signal.aborted) await this.#wait({ ...session, poll, ...since }, reader, signal);
      },
      close: async () => {
        const readers = this.#readers.get(name);
        for (const wait of reader.waits) wait.end();
        if (readers?.delete(reader) && readers.size === 0) this.#readers.delete(name);
        if (this.#readers.size > 0) return;
        const listening = this.#listening;
        this.#listening = undefined;
        await (await listening?.stop)?.();
      },
    };
    return reader;
  }

  /** Wakes the readers of a session, except one that made the change itself. */
  tell(name: string, except?: ChangeWatch): void {
    for (const reader of this.#readers.get(name) ?? []) {
      if (reader === except) continue;
      reader.isBehind = reader.waits.size === 0;
      for (const wait of reader.waits) wait.end();
    }
  }

  #wait(
    session: SessionName & ChangesSince & { readonly poll: ChangePoll },
    reader: Reader,
    signal: AbortSignal,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = () => wait.end();
      const wait: Wait = {
        ...session,
        position: session.position ?? "",
        polledAt: performance.now(),
        isAsked: false,
        end: (error) => {
          signal.removeEventListener("abort", onAbort);
          reader.waits.delete(wait);
          this.#waiting.delete(wait);
          if (this.#waiting.size === 0) this.#stopTimer();
          if (error === undefined) resolve();
          else reject(error);
        },
      };
      signal.addEventListener("abort", onAbort, { once: true });
      reader.waits.add(wait);
      this.#waiting.add(wait);
      if (wait.pollMs < this.#tickMs) this.#startTimer(wait.pollMs);
    });
  }

  #startTimer(ms: number): void {
    clearTimeout(this.#timer);
    this.#tickMs = ms;
    this.#timer = setTimeout(() => this.#tick(), ms);
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
    this.#tickMs = Number.POSITIVE_INFINITY;
  }

  /** Polls the sessions for which the next tick would be too late. One without an answer keeps up no other. */
  #tick(): void {
    const next = performance.now() + this.#tickMs;
    const isDue = ({ isAsked, polledAt, pollMs }: Wait) => !isAsked && polledAt + pollMs < next;
    void this.#poll([...this.#waiting].filter(isDue));
    this.#stopTimer();
    if (this.#waiting.size === 0) return;
    this.#isReopened = false;
    this.#keepListening();
    let ms = Number.POSITIVE_INFINITY;
    for (const { pollMs } of this.#waiting) ms = Math.min(ms, pollMs);
    this.#startTimer(ms);
  }

  /** Wakes those of these readers whose sessions have moved. A failure is theirs. */
  async #poll(waits: readonly Wait[]): Promise<void> {
    const byClient = new Map<object, Wait[]>();
    for (const wait of waits) {
      const group = byClient.get(wait.poll.client) ?? [];
      byClient.set(wait.poll.client, group);
      group.push(wait);
      wait.isAsked = true;
    }
    const polled = async (group: readonly Wait[]) => {
      for (let start = 0; start < group.length; start += maxPolled) {
        const some = group.slice(start, start + maxPolled);
        for (const wait of some) wait.polledAt = performance.now();
        try {
          for (const at of (await some[0]?.poll.moved(some)) ?? []) some[at]?.end();
        } catch (error) {
          for (const wait of some) wait.end(error);
        }
        for (const wait of some) wait.isAsked = false;
      }
    };
    await Promise.all([...byClient.values()].map(polled));
  }

  /** Opens the connection that listens, unless there is one. What came before it was open, a poll finds. */
  #keepListening(): void {
    const listen = this.#listen;
    if (listen === undefined || this.#listening !== undefined) return;
    const listening: Connection = { stop: Promise.resolve(undefined) };
    this.#listening = listening;
    const heard = (names: readonly string[]) => {
      for (const name of names) this.tell(name);
    };
    const lost = () => {
      if (this.#listening !== listening) return;
      this.#listening = undefined;
      // It may be lost before `listen` has returned.
      void Promise.resolve()
        .then(() => listening.stop)
        .then((stop) => stop?.())
        .catch(() => undefined);
      // At once, but not again and again: the next tick tries, too.
      if (this.#isReopened || this.#readers.size === 0) return;
      this.#isReopened = true;
      this.#keepListening();
    };
    listening.stop = listen(heard, lost).then(
      (stop) => {
        if (this.#listening === listening) void this.#poll([...this.#waiting]);
        return stop;
      },
      () => {
        if (this.#listening === listening) this.#listening = undefined;
        return undefined;
      },
    );
  }
}

/** By client and prefix, so that all backends on one database in this process share them. */
const known = new WeakMap<object, Map<string, Changes>>();

export function clientChanges(client: object, prefix: string): Changes {
  const byPrefix = known.get(client) ?? new Map<string, Changes>();
  known.set(client, byPrefix);
  const changes = byPrefix.get(prefix) ?? new Changes();
  byPrefix.set(prefix, changes);
  return changes;
}

/** The name of a session in notifications, of 8 characters. Two that share one wake each other's readers. */
export function changeName({ partition, id }: SessionName): string {
  return crc32Hex(encodeUtf8(`${partition}/${id}`));
}
