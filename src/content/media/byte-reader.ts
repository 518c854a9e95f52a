/** Integers in bytes. A byte past the end reads as 0, so callers check the length if that matters. */

export function u16be(bytes: Uint8Array, at: number): number {
  return ((bytes[at] as number) << 8) | (bytes[at + 1] as number);
}

export function u16le(bytes: Uint8Array, at: number): number {
  return (bytes[at] as number) | ((bytes[at + 1] as number) << 8);
}

export function u24le(bytes: Uint8Array, at: number): number {
  return u16le(bytes, at) | ((bytes[at + 2] as number) << 16);
}

export function u32be(bytes: Uint8Array, at: number): number {
  return ((u16be(bytes, at) << 16) | u16be(bytes, at + 2)) >>> 0;
}

export function u32le(bytes: Uint8Array, at: number): number {
  return (u16le(bytes, at) | (u16le(bytes, at + 2) << 16)) >>> 0;
}

/** Four ASCII characters as {@link u32be} reads them: the name of a chunk. */
export function fourCC(name: string): number {
  return (
    (name.charCodeAt(0) << 24) | (name.charCodeAt(1) << 16) | (name.charCodeAt(2) << 8) | name.charCodeAt(3)
  );
}
