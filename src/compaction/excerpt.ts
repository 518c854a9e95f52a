import { jsonPieces } from "../internal/json-pieces.js";

/** Stands where characters were left out. */
function leftOut(count: number): string {
  return `[… ${count} characters left out …]`;
}

/** Texts as one, of which at most `max` UTF-16 code units stay, at the two ends; what is between them is counted. */
export function excerpt(texts: readonly string[], max: number, separator = "\n"): string {
  const whole = texts.join(separator);
  if (whole.length <= max) return whole;
  let head = Math.ceil(max / 2);
  if (splitsPair(whole, head)) head--;
  let tail = whole.length - Math.floor(max / 2);
  if (splitsPair(whole, tail)) tail++;
  return whole.slice(0, head) + leftOut(tail - head) + whole.slice(tail);
}

/** The JSON of a value, of which at most `max` UTF-16 code units stay, at its start. Linear in the value, and never holds more. */
export function jsonExcerpt(value: unknown, max: number): string {
  let kept = "";
  let length = 0;
  for (const piece of jsonPieces(value)) {
    if (kept.length < max) kept += piece.slice(0, max - kept.length);
    length += piece.length;
  }
  if (kept.length === length) return kept;
  // JSON escapes a lone one, so this is half of a pair.
  if (isHigh(kept.charCodeAt(kept.length - 1))) kept = kept.slice(0, -1);
  return kept + leftOut(length - kept.length);
}

const maxLabelLength = 80;

/** A name that an outsider chose, as part of a line: no brackets, control characters or line breaks, at most 80 characters. */
export function label(name: string): string {
  // Twice as much is looked at, since what goes may be at the start.
  const line = name
    .slice(0, 2 * maxLabelLength)
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ")
    .replace(/[[\]<>]/g, "_")
    .trim();
  if (line.length <= maxLabelLength && name.length <= 2 * maxLabelLength) return line;
  const end = splitsPair(line, maxLabelLength - 1) ? maxLabelLength - 2 : maxLabelLength - 1;
  return `${line.slice(0, end)}…`;
}

function splitsPair(text: string, at: number): boolean {
  const after = text.charCodeAt(at);
  return isHigh(text.charCodeAt(at - 1)) && after >= 0xdc00 && after < 0xe000;
}

function isHigh(code: number): boolean {
  return code >= 0xd800 && code < 0xdc00;
}
