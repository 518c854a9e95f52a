/**
 * CRC-32 as in zlib and PNG: reflected polynomial EDB88320, initial value and final xor FFFFFFFF.
 *
 * @see https://www.rfc-editor.org/rfc/rfc1952 section 8 (read 2026-11-21)
 */

import { hex8 } from "./bytes.js";

/** Signed, so that the arithmetic stays in 32-bit integers. */
type Table = Int32Array;

const tables = /* @__PURE__ */ ((): readonly [Table, Table, Table, Table, Table, Table, Table, Table] => {
  const table = (next: (n: number) => number): Table => Int32Array.from({ length: 256 }, (_, n) => next(n));
  const t0 = table((n) => {
    let c = n;
    for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
    return c;
  });
  // Slicing by eight: each table is the one before, advanced by a zero byte.
  const after = (t: Table): Table =>
    table((n) => (t0[(t[n] as number) & 0xff] as number) ^ ((t[n] as number) >>> 8));
  const t1 = after(t0);
  const t2 = after(t1);
  const t3 = after(t2);
  const t4 = after(t3);
  const t5 = after(t4);
  const t6 = after(t5);
  return [t0, t1, t2, t3, t4, t5, t6, after(t6)];
})();

/** The checksum of `bytes` from `start` up to `end`, as an unsigned number. */
export function crc32(bytes: Uint8Array, start = 0, end = bytes.length): number {
  const [t0, t1, t2, t3, t4, t5, t6, t7] = tables;
  let crc = -1;
  let i = start;
  for (; i + 8 <= end; i += 8) {
    crc ^=
      (bytes[i] as number) |
      ((bytes[i + 1] as number) << 8) |
      ((bytes[i + 2] as number) << 16) |
      ((bytes[i + 3] as number) << 24);
    crc =
      (t7[crc & 0xff] as number) ^
      (t6[(crc >>> 8) & 0xff] as number) ^
      (t5[(crc >>> 16) & 0xff] as number) ^
      (t4[crc >>> 24] as number) ^
      (t3[bytes[i + 4] as number] as number) ^
      (t2[bytes[i + 5] as number] as number) ^
      (t1[bytes[i + 6] as number] as number) ^
      (t0[bytes[i + 7] as number] as number);
  }
  for (; i < end; i++) crc = (t0[(crc ^ (bytes[i] as number)) & 0xff] as number) ^ (crc >>> 8);
  return ~crc >>> 0;
}

/** The checksum as eight lower-case hexadecimal digits. */
export function crc32Hex(bytes: Uint8Array, start = 0, end = bytes.length): string {
  return hex8(crc32(bytes, start, end));
}
