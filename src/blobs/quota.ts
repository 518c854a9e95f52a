/** The quota of a store: its puts reserve their bytes before they store them. */

import type { BlobRef } from "../content/index.js";
import { SessileError } from "../core/errors/index.js";
import { randomHex8 } from "../core/ids.js";
import type { BlobBackend } from "./backend.js";
import { type BlobQuotas, type BlobReservation, type BlobRoom, ProcessQuotas } from "./quotas.js";

/** Room in a store for one put. */
export interface Reservation {
  /** Reserves so many more bytes. With `ref`, they are about to be stored under it. */
  grow(bytes: number, ref?: BlobRef): Promise<void>;
  /** The bytes are stored. */
  keep(): Promise<void>;
  /** Ends the reservation, of which nothing is known to be stored. Does nothing after `keep`. Never fails. */
  release(): Promise<void>;
}

/** Room in a store without a quota. */
export const unlimited: Reservation = {
  grow: () => Promise.resolve(),
  keep: () => Promise.resolve(),
  release: () => Promise.resolve(),
};

/** After so many milliseconds without a call, the process of a reservation counts as killed. */
const leaseMs = 15 * 60_000;

/** A stream reserves so many bytes ahead, where a reservation is a request to a database. */
const aheadBytes = 8 * 1024 * 1024;

const processQuotas = new WeakMap<BlobBackend, ProcessQuotas>();

/** Has several backends of one storage count together. */
export function shareQuotas(backend: BlobBackend, quotas: ProcessQuotas): void {
  processQuotas.set(backend, quotas);
}

/** The quotas of a backend in this process. Stores of all partitions share them. */
function backendQuotas(backend: BlobBackend, whole: BlobBackend): ProcessQuotas {
  const known = processQuotas.get(backend) ?? processQuotas.get(whole) ?? new ProcessQuotas();
  if (!processQuotas.has(backend)) processQuotas.set(whole, known);
  return known;
}

/** The storage whose bytes a {@link Quota} counts. */
export interface QuotaTarget {
  readonly backend: BlobBackend;
  /** The backend of all partitions. */
  readonly whole: BlobBackend;
  readonly partition: string;
  /** Default: counters of this process, recounted by a listing at first, before a refusal and each minute. */
  readonly quotas?: BlobQuotas | undefined;
}

/** The bytes that a partition may hold. */
export class Quota {
  readonly #backend: BlobBackend;
  readonly #partition: string;
  readonly #quotas: BlobQuotas;
  /** The same, if they are of this process. */
  readonly #ofProcess: ProcessQuotas | undefined;
  readonly #maxBytes: number;

  constructor({ backend, whole, partition, quotas }: QuotaTarget, maxBytes: number) {
    this.#backend = backend;
    this.#partition = partition;
    this.#ofProcess = quotas === undefined ? backendQuotas(backend, whole) : undefined;
    this.#quotas = quotas ?? (this.#ofProcess as BlobQuotas);
    this.#maxBytes = maxBytes;
  }

  reserve(): Reservation {
    const id = `${randomHex8()}${randomHex8()}`;
    let bytes = 0;
    let reservedBytes = 0;
    let ref: BlobRef | undefined;
    return {
      grow: async (more, name) => {
        const total = bytes + more;
        if (total === 0) return;
        if (name !== undefined) await this.#take({ id, bytes: total, ref: name }, more);
        else if (total > reservedBytes) reservedBytes = await this.#takeAhead(id, total, more);
        bytes = total;
        ref = name;
      },
      keep: async () => {
        const stored = bytes;
        bytes = 0;
        reservedBytes = 0;
        if (stored === 0) return;
        // A put that took longer than its lease. Another process may have counted it, then it counts twice.
        if (!(await this.#quotas.end(this.#partition, id, stored)))
          await this.#quotas.add(this.#partition, stored);
      },
      release: async () => {
        const unstored = bytes + reservedBytes;
        const name = ref;
        const last = { id, bytes };
        bytes = 0;
        reservedBytes = 0;
        if (unstored === 0) return;
        const ending =
          name === undefined
            ? this.#quotas.end(this.#partition, id, 0)
            : this.#settle({ ...last, ref: name });
        // It expires in any case, and the error of the put has the cause.
        await ending.catch(() => undefined);
      },
    };
  }

  /** Reserves more than is asked for, if that fits. Returns the reserved bytes. */
  async #takeAhead(id: string, bytes: number, more: number): Promise<number> {
    const ahead = this.#ofProcess === undefined ? bytes + aheadBytes : bytes;
    if (ahead > bytes) {
      const { reserved } = await this.#reserve({ id, bytes: ahead });
      if (reserved) return ahead;
    }
    await this.#take({ id, bytes }, more);
    return bytes;
  }

  async #take(reservation: BlobReservation, more: number): Promise<void> {
    const partition = this.#partition;
    let room = await this.#reserve(reservation);
    // A process does not see the deletions of others.
    if (!room.reserved && room.used !== undefined && this.#ofProcess !== undefined) {
      await this.#count();
      room = await this.#reserve(reservation);
    }
    if (room.reserved) {
      // The next put begins it again if it fails.
      if (this.#ofProcess?.isOld(partition) === true) this.#count().catch(() => undefined);
      return;
    }
    const used = (room.used ?? 0) + reservation.bytes - more;
    const message = `${more} bytes do not fit: ${used} of ${this.#maxBytes} are used`;
    throw new SessileError("QUOTA_EXCEEDED", message, {
      details: { bytes: more, used, quota: this.#maxBytes },
    });
  }

  /** Reserves, after the first count, and again after expired reservations were ended. */
  async #reserve(reservation: BlobReservation): Promise<BlobRoom> {
    const reserve = () =>
      this.#quotas.reserve(this.#partition, reservation, { quota: this.#maxBytes, leaseMs });
    let room = await reserve();
    if (room.used === undefined) {
      await this.#count();
      room = await reserve();
    }
    const { expired } = room;
    for (const each of expired) await this.#settle(each);
    return room.reserved || expired.length === 0 ? room : reserve();
  }

  /** Ends a reservation whose outcome is unknown: by looking for the blob. */
  async #settle({ id, ref, bytes }: BlobReservation): Promise<void> {
    const stat = ref === undefined ? undefined : await this.#backend.stat(ref);
    await this.#quotas.end(this.#partition, id, stat?.size === bytes ? bytes : 0);
  }

  #count(): Promise<void> {
    return recount(this.#quotas, this.#backend, this.#partition);
  }
}

const counting = new WeakMap<BlobQuotas, Map<string, Promise<void>>>();

/** Counts a partition by a listing. One at a time for all who ask. */
function recount(quotas: BlobQuotas, backend: BlobBackend, partition: string): Promise<void> {
  const underWay = counting.get(quotas) ?? new Map<string, Promise<void>>();
  counting.set(quotas, underWay);
  const count = async (): Promise<void> => {
    try {
      const { added } = await quotas.usage(partition);
      let bytes = 0;
      for await (const { size } of backend.list()) bytes += size;
      await quotas.recount(partition, bytes, added);
    } finally {
      underWay.delete(partition);
    }
  };
  const known = underWay.get(partition) ?? count();
  if (!underWay.has(partition)) underWay.set(partition, known);
  return known;
}
