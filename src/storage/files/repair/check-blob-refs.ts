/** Checks that the blobs that a session names exist. */

import type { BlobRef } from "../../../content/index.js";
import { decodeUtf8 } from "../../../core/bytes.js";
import { mapConcurrent } from "../../../core/concurrency.js";
import { blobRefsIn } from "../../../core/ids.js";

/** The state of a blob. */
export type BlobState = "ok" | "missing" | "corrupt";

/** A reference of an entry to a missing or corrupt blob. */
export interface LostBlob {
  readonly blob: BlobRef;
  readonly state: "missing" | "corrupt";
  readonly line: number;
  readonly offset: number;
  readonly entryId: string;
}

type Reference = Omit<LostBlob, "state">;

const maxConcurrentProbes = 8;
const algorithms = ["sha256:", "blake3:"].map((prefix) => Buffer.from(prefix));

/** Checks the state of each blob that entries name, once. Keeps only the references. */
export class BlobRefCheck {
  readonly #probe: (ref: BlobRef) => Promise<BlobState> | BlobState;
  readonly #found: (blob: LostBlob) => void;
  readonly #states = new Map<BlobRef, BlobState>();
  #references: Reference[] = [];

  constructor(probe: (ref: BlobRef) => Promise<BlobState> | BlobState, found: (blob: LostBlob) => void) {
    this.#probe = probe;
    this.#found = found;
  }

  /** The number of blobs in each state. */
  counts(): Readonly<Record<BlobState, number>> {
    const counts = { ok: 0, missing: 0, corrupt: 0 };
    for (const state of this.#states.values()) counts[state]++;
    return counts;
  }

  /** Collects the references in an entry's line. */
  collect(line: Uint8Array, place: { readonly line: number; readonly at: number }, entryId: string): void {
    const bytes = Buffer.from(line.buffer, line.byteOffset, line.length);
    // Few lines have a reference; the others are not decoded.
    if (!algorithms.some((prefix) => bytes.includes(prefix))) return;
    for (const blob of blobRefsIn(decodeUtf8(line) ?? "")) {
      this.#references.push({ blob, line: place.line, offset: place.at, entryId });
    }
  }

  /** Checks the references collected since the last call, some at once. */
  async probe(signal: AbortSignal | undefined): Promise<void> {
    const references = this.#references;
    this.#references = [];
    const unknown = [...new Set(references.map(({ blob }) => blob))].filter(
      (blob) => !this.#states.has(blob),
    );
    const probe = async (blob: BlobRef) => {
      signal?.throwIfAborted();
      return [blob, await this.#probe(blob)] as const;
    };
    for await (const [blob, state] of mapConcurrent(unknown, maxConcurrentProbes, probe))
      this.#states.set(blob, state);
    for (const reference of references) {
      const state = this.#states.get(reference.blob);
      if (state !== undefined && state !== "ok") this.#found({ ...reference, state });
    }
  }
}
