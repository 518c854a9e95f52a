import { SessileError } from "../errors/index.js";
import type { BlobBackend } from "./backend.js";

/** Room in a store for one put. */
export interface Reservation {
  /** Sets aside so many more bytes. */
  grow(bytes: number): Promise<void>;
  /** They are stored. */
  keep(): void;
  /** They are not wanted: the put failed, or its bytes were there already. Nothing after `keep`. */
  release(): void;
}

/** Room in a store without a quota. */
export const unlimited: Reservation = {
  grow: () => Promise.resolve(),
  keep: () => undefined,
  release: () => undefined,
};

/** How old a count may be, in milliseconds: after that, another is made beside the puts. */
const freshMs = 60_000;

/**
 * The bytes that a storage holds, for all stores on it in this process: a store that is opened for one
 * request does not list everything again. They are counted by a listing when first asked for, and kept up
 * with the puts of this process; what other processes put or delete is seen by the next count.
 */
export class Usage {
  #used: number | undefined;
  /** Bytes of puts under way. */
  #reserved = 0;
  #counting: Promise<void> | undefined;
  /** When the last count was begun. */
  #countedAt = 0;
  /** Bytes that were stored during a count, which may have missed them. */
  #kept = 0;

  /** Stored, and reserved. */
  get bytes(): number {
    return (this.#used ?? 0) + this.#reserved;
  }

  /** Counts if nobody has; where the count is old, begins another, which nobody waits for. */
  async known(backend: BlobBackend): Promise<void> {
    if (this.#used === undefined) await this.count(backend);
    // The next put begins it again.
    else if (performance.now() - this.#countedAt > freshMs) this.count(backend).catch(() => undefined);
  }

  /** One listing at a time for all who ask. */
  count(backend: BlobBackend): Promise<void> {
    this.#counting ??= (async () => {
      try {
        this.#kept = 0;
        this.#countedAt = performance.now();
        let bytes = 0;
        for await (const { size } of backend.list()) bytes += size;
        this.#used = bytes + this.#kept;
      } finally {
        this.#counting = undefined;
      }
    })();
    return this.#counting;
  }

  reserve(bytes: number): void {
    this.#reserved += bytes;
  }

  /** Reserved bytes are stored, or no longer wanted. */
  end(bytes: number, isStored: boolean): void {
    this.#reserved -= bytes;
    if (!isStored) return;
    if (this.#used !== undefined) this.#used += bytes;
    this.#kept += bytes;
  }
}

const usages = new WeakMap<BlobBackend, Usage>();

/** Has several backends of one storage count together. */
export function shareUsage(backend: BlobBackend, usage: Usage): void {
  usages.set(backend, usage);
}

function usageOf(backend: BlobBackend): Usage {
  const known = usages.get(backend) ?? new Usage();
  usages.set(backend, known);
  return known;
}

/**
 * The bytes that a store may hold. Before a put is refused they are counted again, since others delete and
 * collect. What other processes put is not seen between two counts, so that several writers together can pass
 * the quota by as much as they put in a minute.
 */
export class Quota {
  readonly #backend: BlobBackend;
  readonly #usage: Usage;
  readonly #maxBytes: number;

  constructor(backend: BlobBackend, maxBytes: number) {
    this.#backend = backend;
    this.#usage = usageOf(backend);
    this.#maxBytes = maxBytes;
  }

  reserve(): Reservation {
    const usage = this.#usage;
    let mine = 0;
    const end = (isStored: boolean): void => {
      usage.end(mine, isStored);
      mine = 0;
    };
    return {
      grow: async (bytes) => {
        await usage.known(this.#backend);
        if (!this.#fits(bytes)) await usage.count(this.#backend);
        if (!this.#fits(bytes)) throw this.#exceeded(bytes);
        // Without a pause after the look, so that two puts cannot both take the last room.
        usage.reserve(bytes);
        mine += bytes;
      },
      keep: () => end(true),
      release: () => end(false),
    };
  }

  #fits(bytes: number): boolean {
    return this.#usage.bytes + bytes <= this.#maxBytes;
  }

  #exceeded(bytes: number): SessileError {
    const used = this.#usage.bytes;
    const message = `${bytes} bytes do not fit: ${used} of ${this.#maxBytes} are used`;
    return new SessileError("QUOTA_EXCEEDED", message, { details: { bytes, used, quota: this.#maxBytes } });
  }
}
