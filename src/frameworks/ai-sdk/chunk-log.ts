/** The chunks of a running reply, for any number of readers that join at any time. */

/** Keeps chunks in order. A reader gets all of them from the first one on, then new ones as they arrive. */
export class ChunkLog<C> {
  readonly #chunks: C[] = [];
  readonly #waiting = new Set<() => void>();
  #ended = false;
  #failure: { readonly error: unknown } | undefined;

  push(chunk: C): void {
    this.#chunks.push(chunk);
    this.#wake();
  }

  /** Ends the log; with a failure, the readers' streams fail. */
  end(failure?: { readonly error: unknown }): void {
    this.#ended = true;
    this.#failure = failure;
    this.#wake();
  }

  /** A reader that stops or reads slowly does not block the others. */
  read(): ReadableStream<C> {
    let at = 0;
    let isCancelled = false;
    let wake = () => {};
    return new ReadableStream<C>(
      {
        pull: async (controller) => {
          while (at === this.#chunks.length && !this.#ended && !isCancelled) {
            await new Promise<void>((resolve) => {
              wake = resolve;
              this.#waiting.add(resolve);
            });
          }
          if (isCancelled) return;
          if (at < this.#chunks.length) controller.enqueue(this.#chunks[at++] as C);
          else if (this.#failure === undefined) controller.close();
          else controller.error(this.#failure.error);
        },
        cancel: () => {
          isCancelled = true;
          this.#waiting.delete(wake);
          wake();
        },
      },
      { highWaterMark: 0 },
    );
  }

  #wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }
}

/** The running reply of each chat. */
export class RunningReplies<C> {
  readonly #logs = new Map<string, ChunkLog<C>>();

  /** Reads a stream to its end, whether or not a reader of the returned stream is there. */
  start(key: string, source: ReadableStream<C>): ReadableStream<C> {
    // Throws for a stream that another reader has.
    const reader = source.getReader();
    const log = new ChunkLog<C>();
    this.#logs.set(key, log);
    void this.#pump(key, log, reader);
    return log.read();
  }

  resume(key: string): ReadableStream<C> | undefined {
    return this.#logs.get(key)?.read();
  }

  async #pump(key: string, log: ChunkLog<C>, reader: ReadableStreamDefaultReader<C>): Promise<void> {
    let failure: { readonly error: unknown } | undefined;
    try {
      for (let next = await reader.read(); !next.done; next = await reader.read()) log.push(next.value);
    } catch (error) {
      failure = { error };
    }
    // A newer reply of the chat has its own log.
    if (this.#logs.get(key) === log) this.#logs.delete(key);
    log.end(failure);
  }
}
