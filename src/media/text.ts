/**
 * Whether bytes are UTF-8 without NUL: one pass, nothing allocated. As strict as the standard is: no overlong forms, no
 * surrogates, nothing past U+10FFFF, no sequence cut off at the end.
 *
 * @see http://howardhinnant.github.io/utf_summary.html the valid ranges (read 2026-11-21)
 */
export function isText(bytes: Uint8Array): boolean {
  const { length } = bytes;
  let at = 0;
  while (at < length) {
    const first = bytes[at++] as number;
    if (first < 0x80) {
      if (first === 0) return false;
      continue;
    }
    if (first < 0xc2 || first > 0xf4) return false;
    const more = first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
    if (at + more > length) return false;
    // Only the second byte is narrower for some first bytes.
    const second = bytes[at] as number;
    const least = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
    const most = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
    if (second < least || second > most) return false;
    for (let next = at + 1; next < at + more; next++) {
      if (((bytes[next] as number) & 0xc0) !== 0x80) return false;
    }
    at += more;
  }
  return true;
}
