import { hex8 } from "./hex.js";

/** Random ids. Node and browsers both have `crypto`. */
const pool = new Uint32Array(256);
let used = pool.length;

function random32(): number {
  if (used === pool.length) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  return pool[used++] as number;
}

/** Eight hexadecimal digits. */
export function randomHex8(): string {
  return hex8(random32());
}

/**
 * A UUID of version 7: milliseconds since 1970, then random bits, so that ids sort by time.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9562 section 5.7 (read 2026-11-21)
 */
export function uuidv7(now: number): string {
  const time = now.toString(16).padStart(12, "0");
  const a = (0x7000 | (random32() & 0x0fff)).toString(16);
  const b = (0x8000 | (random32() & 0x3fff)).toString(16);
  return `${time.slice(0, 8)}-${time.slice(8)}-${a}-${b}-${randomHex8()}${randomHex8().slice(4)}`;
}
