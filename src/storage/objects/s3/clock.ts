/**
 * The clock of an S3 server, from the `Date` headers of its replies. A `Date` has whole seconds, so one reply
 * bounds the difference of the two clocks to a second and the time of the request; further replies narrow it.
 */
export class ServerClock {
  readonly #local: () => number;
  /** Bounds of the server's clock minus the local one, in milliseconds. */
  #bounds: { readonly low: number; readonly high: number } | undefined;
  #stamped = 0;

  constructor(local: () => number = Date.now) {
    this.#local = local;
  }

  /** Whether a reply had a date. */
  get isKnown(): boolean {
    return this.#bounds !== undefined;
  }

  /** Takes the date of a reply to a request that was sent at this local time. */
  observe(headers: Headers, sentAt: number): void {
    // An Age means a cache, whose date is older than the reply.
    if (headers.has("age")) return;
    const date = Date.parse(headers.get("date") ?? "");
    if (!Number.isFinite(date)) return;
    const [low, high] = [date - this.#local(), date + 1000 - sentAt];
    if (low > high) return; // the local clock was set meanwhile
    const known = this.#bounds ?? { low, high };
    const both = { low: Math.max(low, known.low), high: Math.min(high, known.high) };
    // Contradictory bounds mean that one of the clocks was set: the newest reply counts.
    this.#bounds = both.low <= both.high ? both : { low, high };
  }

  /** The server's time at the earliest, in milliseconds since 1970. Without a date the local time. */
  earliest(): number {
    return Math.floor(this.#local() + (this.#bounds?.low ?? 0));
  }

  /** A time for a lease: the server's time at the latest, and later than each stamp before. */
  stamp(): number {
    const latest = Math.ceil(this.#local() + (this.#bounds?.high ?? 0));
    this.#stamped = Math.max(latest, this.#stamped + 1);
    return this.#stamped;
  }
}
