/**
 * The usage of each reply. Since 0.169 a record after the reply has it. Earlier token counts are sums, are
 * repeated, and in 0.58 precede their reply.
 */

import type { Usage } from "../../content/index.js";
import { type ForeignObject, readObject } from "../shared/values.js";
import { readUsage } from "./outcomes.js";

/** Gives each reply its usage. */
export class ReplyUsage<Reply extends object> {
  readonly #set: (reply: Reply, usage: Usage) => void;
  readonly #known = new WeakSet<Reply>();
  #last: Reply | undefined;
  /** The usage of the next reply. */
  #held: Usage | undefined;
  /** The latest sum. A count with the same sum tells nothing new. */
  #sum: string | undefined;
  /** A reply without a count before it continues the last one, as 0.58 writes parallel calls. */
  #isContinued = false;
  #hasRecords = false;
  /** Tokens of the latest request and reply. */
  contextTokens = 0;

  constructor(set: (reply: Reply, usage: Usage) => void) {
    this.#set = set;
  }

  /** Whether usage is from records, not inferred from counts. */
  get isExact(): boolean {
    return this.#hasRecords;
  }

  /** A reply was read. */
  begin(reply: Reply): void {
    if (this.#held !== undefined) {
      this.#give(reply, this.#held);
      this.#held = undefined;
    } else if (this.#isContinued) this.#known.add(reply);
    this.#isContinued = true;
    this.#last = reply;
  }

  /** The next reply is another one. */
  separate(): void {
    this.#isContinued = false;
  }

  /** Nothing that comes belongs to the last reply. */
  forget(): void {
    this.#last = undefined;
    this.#isContinued = false;
  }

  /** The usage that a count adds, if it is new. */
  count(info: ForeignObject | undefined): Usage | undefined {
    this.#isContinued = false;
    if (this.#hasRecords) return undefined;
    if (info === undefined) {
      // A new process counts from zero.
      this.#sum = undefined;
      return undefined;
    }
    const usage = readUsage(info.last_token_usage);
    const sum = JSON.stringify(readObject(info.total_token_usage) ?? info);
    if (usage === undefined || sum === this.#sum) return undefined;
    this.#sum = sum;
    this.contextTokens = usage.totalTokens ?? 0;
    return usage;
  }

  /** The usage in a record. */
  record(payload: ForeignObject): Usage | undefined {
    this.#hasRecords = true;
    this.#isContinued = false;
    return readUsage(payload.usage);
  }

  /** Gives usage to the last reply, or holds it for the next one. */
  assign(usage: Usage): void {
    if (this.#last !== undefined && !this.#known.has(this.#last)) this.#give(this.#last, usage);
    else if (!this.#hasRecords) this.#held = usage;
  }

  /** Takes the usage that no reply had. */
  takeHeld(): Usage | undefined {
    const held = this.#held;
    this.#held = undefined;
    return held;
  }

  #give(reply: Reply, usage: Usage): void {
    this.#known.add(reply);
    this.#set(reply, usage);
  }
}
