import fc from "fast-check";

/** Where to cut, as parts of the whole, so that one list fits any length. */
export const cuts: fc.Arbitrary<readonly number[]> = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), {
  maxLength: 12,
});

/** The pieces of something with a length and a slice, cut at these parts; some may be empty. */
export function piecesOf<T extends { readonly length: number; slice(start: number, end: number): T }>(
  whole: T,
  parts: readonly number[],
): readonly T[] {
  const ends = parts.map((part) => Math.floor(part * whole.length)).sort((a, b) => a - b);
  const starts = [0, ...ends];
  return [...ends, whole.length].map((end, index) => whole.slice(starts[index] as number, end));
}

type Change =
  | { readonly kind: "set"; readonly at: number; readonly byte: number }
  | { readonly kind: "cut"; readonly at: number; readonly length: number }
  | { readonly kind: "insert"; readonly at: number; readonly bytes: Uint8Array }
  | { readonly kind: "end"; readonly at: number };

const part = fc.double({ min: 0, max: 1, noNaN: true });
/** Bytes that matter to JSON, to lines and to UTF-8 come up more often. */
const telling = fc.constantFrom(...new TextEncoder().encode('{}[]",:\\n0u\n\r '), 0, 0xff, 0xed, 0xa0, 0xef);
const byte = fc.oneof(telling, fc.integer({ min: 0, max: 255 }));

const oneByte: fc.Arbitrary<Change> = fc.record({ kind: fc.constant("set" as const), at: part, byte });

const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 4, arbitrary: oneByte },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("cut" as const), at: part, length: fc.nat({ max: 40 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("insert" as const),
      at: part,
      bytes: fc.array(byte, { maxLength: 8 }).map((bytes) => Uint8Array.from(bytes)),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("end" as const), at: part }) },
);

/** Damage that can be done to any bytes: a byte, which JSON often survives, or more. */
export const damage: fc.Arbitrary<readonly Change[]> = fc.oneof(
  oneByte.map((change) => [change]),
  fc.array(change, { minLength: 1, maxLength: 4 }),
);

/** The bytes after the damage, in a new array. */
export function damaged(bytes: Uint8Array, changes: readonly Change[]): Uint8Array {
  return changes.reduce(changedOnce, bytes);
}

function changedOnce(bytes: Uint8Array, change: Change): Uint8Array {
  const at = Math.floor(change.at * bytes.length);
  switch (change.kind) {
    case "set":
      return joined(bytes.subarray(0, at), Uint8Array.of(change.byte), bytes.subarray(at + 1));
    case "cut":
      return joined(bytes.subarray(0, at), bytes.subarray(at + change.length));
    case "insert":
      return joined(bytes.subarray(0, at), change.bytes, bytes.subarray(at));
    case "end":
      return bytes.slice(0, at);
  }
}

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(Buffer.concat(parts));
}
