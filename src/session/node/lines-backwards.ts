import type { OpenFile } from "../../internal/node/file-system.js";
import type { LinePlace } from "../api/backend.js";
import { readPlaces } from "./read-ranges.js";

const stepBytes = 64 * 1024;

/** A line, with its bytes unless it has more than a reader takes. */
export interface BackwardLine extends LinePlace {
  readonly bytes?: Uint8Array;
}

/**
 * The lines of a part of a file, the last one first. The part begins where a line does; it ends behind a line feed, or
 * with a line that lacks its own. Ends early where the file does not reach to `end`. Memory is bounded by the longest
 * line allowed.
 */
export async function* linesBackwards(
  file: OpenFile,
  { start, end }: { readonly start: number; readonly end: number },
  { maxLineBytes, signal }: { readonly maxLineBytes: number; readonly signal?: AbortSignal | undefined },
): AsyncGenerator<BackwardLine, void, undefined> {
  /** The line that ends at the lowest place seen, as far as it was read; its pieces from the last one on. */
  let pieces: Uint8Array[] = [];
  let length = 0;
  const hold = (piece: Uint8Array) => {
    length += piece.length;
    if (length > maxLineBytes) pieces = [];
    else pieces.push(piece);
  };
  const take = (at: number): BackwardLine => {
    const place = { at, length };
    const line = length > maxLineBytes ? place : { ...place, bytes: Buffer.concat(pieces.reverse()) };
    pieces = [];
    length = 0;
    return line;
  };
  for (let stop = end; stop > start; ) {
    signal?.throwIfAborted();
    const at = Math.max(start, stop - stepBytes);
    const [bytes] = await readPlaces(file, [{ at, length: stop - at }]);
    if (bytes === undefined) return;
    let rest = stop === end && bytes.at(-1) === 10 ? bytes.subarray(0, -1) : bytes;
    for (let feed = rest.lastIndexOf(10); feed >= 0; feed = rest.lastIndexOf(10)) {
      hold(rest.subarray(feed + 1));
      yield take(at + feed + 1);
      rest = rest.subarray(0, feed);
    }
    hold(rest);
    stop = at;
  }
  if (end > start) yield take(start);
}
