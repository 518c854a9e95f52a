/** As codex counts, without a tokenizer: `codex-rs/utils/string/src/truncate.rs`, read 2026-11-22. */
export const bytesPerToken = 4;
/** The part of the room that may go unused so that a cut falls on a line's end. */
const lineSlack = 0.25;

/** What a text may take up: UTF-8 bytes, and UTF-16 code units. */
export interface Room {
  readonly bytes: number;
  readonly units: number;
}

/** What goes, from `start` to `end`, and what stands in its place. */
export interface Cut {
  readonly start: number;
  readonly end: number;
  readonly note: string;
}

/** The cut that leaves a text with a note within the room; undefined where it has room whole. Linear. */
export function middleCut(text: string, room: Room): Cut | undefined {
  // No code unit has more than three bytes.
  if (text.length <= room.units && text.length * 3 <= room.bytes) return undefined;
  const bytes = byteLength(text, 0, text.length);
  if (text.length <= room.units && bytes <= room.bytes) return undefined;
  // The note says at most so much; the line's end behind it is the one more.
  const longest = noteOf(bytes);
  const free = {
    bytes: room.bytes - byteLength(longest, 0, longest.length) - 1,
    units: room.units - longest.length - 1,
  };
  if (free.bytes < 0 || free.units < 0) {
    return { start: headEnd(text, room), end: text.length, note: "" };
  }
  const start = wholeLines(text, headEnd(text, half(free, Math.floor)));
  const end = wholeLastLines(text, Math.max(start, tailStart(text, half(free, Math.ceil))));
  const gone = noteOf(byteLength(text, start, end));
  const startsLine = end < text.length && end > 0 && text[end - 1] === "\n";
  return { start, end, note: startsLine ? `${gone}\n` : gone };
}

function noteOf(bytes: number): string {
  return `[… ${Math.ceil(bytes / bytesPerToken)} tokens left out …]`;
}

function half(room: Room, round: (value: number) => number): Room {
  return { bytes: round(room.bytes / 2), units: round(room.units / 2) };
}

/** The end of the longest head that has room. */
function headEnd(text: string, room: Room): number {
  let bytes = 0;
  let at = 0;
  while (at < text.length) {
    const units = isPairAt(text, at) ? 2 : 1;
    bytes += bytesAt(text, at, units);
    if (bytes > room.bytes || at + units > room.units) return at;
    at += units;
  }
  return at;
}

/** The start of the longest tail that has room. */
function tailStart(text: string, room: Room): number {
  let bytes = 0;
  let at = text.length;
  while (at > 0) {
    const units = at > 1 && isPairAt(text, at - 2) ? 2 : 1;
    bytes += bytesAt(text, at - units, units);
    if (bytes > room.bytes || text.length - at + units > room.units) return at;
    at -= units;
  }
  return at;
}

function wholeLines(text: string, end: number): number {
  const lines = end === 0 ? 0 : text.lastIndexOf("\n", end - 1) + 1;
  return lines >= end * (1 - lineSlack) ? lines : end;
}

function wholeLastLines(text: string, start: number): number {
  if (start === 0 || text[start - 1] === "\n") return start;
  const next = text.indexOf("\n", start) + 1;
  return next > 0 && next - start <= (text.length - start) * lineSlack ? next : start;
}

/** What a text comes to in tokens, as codex counts. */
export function approximateTokens(text: string): number {
  return Math.ceil(byteLength(text, 0, text.length) / bytesPerToken);
}

/** The UTF-8 bytes of a part of a text; a lone surrogate counts as the three of its replacement. */
function byteLength(text: string, from: number, to: number): number {
  let bytes = 0;
  for (let at = from; at < to; ) {
    const units = isPairAt(text, at) ? 2 : 1;
    bytes += bytesAt(text, at, units);
    at += units;
  }
  return bytes;
}

function bytesAt(text: string, at: number, units: number): number {
  if (units === 2) return 4;
  const code = text.charCodeAt(at);
  return code < 0x80 ? 1 : code < 0x800 ? 2 : 3;
}

function isPairAt(text: string, at: number): boolean {
  const first = text.charCodeAt(at);
  if (first < 0xd800 || first > 0xdbff) return false;
  const second = text.charCodeAt(at + 1);
  return second >= 0xdc00 && second <= 0xdfff;
}
