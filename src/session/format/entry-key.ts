import { hex8 } from "../../internal/hex.js";

/**
 * An entry id as the tree keeps it: the number that eight lower-case hexadecimal digits stand for, which is what nearly
 * all ids are, or the id itself. A number needs no string of its own, and is compared at once.
 */
export type EntryKey = number | string;

/** The key of an id. */
export function keyOf(id: string): EntryKey {
  if (id.length !== 8) return id;
  let key = 0;
  for (let i = 0; i < 8; i++) {
    const code = id.charCodeAt(i);
    // As hexDigit, without a call for each.
    if (code >= 0x30 && code <= 0x39) key = (key << 4) | (code - 0x30);
    else if (code >= 0x61 && code <= 0x66) key = (key << 4) | (code - 0x57);
    else return id;
  }
  return key >>> 0;
}

/** The inverse of {@link keyOf}. */
export function idOf(key: EntryKey): string {
  return typeof key === "string" ? key : hex8(key);
}

/** The value of a lower-case hexadecimal digit, or -1. */
export function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  return code >= 0x61 && code <= 0x66 ? code - 0x57 : -1;
}
