/** Inflates zlib data up to a bound: the object streams of a PDF, which may be hostile. */

/** Codes of one alphabet: how many there are of each length, and their symbols in order. */
interface Codes {
  readonly counts: Uint16Array;
  readonly symbols: Uint16Array;
}

const longestCode = 15;

function huffmanCodes(lengths: ArrayLike<number>, from: number, to: number): Codes {
  const counts = new Uint16Array(longestCode + 1);
  for (let at = from; at < to; at++) {
    const length = lengths[at] as number;
    counts[length] = (counts[length] as number) + 1;
  }
  const places = new Uint16Array(longestCode + 2);
  for (let length = 1; length <= longestCode; length++) {
    places[length + 1] = (places[length] as number) + (counts[length] as number);
  }
  const symbols = new Uint16Array(to - from);
  for (let at = from; at < to; at++) {
    const length = lengths[at] as number;
    if (length === 0) continue;
    const place = places[length] as number;
    symbols[place] = at - from;
    places[length] = place + 1;
  }
  return { counts, symbols };
}

const fixedLengths = /* @__PURE__ */ Array.from({ length: 288 }, (_, symbol) =>
  symbol < 144 ? 8 : symbol < 256 ? 9 : symbol < 280 ? 7 : 8,
);
const fixedDistances = /* @__PURE__ */ Array.from({ length: 30 }, () => 5);
/** The order in which a dynamic block has the lengths of its length codes. */
const lengthOrder = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/** Base and extra bits of the symbols from 257 on. */
const lengthBases = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99];
const moreLengthBases = [115, 131, 163, 195, 227, 258];
const lengthBits = (symbol: number) => (symbol < 8 || symbol === 28 ? 0 : (symbol >> 2) - 1);
const distanceBits = (symbol: number) => (symbol < 4 ? 0 : (symbol >> 1) - 1);
const distanceBase = (symbol: number) =>
  symbol < 4 ? symbol + 1 : ((2 + (symbol & 1)) << distanceBits(symbol)) + 1;

/**
 * Inflates the zlib data between two offsets. Returns what was inflated before the end, a fault or
 * `maxBytes`. Takes time in proportion to the bytes read and written. Ignores the checksum.
 *
 * @see https://www.rfc-editor.org/rfc/rfc1951 (read 2026-11-28)
 */
export function inflate(bytes: Uint8Array, from: number, to: number, maxBytes: number): Uint8Array {
  let out = new Uint8Array(Math.min(maxBytes, Math.max(1024, 4 * (to - from))));
  let length = 0;
  let at = from + 2;
  let bits = 0;
  let held = 0;

  const take = (count: number): number => {
    while (held < count) {
      // Past the end come zeros; the callers compare `at`.
      bits |= (at < to ? (bytes[at] as number) : 0) << held;
      at++;
      held += 8;
    }
    const value = bits & ((1 << count) - 1);
    bits >>>= count;
    held -= count;
    return value;
  };
  /** The next symbol; undefined if no code begins like that. */
  const next = ({ counts, symbols }: Codes): number | undefined => {
    let code = 0;
    let first = 0;
    let index = 0;
    for (let size = 1; size <= longestCode; size++) {
      // As `take(1)`, which is too slow here.
      if (held === 0) {
        bits = at < to ? (bytes[at] as number) : 0;
        at++;
        held = 8;
      }
      code |= bits & 1;
      bits >>>= 1;
      held--;
      const count = counts[size] as number;
      if (code - count < first) return symbols[index + (code - first)];
      index += count;
      first = (first + count) << 1;
      code <<= 1;
    }
    return undefined;
  };
  const room = (more: number): boolean => {
    if (length + more > maxBytes) return false;
    if (length + more > out.length) {
      const larger = new Uint8Array(Math.min(maxBytes, 2 * (length + more)));
      larger.set(out.subarray(0, length));
      out = larger;
    }
    return true;
  };
  const stored = (): boolean => {
    at -= held >> 3;
    bits = held = 0;
    const size = (bytes[at] as number) | ((bytes[at + 1] as number) << 8);
    at += 4;
    if (at + size > to || !room(size)) return false;
    out.set(bytes.subarray(at, at + size), length);
    at += size;
    length += size;
    return true;
  };
  const coded = (literals: Codes, distances: Codes): boolean => {
    while (at <= to + 4) {
      const symbol = next(literals);
      if (symbol === undefined || symbol > 285) return false;
      if (symbol === 256) return true;
      if (symbol < 256) {
        if (!room(1)) return false;
        out[length++] = symbol;
        continue;
      }
      const place = symbol - 257;
      const base = lengthBases[place] ?? (moreLengthBases[place - lengthBases.length] as number);
      const count = base + take(lengthBits(place));
      const far = next(distances);
      if (far === undefined || far > 29) return false;
      const distance = distanceBase(far) + take(distanceBits(far));
      if (distance > length || !room(count)) return false;
      for (let end = length + count; length < end; length++) out[length] = out[length - distance] as number;
    }
    return false;
  };
  const dynamic = (): boolean => {
    const literals = take(5) + 257;
    const distances = take(5) + 1;
    const order = take(4) + 4;
    const lengths = new Uint8Array(320);
    for (let place = 0; place < order; place++) lengths[lengthOrder[place] as number] = take(3);
    const codes = huffmanCodes(lengths.slice(0, 19), 0, 19);
    lengths.fill(0);
    for (let place = 0; place < literals + distances; ) {
      const symbol = next(codes);
      if (symbol === undefined) return false;
      if (symbol < 16) {
        lengths[place++] = symbol;
        continue;
      }
      const value = symbol === 16 ? (lengths[place - 1] ?? 0) : 0;
      const repeat = symbol === 18 ? 11 + take(7) : 3 + take(symbol === 17 ? 3 : 2);
      if (place + repeat > literals + distances) return false;
      lengths.fill(value, place, place + repeat);
      place += repeat;
    }
    return coded(huffmanCodes(lengths, 0, literals), huffmanCodes(lengths, literals, literals + distances));
  };

  for (let isLast = false; !isLast && at < to; ) {
    isLast = take(1) === 1;
    const kind = take(2);
    const isSound =
      kind === 0
        ? stored()
        : kind === 1
          ? coded(huffmanCodes(fixedLengths, 0, 288), huffmanCodes(fixedDistances, 0, 30))
          : kind === 2 && dynamic();
    if (!isSound) break;
  }
  // A copy, so that many short streams do not keep the room of long ones.
  return out.slice(0, length);
}
