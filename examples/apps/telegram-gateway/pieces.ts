/** White space, and what else Telegram shows nothing for: a message of these alone is refused as empty. */
const blank = /^[\s\u200b-\u200f\u2060-\u2064]*$/;

/** Whether there is nothing in it to be sent. */
export function isBlank(text: string): boolean {
  return blank.test(text);
}

/**
 * Cuts a text into pieces of at most so many UTF-16 code units, which is how Telegram counts. A cut is behind the last line end
 * that fits, else behind the last space, if that leaves half of a piece; and never inside a surrogate pair. Joined, the pieces
 * are the text, but for pieces of nothing but white space, which Telegram refuses.
 *
 * @param maxUnits at least 2
 * @see https://core.telegram.org/api/entities#entity-length read 2026-11-22
 */
export function textPieces(text: string, maxUnits: number): readonly string[] {
  const pieces: string[] = [];
  for (let start = 0; start < text.length; ) {
    const end = cutAt(text, start, maxUnits);
    const piece = text.slice(start, end);
    if (!isBlank(piece)) pieces.push(piece);
    start = end;
  }
  return pieces;
}

function cutAt(text: string, start: number, maxUnits: number): number {
  const end = start + maxUnits;
  if (end >= text.length) return text.length;
  const window = text.slice(start, end);
  for (const separator of ["\n", " "]) {
    const length = window.lastIndexOf(separator) + 1;
    if (length >= maxUnits / 2) return start + length;
  }
  return splitsPair(text, end) ? end - 1 : end;
}

function splitsPair(text: string, at: number): boolean {
  const [before, after] = [text.charCodeAt(at - 1), text.charCodeAt(at)];
  return before >= 0xd800 && before <= 0xdbff && after >= 0xdc00 && after <= 0xdfff;
}
