/** Tasks of many chats: those of one chat in order, one at a time, and no chat waits for another. */
export interface ChatQueues<T> {
  add(chatId: number, task: T): void;
  /** Resolves when there is room for as many tasks as one batch brings. */
  room(signal: AbortSignal): Promise<void>;
  /** Begins nothing more, and resolves when all that has begun is done. */
  close(): Promise<void>;
}

/**
 * Queues that bring each task to `work`, which never rejects.
 *
 * @param maxWaiting tasks of all chats, above which there is no room: Telegram keeps what is not asked for, for a day
 */
export function chatQueues<T>(work: (task: T) => Promise<void>, maxWaiting: number): ChatQueues<T> {
  const queues = new Map<number, T[]>();
  const workers = new Set<Promise<void>>();
  let count = 0;
  let closed = false;
  let change = withResolvers();

  function changed(): void {
    change.resolve();
    change = withResolvers();
  }

  async function run(chatId: number, queue: T[]): Promise<void> {
    for (let task = queue[0]; task !== undefined && !closed; task = queue[0]) {
      await work(task);
      queue.shift();
      count--;
      changed();
    }
    if (queue.length === 0) queues.delete(chatId);
  }

  return {
    add(chatId, task) {
      count++;
      const queue = queues.get(chatId);
      if (queue !== undefined) {
        queue.push(task);
        return;
      }
      const fresh = [task];
      queues.set(chatId, fresh);
      const worker = run(chatId, fresh).finally(() => workers.delete(worker));
      workers.add(worker);
    },
    async room(signal) {
      const aborted = withResolvers();
      signal.addEventListener("abort", aborted.resolve, { once: true });
      while (count > maxWaiting && !signal.aborted) await Promise.race([change.promise, aborted.promise]);
      signal.removeEventListener("abort", aborted.resolve);
    },
    async close() {
      closed = true;
      await Promise.all(workers);
    },
  };
}

/** `Promise.withResolvers`, which Node 20 does not have. */
function withResolvers(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
