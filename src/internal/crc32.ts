/**
 * CRC-32 as in zlib and PNG: reflected polynomial EDB88320, initial value and final xor FFFFFFFF.
 *
 * @see https://www.rfc-editor.org/rfc/rfc1952 section 8 (read 2026-11-21)
 */
const table = /* @__PURE__ */ (() => {
  const out = new Uint32Array(256);
  for (let n = 0; n < 256; n++) {
    let c = n;
    for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
    out[n] = c;
  }
  return out;
})();

/** The checksum of `bytes` from `start` up to `end`, as an unsigned number. */
export function crc32(bytes: Uint8Array, start = 0, end = bytes.length): number {
  let crc = 0xffffffff;
  for (let i = start; i < end; i++)
    crc = (table[(crc ^ (bytes[i] as number)) & 0xff] as number) ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

/** The checksum as eight lower-case hexadecimal digits. */
export function crc32Hex(bytes: Uint8Array, start = 0, end = bytes.length): string {
  return crc32(bytes, start, end).toString(16).padStart(8, "0");
}
