/**
 * The port that counts the bytes of partitions, so that quotas hold across processes, and its implementation
 * for one process. A reservation has the bytes of one put under way; used bytes are stored.
 */

import type { BlobRef } from "../content/index.js";

/** The bytes of one put under way. */
export interface BlobReservation {
  /** Chosen by the store: unique among all reservations of a partition. */
  readonly id: string;
  /** All bytes of the put so far. */
  readonly bytes: number;
  /** The name under which the put is about to store its bytes; absent while it still reads them. */
  readonly ref?: BlobRef;
}

/** The result of {@link BlobQuotas.reserve}. */
export interface BlobRoom {
  readonly reserved: boolean;
  /** Bytes used and reserved, without this reservation; undefined before the first recount. */
  readonly used: number | undefined;
  /**
   * Expired reservations with a ref. Their process may have been killed after it stored the blob, so they
   * count until the store has looked for the blob and ends them. May be a part of all.
   */
  readonly expired: readonly BlobReservation[];
}

/**
 * Counts the used and the reserved bytes of each partition. Each method is one atomic operation, also across
 * processes. The count is too high after two puts of the same new bytes at once, and too low after a put of
 * bytes that another process deletes in the same moment. A recount corrects both.
 */
export interface BlobQuotas {
  /**
   * Creates or replaces the reservation with this id, and renews its lease, if used and reserved bytes are at
   * most `quota` then. Otherwise it stays as it was. Idempotent. An expired reservation without a ref is
   * removed: nothing of it was stored.
   */
  reserve(
    partition: string,
    reservation: BlobReservation,
    options: { readonly quota: number; readonly leaseMs: number },
  ): Promise<BlobRoom>;
  /**
   * Ends a reservation: so many of its bytes are stored, and used now; zero if none. Returns false, and
   * counts nothing, if there is no reservation with this id.
   */
  end(partition: string, id: string, storedBytes: number): Promise<boolean>;
  /** Adds used bytes, without a reservation. Before the first recount there is nothing to add to. */
  add(partition: string, bytes: number): Promise<void>;
  /**
   * Removes a blob: ends all reservations with its ref. If there was none, its bytes were used and are no
   * longer; used bytes are at least zero.
   */
  remove(partition: string, ref: BlobRef, bytes: number): Promise<void>;
  /**
   * The used bytes, undefined before the first recount; and the sum of all bytes that `end` and `add` ever
   * added, without those deleted, as the start of a recount.
   */
  usage(partition: string): Promise<{ readonly used: number | undefined; readonly added: number }>;
  /**
   * Sets the used bytes: those of a listing, and those that were added since it began, at `since` of
   * {@link BlobQuotas.usage}.
   */
  recount(partition: string, listedBytes: number, since: number): Promise<void>;
}

interface Counts {
  used: number | undefined;
  added: number;
  readonly reservations: Map<string, BlobReservation & { readonly until: number }>;
  /** The time of the last recount. */
  countedAt: number;
}

/** How old a count of one process may be, in milliseconds: other processes put and delete too. */
const freshMs = 60_000;

/** The quotas of one process. */
export class ProcessQuotas implements BlobQuotas {
  readonly #partitions = new Map<string, Counts>();

  async reserve(
    partition: string,
    reservation: BlobReservation,
    { quota, leaseMs }: { readonly quota: number; readonly leaseMs: number },
  ): Promise<BlobRoom> {
    const counts = this.#of(partition);
    const { id, bytes } = reservation;
    const now = performance.now();
    const expired: BlobReservation[] = [];
    let used = counts.used;
    for (const [otherId, { until, ...other }] of counts.reservations) {
      if (otherId === id) continue;
      if (until <= now && other.ref === undefined) counts.reservations.delete(otherId);
      else if (used !== undefined) used += other.bytes;
      if (until <= now && other.ref !== undefined) expired.push(other);
    }
    const reserved = used !== undefined && used + bytes <= quota;
    if (reserved) counts.reservations.set(id, { ...reservation, until: now + leaseMs });
    return { reserved, used, expired };
  }

  async end(partition: string, id: string, storedBytes: number): Promise<boolean> {
    const counts = this.#of(partition);
    if (!counts.reservations.delete(id)) return false;
    if (counts.used !== undefined) counts.used += storedBytes;
    counts.added += storedBytes;
    return true;
  }

  async add(partition: string, bytes: number): Promise<void> {
    const counts = this.#of(partition);
    if (counts.used === undefined) return;
    counts.used += bytes;
    counts.added += bytes;
  }

  async remove(partition: string, ref: BlobRef, bytes: number): Promise<void> {
    const counts = this.#of(partition);
    const before = counts.reservations.size;
    for (const [id, each] of counts.reservations) if (each.ref === ref) counts.reservations.delete(id);
    if (counts.used !== undefined && counts.reservations.size === before)
      counts.used = Math.max(0, counts.used - bytes);
  }

  async usage(partition: string): Promise<{ readonly used: number | undefined; readonly added: number }> {
    const { used, added } = this.#of(partition);
    return { used, added };
  }

  async recount(partition: string, listedBytes: number, since: number): Promise<void> {
    const counts = this.#of(partition);
    counts.used = listedBytes + (counts.added - since);
    counts.countedAt = performance.now();
  }

  /** Whether another recount is due beside the puts. */
  isOld(partition: string): boolean {
    return performance.now() - this.#of(partition).countedAt > freshMs;
  }

  #of(partition: string): Counts {
    const known = this.#partitions.get(partition);
    if (known !== undefined) return known;
    const counts: Counts = { used: undefined, added: 0, reservations: new Map(), countedAt: 0 };
    this.#partitions.set(partition, counts);
    return counts;
  }
}
