/** Bytes that a name and a size say all of. */
export function blobBytes(name: string, size: number): Uint8Array {
  return new Uint8Array(Buffer.alloc(size, `${name} `));
}

/** The same bytes as they come from a stream. */
export async function* inPieces(bytes: Uint8Array, length = 70_000): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += length) yield bytes.subarray(from, from + length);
}
