import type { TextBlock, ToolResultMessage } from "../content/index.js";
import { integerOption } from "../internal/arguments.js";
import { jsonPieces } from "../internal/json-pieces.js";

/** How long a text may be. Where both bounds are given, both hold. */
export interface TruncateOptions {
  /** Tokens, a quarter of the UTF-8 bytes rounded up; at least 1. By default {@link defaultOutputTokens}. */
  readonly maxTokens?: number;
  /** UTF-16 code units; at least 1. By default without a bound. */
  readonly maxChars?: number;
}

/** What a tool's output may come to when it is recorded, in tokens; codex's since 0.60. */
export const defaultOutputTokens = 10_000;

/**
 * Cuts the middle out of a text that is over the bound, and says there how many tokens went. Head and tail get half of
 * the room each and end on whole lines where that costs little; a character is never cut in two. The result is within the
 * bound, so that truncating it again changes nothing. Where there is no room even for the note, the head alone stays.
 *
 * @throws RangeError for a bound that is no integer from 1 on.
 * @see https://github.com/openai/codex/issues/7867 for codex's default, read 2026-11-22
 * @example
 * ```ts
 * truncateText("one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n", { maxTokens: 12 });
 * // "one\ntwo\n[… 8 tokens left out …]\nnine\nten\n"
 * ```
 */
export function truncateText(text: string, options: TruncateOptions = {}): string {
  const cut = findMiddleCut(text, roomOf(options));
  return cut === undefined ? text : text.slice(0, cut.start) + cut.note + text.slice(cut.end);
}

/**
 * {@link truncateText} for what a tool gave back, before it is recorded: all its texts together are held to the bound, as
 * if they were one. Images and attachments stay and count nothing. The same message where nothing is over.
 *
 * @throws RangeError for a bound that is no integer from 1 on.
 * @example
 * ```ts
 * const message = toolResult({ id: "c1", name: "bash" }, "line\n".repeat(100_000));
 * truncateToolResult(message); // 10,000 tokens of it
 * ```
 */
export function truncateToolResult(
  message: ToolResultMessage,
  options: TruncateOptions = {},
): ToolResultMessage {
  const room = roomOf(options);
  const cut = findMiddleCut(
    message.content.map((block) => (isPlain(block) ? block.text : "")).join(""),
    room,
  );
  if (cut === undefined) return message;
  const content: ToolResultMessage["content"][number][] = [];
  let at = 0;
  let note: string | undefined = cut.note;
  for (const block of message.content) {
    if (!isPlain(block)) {
      content.push(block);
      continue;
    }
    const { text, textSignature, ...rest } = block;
    const head = text.slice(0, Math.max(0, cut.start - at));
    const tail = text.slice(Math.max(0, cut.end - at));
    const hasCut = note !== undefined && at + text.length > cut.start;
    at += text.length;
    if (!hasCut && head.length + tail.length >= text.length) {
      content.push(block);
      continue;
    }
    const left = head + (hasCut ? note : "") + tail;
    if (hasCut) note = undefined;
    // A provider's mark is on the text that it was given for.
    if (left !== "") content.push({ ...rest, text: left });
  }
  return { ...message, content };
}

function isPlain(block: ToolResultMessage["content"][number]): block is TextBlock {
  return block.type === "text" && block.resource === undefined;
}

function roomOf(options: TruncateOptions): Room {
  return {
    bytes: integerOption("maxTokens", options.maxTokens, defaultOutputTokens, 1) * bytesPerToken,
    units: integerOption("maxChars", options.maxChars, Number.MAX_SAFE_INTEGER, 1),
  };
}

/** Stands where characters were left out. */
function omissionNote(count: number): string {
  return `[… ${count} characters left out …]`;
}

/** Texts as one, of which at most `max` UTF-16 code units stay, at the two ends; what is between them is counted. */
export function truncateCharacters(texts: readonly string[], max: number, separator = "\n"): string {
  const whole = texts.join(separator);
  if (whole.length <= max) return whole;
  let head = Math.ceil(max / 2);
  if (splitsPair(whole, head)) head--;
  let tail = whole.length - Math.floor(max / 2);
  if (splitsPair(whole, tail)) tail++;
  return whole.slice(0, head) + omissionNote(tail - head) + whole.slice(tail);
}

/** The JSON of a value, of which at most `max` UTF-16 code units stay, at its start. Linear in the value, and never holds more. */
export function truncateJson(value: unknown, max: number): string {
  let kept = "";
  let length = 0;
  for (const piece of jsonPieces(value)) {
    if (kept.length < max) kept += piece.slice(0, max - kept.length);
    length += piece.length;
  }
  if (kept.length === length) return kept;
  // JSON escapes a lone one, so this is half of a pair.
  if (isHigh(kept.charCodeAt(kept.length - 1))) kept = kept.slice(0, -1);
  return kept + omissionNote(length - kept.length);
}

const maxLabelLength = 80;

/** A name that an outsider chose, as part of a line: no brackets, control characters or line breaks, at most 80 characters. */
export function safeLabel(name: string): string {
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
export function findMiddleCut(text: string, room: Room): Cut | undefined {
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
