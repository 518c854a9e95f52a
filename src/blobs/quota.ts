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

/**
 * The bytes that a store may hold. They are counted by a listing when first asked for, and kept up with this store's own
 * puts; before a put is refused they are counted again, since others delete and collect. What other processes put is not
 * seen between two counts, so that several writers together can pass the quota by as much.
 */
export class Quota {
  readonly #backend: BlobBackend;
  readonly #maxBytes: number;
  #used: number | undefined;
  /** Bytes of puts under way. */
  #reserved = 0;
  #counting: Promise<void> | undefined;
  /** Bytes that were stored during a count, which may have missed them. */
  #kept = 0;

  constructor(backend: BlobBackend, maxBytes: number) {
    this.#backend = backend;
    this.#maxBytes = maxBytes;
  }

  reserve(): Reservation {
    let mine = 0;
    const end = (): number => {
      const bytes = mine;
      this.#reserved -= bytes;
      mine = 0;
      return bytes;
    };
    return {
      grow: async (bytes) => {
        if (this.#used === undefined) await this.#count();
        if (!this.#fits(bytes)) await this.#count();
        if (!this.#fits(bytes)) throw this.#exceeded(bytes);
        // Without a pause after the look, so that two puts cannot both take the last room.
        this.#reserved += bytes;
        mine += bytes;
      },
      keep: () => {
        const bytes = end();
        this.#used = (this.#used ?? 0) + bytes;
        this.#kept += bytes;
      },
      release: () => void end(),
    };
  }

  #fits(bytes: number): boolean {
    return (this.#used ?? 0) + this.#reserved + bytes <= this.#maxBytes;
  }

  #exceeded(bytes: number): SessileError {
    const used = (this.#used ?? 0) + this.#reserved;
    const message = `${bytes} bytes do not fit: ${used} of ${this.#maxBytes} are used`;
    return new SessileError("QUOTA_EXCEEDED", message, { details: { bytes, used, quota: this.#maxBytes } });
  }

  /** One listing at a time, whoever asks. */
  #count(): Promise<void> {
    this.#counting ??= (async () => {
      try {
        this.#kept = 0;
        let bytes = 0;
        for await (const { size } of this.#backend.list()) bytes += size;
        this.#used = bytes + this.#kept;
      } finally {
        this.#counting = undefined;
      }
    })();
    return this.#counting;
  }
}
