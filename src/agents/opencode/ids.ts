/** Ids of opencode: a prefix, the time, and 14 letters and digits. They have to ascend within a session. */

import { textDigest } from "../shared/ids.js";

/** The time is the low 48 bits of milliseconds times 4096, so that it begins anew every 795 days. */
const countsPerMillisecond = 4096n;
const period = 2 ** 36;

const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** The id of a session: the same for the same texts. */
export function sessionIdFor(...texts: readonly string[]): string {
  const hex = textDigest("opencode session", ...texts);
  return `ses_${hex.slice(0, 12)}${tail(hex)}`;
}

/** Makes the ids of one session's messages and parts, in the order of the file. */
export class AscendingIds {
  readonly #seed: string;
  readonly #isMoved: boolean;
  #last: bigint;

  /**
   * @param seed the id of the session
   * @param first the time of the first message, in milliseconds
   * @param last that of the last one
   * @param count how many ids there will be at most
   */
  constructor(
    seed: string,
    { first, last, now, count }: { first: number; last: number; now: number; count: number },
  ) {
    this.#seed = seed;
    // opencode compares ids of old messages with those of new ones, which have to be greater.
    this.#isMoved = Math.floor(first / period) !== Math.floor(now / period) || last >= now;
    this.#last = this.#isMoved ? BigInt(now) * countsPerMillisecond - BigInt(count) - 1n : 0n;
  }

  next(prefix: "msg" | "prt", time: number, key: string): string {
    const wanted = this.#isMoved ? 0n : BigInt(time) * countsPerMillisecond + 1n;
    this.#last = wanted > this.#last ? wanted : this.#last + 1n;
    const digits = BigInt.asUintN(48, this.#last).toString(16).padStart(12, "0");
    return `${prefix}_${digits}${tail(textDigest(this.#seed, prefix, key))}`;
  }
}

function tail(hex: string): string {
  let text = "";
  for (let at = 12; at < 40; at += 2) text += letters[Number.parseInt(hex.slice(at, at + 2), 16) % 62];
  return text;
}
