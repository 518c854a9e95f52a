/** Tasks of many chats: those of one chat in order, one at a time, and no chat waits for another's queue to be empty. */
export interface ChatQueues<T> {
  add(chatId: number, task: T): void;
  /** Resolves when no more wait than may, or the signal aborts. */
  room(signal: AbortSignal): Promise<void>;
  /** Begins nothing more, and resolves when all that has begun is done. */
  close(): Promise<void>;
}

/** Options of {@link chatQueues}. */
export interface ChatQueuesOptions {
  /** Chats that are worked for at a time; after each task the next chat has its turn. At least 1. */
  readonly maxRunning: number;
  /** Tasks of all chats, above which there is no {@link ChatQueues.room}. */
  readonly maxWaiting: number;
}

/** Queues that bring each task to `work`, which never rejects. */
export function chatQueues<T>(
  work: (task: T) => Promise<void>,
  { maxRunning, maxWaiting }: ChatQueuesOptions,
): ChatQueues<T> {
  const queues = new Map<number, T[]>();
  /** Chats that have tasks and are not worked for, in the order in which they get their turn. */
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
