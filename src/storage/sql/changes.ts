/** Changes that this process made: readers that follow a session wait for them. */

interface Key {
  readonly partition: string;
  readonly id: string;
}

/** The waiting readers of the sessions of one database. */
export class Changes {
  readonly #waiting = new Map<string, Set<() => void>>();

  /** Resolves at the next change of a session, or when the signal aborts. */
  next(session: Key, signal: AbortSignal): Promise<void> {
    const name = keyName(session);
    return new Promise((resolve) => {
      const readers = this.#waiting.get(name) ?? new Set();
      this.#waiting.set(name, readers);
      const wake = (): void => {
        signal.removeEventListener("abort", wake);
        readers.delete(wake);
        if (readers.size === 0 && this.#waiting.get(name) === readers) this.#waiting.delete(name);
        resolve();
      };
      readers.add(wake);
      signal.addEventListener("abort", wake, { once: true });
      if (signal.aborted) wake();
    });
  }

  /** Wakes the readers of a session. */
  tell(session: Key): void {
    for (const wake of [...(this.#waiting.get(keyName(session)) ?? [])]) wake();
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

/** A partition is a name, without a slash. */
function keyName({ partition, id }: Key): string {
  return `${partition}/${id}`;
}
