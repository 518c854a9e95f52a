import type { OpenFile } from "../../internal/node/file-system.js";
import { readFully } from "../../internal/node/read-write-fully.js";
import type { LinePlace } from "../api/backend.js";

/** Lines with less than this between them are read in one go. */
const maxGapBytes = 32 * 1024;
const maxRunBytes = 1024 * 1024;

/** The bytes at these places, in the order asked for; undefined past the end of the file. */
export async function readPlaces(
  file: OpenFile,
  places: readonly LinePlace[],
): Promise<readonly (Uint8Array | undefined)[]> {
  const out: (Uint8Array | undefined)[] = new Array(places.length);
  const order = places.map((_, index) => index);
  if (!isAscending(places)) order.sort((a, b) => (places[a] as LinePlace).at - (places[b] as LinePlace).at);
  for (let from = 0; from < order.length; ) {
    const start = (places[order[from] as number] as LinePlace).at;
    let end = start;
    let to = from;
    for (; to < order.length; to++) {
      const { at, length } = places[order[to] as number] as LinePlace;
      if (to > from && (at - end > maxGapBytes || at + length - start > maxRunBytes)) break;
      end = Math.max(end, at + length);
    }
    const bytes = new Uint8Array(end - start);
    const count = await readFully(file, bytes, start);
    for (; from < to; from++) {
      const index = order[from] as number;
      const { at, length } = places[index] as LinePlace;
      out[index] = at - start + length <= count ? bytes.subarray(at - start, at - start + length) : undefined;
    }
  }
  return out;
}

function isAscending(places: readonly LinePlace[]): boolean {
  for (let i = 1; i < places.length; i++) {
    if ((places[i] as LinePlace).at < (places[i - 1] as LinePlace).at) return false;
  }
  return true;
}
