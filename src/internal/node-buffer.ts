/** What is used of Node's Buffer. */
export interface NodeBuffer {
  from(buffer: ArrayBufferLike, offset: number, length: number): NodeBytes;
  allocUnsafeSlow(length: number): NodeBytes;
}

/** A view of bytes, with what Node adds to one. */
export interface NodeBytes extends Uint8Array {
  toString(encoding?: "base64", start?: number, end?: number): string;
  write(text: string, offset: number, encoding: "latin1" | "base64"): number;
}

const bufferName: string = "Buffer";

/** Node's Buffer where there is one. Looked up by its name: nothing that asks needs it. */
export function nodeBuffer(): NodeBuffer | undefined {
  return Reflect.get(globalThis, bufferName);
}
