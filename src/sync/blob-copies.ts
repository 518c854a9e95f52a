/** Copies of the blobs that lines name, before the lines themselves. */

import type { BlobStore } from "../blobs/index.js";
import type { BlobRef } from "../content/index.js";
import { mapConcurrent } from "../core/concurrency.js";
import { SessileError } from "../core/errors/index.js";
import { isRecord } from "../core/shape.js";
import { blobRefsInLine } from "../session/internal.js";
import type { Tally } from "./report.js";

const concurrency = 4;
/** Bounds the memory of the refs that are known to be in the target. */
const maxKnown = 100_000;

/** Copies blobs from one store to another. */
export class BlobCopies {
  readonly #from: BlobStore;
  readonly #to: BlobStore;
  readonly #tally: Tally;
  readonly #signal: AbortSignal | undefined;
  readonly #known = new Set<BlobRef>();

  constructor(from: BlobStore, to: BlobStore, tally: Tally, signal: AbortSignal | undefined) {
    this.#from = from;
    this.#to = to;
    this.#tally = tally;
    this.#signal = signal;
  }

  /**
   * Copies every blob that these lines name, or renews its lease in the target. A blob that is missing or
   * corrupt in the source is reported and skipped: the copy has the same gap.
   */
  async copy(lines: readonly Uint8Array[]): Promise<void> {
    const wanted = new Map<BlobRef, Uint8Array>();
    for (const line of lines)
      for (const ref of blobRefsInLine(line)) if (!this.#known.has(ref)) wanted.set(ref, line);
    const copied = mapConcurrent(wanted, concurrency, ([ref, line]) => this.#copyOne(ref, line));
    for await (const ref of copied) {
      if (this.#known.size >= maxKnown) this.#known.clear();
      this.#known.add(ref);
    }
  }

  async #copyOne(ref: BlobRef, line: Uint8Array): Promise<BlobRef> {
    const signal = this.#signal;
    signal?.throwIfAborted();
    if ((await this.#to.touch(ref)) !== undefined) return ref;
    const transfer = signal === undefined ? {} : { signal };
    try {
      const source = await this.#from.stream(ref, transfer);
      if (source === undefined) {
        this.#tally.lost.add(ref);
        return ref;
      }
      const mediaType = mediaTypeIn(line, ref);
      const { size } = await this.#to.put(source, {
        ref,
        ...transfer,
        ...(mediaType === undefined ? {} : { mediaType }),
      });
      this.#tally.blobCount++;
      this.#tally.blobBytes += size;
    } catch (error) {
      if (!SessileError.is(error, "BLOB_CORRUPT")) throw error;
      this.#tally.lost.add(ref);
    }
    return ref;
  }
}

/** The media type in the descriptor of a blob: layouts may derive file names from it. */
function mediaTypeIn(line: Uint8Array, ref: BlobRef): string | undefined {
  let found: string | undefined;
  try {
    JSON.parse(new TextDecoder().decode(line), (_, value: unknown) => {
      if (isRecord(value) && value.blob === ref && typeof value.mediaType === "string")
        found = value.mediaType;
      return value;
    });
  } catch {
    // The blobs of a damaged line are copied too.
  }
  return found;
}
