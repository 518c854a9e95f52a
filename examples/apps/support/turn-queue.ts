/** Runs turns: those of one conversation one after the other, in the order of the calls, and all else at once. */
export class TurnQueue {
  readonly #last = new Map<string, Promise<void>>();
  /** Turns that were asked for and have not ended. */
  size = 0;

  /** Whether a turn of this conversation is running or waits. */
  has(conversation: string): boolean {
    return this.#last.has(conversation);
  }

  /** @param turn must not reject */
  add(conversation: string, turn: () => Promise<void>): void {
    this.size++;
    const mine = (this.#last.get(conversation) ?? Promise.resolve()).then(turn).finally(() => {
      this.size--;
      // The last one takes the conversation's place with it.
      if (this.#last.get(conversation) === mine) this.#last.delete(conversation);
    });
    this.#last.set(conversation, mine);
  }
}
