import type { ServerResponse } from "node:http";
import { Failure } from "./local-failure.js";

interface WaitingPoll {
  readonly answer: (updates: readonly object[]) => void;
  readonly refuse: (failure: Failure) => void;
}

/** Updates until they are confirmed, and the one poll that may wait for more. */
export class LocalUpdates {
  #updates: { readonly update_id: number }[] = [];
  #nextId = 800_000_001;
  #waiting: WaitingPoll | undefined;

  push(update: { readonly update_id?: number; readonly message?: object }): number {
    const id = update.update_id ?? this.#nextId++;
    this.#updates.push({ ...update, update_id: id });
    this.#waiting?.answer(this.#updates.slice(0, 100));
    return id;
  }

  /** A poll with an offset confirms what is below it; without one, or with 0, none. A second poll ends the first. */
  async get(params: Readonly<Record<string, unknown>>, outgoing: ServerResponse): Promise<readonly object[]> {
    this.#waiting?.refuse(conflict());
    const [offset, timeout] = [Number(params.offset ?? 0), Math.min(Number(params.timeout ?? 0), 50)];
    const limit = Math.min(Math.max(Number(params.limit ?? 100), 1), 100);
    if (offset < 0) this.#updates = this.#updates.slice(offset);
    if (offset > 0) this.#updates = this.#updates.filter(({ update_id: id }) => id >= offset);
    if (this.#updates.length > 0 || timeout <= 0) return this.#updates.slice(0, limit);
    return new Promise((resolve, reject) => {
      const end = () => {
        clearTimeout(timer);
        outgoing.off("close", empty);
        if (this.#waiting === poll) this.#waiting = undefined;
      };
      const poll: WaitingPoll = {
        answer: (updates) => {
          end();
          resolve(updates);
        },
        refuse: (failure) => {
          end();
          reject(failure);
        },
      };
      const empty = () => poll.answer([]);
      const timer = setTimeout(empty, timeout * 1000);
      outgoing.on("close", empty);
      this.#waiting = poll;
    });
  }

  close(): void {
    this.#waiting?.answer([]);
  }
}

function conflict(): Failure {
  return new Failure({
    error_code: 409,
    description:
      "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
  });
}
