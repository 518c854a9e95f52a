/** Queues for many chats: the tasks of one chat run in order, one at a time, and chats take turns. */
export interface ChatQueues<T> {
  add(chatId: number, task: T): void;
  /** Resolves when fewer tasks than the maximum wait, or the signal aborts. */
  room(signal: AbortSignal): Promise<void>;
  /** Starts no more tasks, and resolves when the running ones have ended. */
  close(): Promise<void>;
}

/** Options of {@link chatQueues}. */
export interface ChatQueuesOptions {
  /** Maximum number of chats with a running task, at least 1. After each task the next chat has its turn. */
  readonly maxRunning: number;
  /** Waiting tasks of all chats, above which there is no {@link ChatQueues.room}. */
  readonly maxWaiting: number;
}

/** Makes queues that pass each task to `work`, which never rejects. */
export function chatQueues<T>(
  work: (task: T) => Promise<void>,
  { maxRunning, maxWaiting }: ChatQueuesOptions,
): ChatQueues<T> {
  const queues = new Map<number, T[]>();
  /** Chats with waiting tasks and without a running one, in the order of their turns. */
  const ready: number[] = [];
  const running = new Set<Promise<void>>();
  const watchers = new Set<() => void>();
  let count = 0;
  let closed = false;

  function begin(): void {
    while (!closed && running.size < maxRunning) {
      const chatId = ready.shift();
      if (chatId === undefined) return;
      const turn = one(chatId).finally(() => {
        running.delete(turn);
        begin();
      });
      running.add(turn);
    }
  }

  async function one(chatId: number): Promise<void> {
    const queue = queues.get(chatId) ?? [];
    const task = queue.shift();
    if (task !== undefined) await work(task);
    count--;
    if (queue.length > 0) ready.push(chatId);
    else queues.delete(chatId);
    for (const look of watchers) look();
  }

  return {
    add(chatId, task) {
      count++;
      const queue = queues.get(chatId);
      if (queue === undefined) {
        queues.set(chatId, [task]);
        ready.push(chatId);
      } else queue.push(task);
      begin();
    },
    async room(signal) {
      if (count <= maxWaiting || signal.aborted) return;
      await new Promise<void>((resolve) => {
        const look = () => {
          if (count > maxWaiting && !signal.aborted) return;
          watchers.delete(look);
          signal.removeEventListener("abort", look);
          resolve();
        };
        watchers.add(look);
        signal.addEventListener("abort", look);
      });
    },
    async close() {
      closed = true;
      await Promise.all(running);
    },
  };
}
