import type { BlobRef } from "../../../content/index.js";
import { decodeUtf8 } from "../../../internal/bytes.js";
import { mapConcurrent } from "../../../internal/concurrency.js";
import { blobRefsIn } from "../../../internal/ids.js";

/** What became of a blob. */
export type BlobState = "ok" | "missing" | "corrupt";

/** An entry that names a blob which is not what it should be. */
export interface LostBlob {
  readonly blob: BlobRef;
  readonly state: "missing" | "corrupt";
  readonly line: number;
  readonly offset: number;
  readonly entryId: string;
}

type Naming = Omit<LostBlob, "state">;

const maxConcurrentProbes = 8;
const marks = ["sha256:", "blake3:"].map((mark) => Buffer.from(mark));

/** Asks of each blob that entries name, once, what became of it. Remembers only the names. */
export class BlobRefCheck {
  readonly #probe: (ref: BlobRef) => Promise<BlobState> | BlobState;
  readonly #found: (blob: LostBlob) => void;
  readonly #states = new Map<BlobRef, BlobState>();
  #namings: Naming[] = [];

  constructor(probe: (ref: BlobRef) => Promise<BlobState> | BlobState, found: (blob: LostBlob) => void) {
    this.#probe = probe;
    this.#found = found;
  }

  /** How many blobs are in which state. */
  counts(): Readonly<Record<BlobState, number>> {
    const counts = { ok: 0, missing: 0, corrupt: 0 };
    for (const state of this.#states.values()) counts[state]++;
    return counts;
  }

  /** Looks for names in an entry's line. */
  look(line: Uint8Array, place: { readonly line: number; readonly at: number }, entryId: string): void {
    const bytes = Buffer.from(line.buffer, line.byteOffset, line.length);
    // Few lines have one, and those that have none need not be decoded.
    if (!marks.some((mark) => bytes.includes(mark))) return;
    for (const blob of blobRefsIn(decodeUtf8(line) ?? "")) {
      this.#namings.push({ blob, line: place.line, offset: place.at, entryId });
    }
  }

  /** Asks for those that were found since the last time, some at once. */
  async probe(signal: AbortSignal | undefined): Promise<void> {
    const namings = this.#namings;
    this.#namings = [];
    const unknown = [...new Set(namings.map(({ blob }) => blob))].filter((blob) => !this.#states.has(blob));
    const probe = async (blob: BlobRef) => {
      signal?.throwIfAborted();
      return [blob, await this.#probe(blob)] as const;
    };
    for await (const [blob, state] of mapConcurrent(unknown, maxConcurrentProbes, probe))
      this.#states.set(blob, state);
    for (const naming of namings) {
      const state = this.#states.get(naming.blob);
      if (state !== undefined && state !== "ok") this.#found({ ...naming, state });
    }
  }
}
