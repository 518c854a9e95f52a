/**
 * Every cut of a text: tool output before it is recorded, and texts for the summariser. A cut is linear in
 * the text, counts the omitted part in a note, and never splits a surrogate pair.
 */

import type { TextBlock, ToolResultMessage } from "../content/index.js";
import { integerOption } from "../core/arguments.js";
import { jsonPieces } from "../core/json.js";
import { oneLine } from "../core/text.js";

/** The bounds of a text. If both are given, both apply. */
export interface TruncateOptions {
  /**
   * Tokens, counted as a quarter of the UTF-8 bytes, rounded up; at least 1. Default 10,000, which is codex's
   * since 0.60.
   */
  readonly maxTokens?: number | undefined;
  /** UTF-16 code units; at least 1. Default: no bound. */
  readonly maxChars?: number | undefined;
}

const defaultMaxTokens = 10_000;

/**
 * Cuts the middle out of a text that exceeds the bound and inserts a note with the number of omitted tokens.
 * Head and tail each get half of the room, and end on whole lines if that costs little. The result is within
 * the bound, so truncating again changes nothing. If the note does not fit, the head alone stays.
 *
 * @throws RangeError for a bound that is not an integer from 1 on
 */
export function truncateText(text: string, options: TruncateOptions = {}): string {
  const cut = findMiddleCut(text, readBound(options));
  return cut === undefined ? text : text.slice(0, cut.start) + cut.note + text.slice(cut.end);
}

/**
 * Truncates a tool result before it is recorded. Cuts the middle out of all its texts together, as if they
 * were one, and inserts a note with the number of omitted tokens. Head and tail each get half of the room,
 * and end on whole lines if that costs little. Images and attachments stay and do not count. Returns the same
 * message if it is within the bound.
 *
 * @throws RangeError for a bound that is not an integer from 1 on
 * @see https://github.com/openai/codex/issues/7867 for codex's default, read 2026-11-22
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
  const bound = readBound(options);
  const cut = findMiddleCut(
    message.content.map((block) => (isPlainText(block) ? block.text : "")).join(""),
    bound,
  );
  if (cut === undefined) return message;
  const content: ToolResultMessage["content"][number][] = [];
  let at = 0;
  let note: string | undefined = cut.note;
  for (const block of message.content) {
    if (!isPlainText(block)) {
      content.push(block);
      continue;
    }
    const { text, textSignature, providerFields, ...rest } = block;
    const head = text.slice(0, Math.max(0, cut.start - at));
    const tail = text.slice(Math.max(0, cut.end - at));
    const hasCut = note !== undefined && at + text.length > cut.start;
    at += text.length;
    if (!hasCut && head.length + tail.length >= text.length) {
      content.push(block);
      continue;
    }
    const short = head + (hasCut ? note : "") + tail;
    if (hasCut) note = undefined;
    // The provider's signature and citations are valid for the whole text only.
    if (short !== "") content.push({ ...rest, text: short });
  }
  return { ...message, content };
}

function isPlainText(block: ToolResultMessage["content"][number]): block is TextBlock {
  return block.type === "text" && block.resource === undefined;
}

/** The size of a text: UTF-8 bytes and UTF-16 code units. */
interface Size {
  readonly bytes: number;
  readonly units: number;
}

/** codex counts tokens without a tokenizer: `codex-rs/utils/string/src/truncate.rs`, read 2026-11-22. */
const bytesPerToken = 4;

/** The tokens of a text as codex counts them. */
export function approximateTokens(text: string): number {
  return Math.ceil(byteLength(text, 0, text.length) / bytesPerToken);
}

function readBound(options: TruncateOptions): Size {
  return {
    bytes: integerOption("maxTokens", options.maxTokens, defaultMaxTokens, 1) * bytesPerToken,
    units: integerOption("maxChars", options.maxChars, Number.MAX_SAFE_INTEGER, 1),
  };
}

/** The omitted range, and the note that replaces it. */
interface Cut {
  readonly start: number;
  readonly end: number;
  readonly note: string;
}

/** The fraction of the room that may stay unused so that a cut ends on a whole line. */
const lineSlack = 0.25;

/** The cut after which the text and its note are within the bound; undefined if the whole text is. */
function findMiddleCut(text: string, bound: Size): Cut | undefined {
  // A code unit has at most three bytes.
  if (text.length <= bound.units && text.length * 3 <= bound.bytes) return undefined;
  const bytes = byteLength(text, 0, text.length);
  if (text.length <= bound.units && bytes <= bound.bytes) return undefined;
  // The longest possible note, and a line break after it.
  const longest = tokenNote(bytes);
  const free = {
    bytes: bound.bytes - byteLength(longest, 0, longest.length) - 1,
    units: bound.units - longest.length - 1,
  };
  if (free.bytes < 0 || free.units < 0) return { start: headEnd(text, bound), end: text.length, note: "" };
  const start = wholeHeadLines(text, headEnd(text, half(free, Math.floor)));
  const end = wholeTailLines(text, Math.max(start, tailStart(text, half(free, Math.ceil))));
  const note = tokenNote(byteLength(text, start, end));
  const startsLine = end < text.length && end > 0 && text[end - 1] === "\n";
  return { start, end, note: startsLine ? `${note}\n` : note };
}

function tokenNote(bytes: number): string {
  return `[… ${Math.ceil(bytes / bytesPerToken)} tokens left out …]`;
}

function half(size: Size, round: (value: number) => number): Size {
  return { bytes: round(size.bytes / 2), units: round(size.units / 2) };
}

function wholeHeadLines(text: string, end: number): number {
  const lines = end === 0 ? 0 : text.lastIndexOf("\n", end - 1) + 1;
  return lines >= end * (1 - lineSlack) ? lines : end;
}

function wholeTailLines(text: string, start: number): number {
  if (start === 0 || text[start - 1] === "\n") return start;
  const next = text.indexOf("\n", start) + 1;
  return next > 0 && next - start <= (text.length - start) * lineSlack ? next : start;
}

function characterNote(count: number): string {
  return `[… ${count} characters left out …]`;
}

/** Joins texts and keeps at most `max` UTF-16 code units at the two ends, besides the note. */
export function truncateCharacters(texts: readonly string[], max: number, separator = "\n"): string {
  const whole = texts.join(separator);
  if (whole.length <= max) return whole;
  const start = headEndByUnits(whole, Math.ceil(max / 2));
  const end = whole.length - Math.floor(max / 2);
  const tail = splitsPair(whole, end) ? end + 1 : end;
  return whole.slice(0, start) + characterNote(tail - start) + whole.slice(tail);
}

/**
 * The JSON of a value, of which at most the first `max` UTF-16 code units are kept. Never holds more than
 * that.
 */
export function truncateJson(value: unknown, max: number): string {
  let kept = "";
  let length = 0;
  for (const piece of jsonPieces(value)) {
    if (kept.length < max) kept += piece.slice(0, max - kept.length);
    length += piece.length;
  }
  if (kept.length === length) return kept;
  // JSON escapes lone surrogates, so this is the first half of a pair.
  if (isHighSurrogate(kept.charCodeAt(kept.length - 1))) kept = kept.slice(0, -1);
  return kept + characterNote(length - kept.length);
}

const maxLabelLength = 80;

/**
 * An untrusted name for use within a line: no brackets, control characters or line breaks, at most 80
 * characters.
 */
export function safeLabel(name: string): string {
  // Reads twice the length, since the start may consist of removed characters.
  const line = oneLine(name.slice(0, 2 * maxLabelLength)).replace(/[[\]<>]/g, "_");
  if (line.length <= maxLabelLength && name.length <= 2 * maxLabelLength) return line;
  return `${line.slice(0, headEndByUnits(line, maxLabelLength - 1))}…`;
}

/** The end of the longest head of at most `units` code units. */
function headEndByUnits(text: string, units: number): number {
  return splitsPair(text, units) ? units - 1 : units;
}

/** The end of the longest head within a size. */
function headEnd(text: string, size: Size): number {
  let bytes = 0;
  let at = 0;
  while (at < text.length) {
    const units = isPairAt(text, at) ? 2 : 1;
    bytes += bytesAt(text, at, units);
    if (bytes > size.bytes || at + units > size.units) return at;
    at += units;
  }
  return at;
}

/** The start of the longest tail within a size. */
function tailStart(text: string, size: Size): number {
  let bytes = 0;
  let at = text.length;
  while (at > 0) {
    const units = at > 1 && isPairAt(text, at - 2) ? 2 : 1;
    bytes += bytesAt(text, at - units, units);
    if (bytes > size.bytes || text.length - at + units > size.units) return at;
    at -= units;
  }
  return at;
}

/** The UTF-8 bytes of a range; a lone surrogate counts as U+FFFD. */
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

function splitsPair(text: string, at: number): boolean {
  return at > 0 && isPairAt(text, at - 1);
}

function isPairAt(text: string, at: number): boolean {
  const second = text.charCodeAt(at + 1);
  return isHighSurrogate(text.charCodeAt(at)) && second >= 0xdc00 && second <= 0xdfff;
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
