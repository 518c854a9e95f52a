/**
 * The terms that an index keeps of a line, and those of a query. An index finds candidates only, so
 * that terms may be less specific than the words: a candidate may not match, and no line that matches is
 * missed.
 */

import { blockResource, type ContextMessage, type OpaqueBlock } from "../content/index.js";
import { blockResources, opaqueWords } from "../content/internal.js";
import { isRecord } from "../core/shape.js";
import { decodeLine } from "./decode.js";
import { formatVersion, type SessionEntry, type UnknownEntry } from "./entries.js";
import { isEntryType } from "./entry-types.js";
import { defaultLimits } from "./line-splitter.js";
import { asciiWords, isAscii, type SearchPhrase, textWords, wordHumps } from "./search-words.js";

/** UTF-16 units of a term: longer words have this beginning in common. At most 120 bytes in UTF-8. */
const maxTermLength = 40;
/** A line with more terms has the term of every query, so that an index stays small. */
const maxTerms = 16_384;
const maxTermsLength = 200_000;
/** The term of lines that every query has to read. Not the beginning of another term. */
const everyQuery = "¶";
/** Precedes the terms of a part or of an edit: the other words of its message are in other lines. */
const ofPart = "§";
const partTypes: ReadonlySet<string> = new Set(["part_update", "context_edit"]);

/**
 * The terms of a line without its line feed, each once: texts without spaces, controls or ASCII punctuation,
 * of at most 41 UTF-16 units and 123 bytes. All terms of a line have at most 600 kB.
 */
export function searchTermsOfLine(line: Uint8Array): readonly string[] {
  const context = { version: formatVersion, ordinal: 0, maxDepth: defaultLimits.maxDepth };
  const decoded = decodeLine(line, context, { unchecked: true });
  if (decoded.kind === "bad") return [everyQuery];
  if (decoded.kind !== "entry" || decoded.entry === undefined) return [];
  const { entry } = decoded;
  // A line of an older version, which a reader of the whole log understands.
  if (entry.type === "unknown") return isEntryType(entry.entryType) ? [everyQuery] : [];
  const mark = partTypes.has(entry.type) ? ofPart : "";
  const terms = new Set<string>();
  let length = 0;
  for (const text of searchTexts(entry)) {
    for (const term of isAscii(text) ? termsOfAscii(asciiWords(text)) : wordTerms(textWords(text))) {
      if (terms.has(mark + term)) continue;
      terms.add(mark + term);
      length += term.length + mark.length;
      if (terms.size > maxTerms || length > maxTermsLength) return [everyQuery];
    }
  }
  return [...terms];
}

/** Terms of a query that an index is asked for: its time may grow with their square. */
const maxQueryTerms = 64;

/**
 * The candidates of a query: lines that have, for one of the alternatives, all of its terms. A term stands
 * for every term that begins with it. Of a long query the first terms decide.
 */
export function candidateTerms(phrases: readonly SearchPhrase[]): readonly (readonly string[])[] {
  const all = new Set(phrases.flatMap(({ words }) => [...wordTerms(words, false)]));
  const terms = [...all].slice(0, maxQueryTerms);
  return [terms, ...terms.map((term) => [ofPart + term]), [everyQuery]];
}

/** Characters of scripts without spaces are joined in pairs, which are rarer than one. */
function* wordTerms(
  words: Iterable<{ readonly text: string; readonly isUnit: boolean; readonly humps?: readonly string[] }>,
  withHumps = true,
): Generator<string, void, undefined> {
  let unit: string | undefined;
  let isPaired = false;
  for (const { text, isUnit, humps = [] } of words) {
    if (unit !== undefined && isUnit) yield unit + text;
    else if (unit !== undefined && (withHumps || !isPaired)) yield unit;
    isPaired = unit !== undefined && isUnit;
    unit = isUnit ? text : undefined;
    if (isUnit) continue;
    yield cut(text);
    if (withHumps) for (const ending of humps) yield cut(ending);
  }
  if (unit !== undefined && (withHumps || !isPaired)) yield unit;
}

/** {@link wordTerms} for words of ASCII, most of them once: a third of the time. */
function* termsOfAscii(words: Iterable<string>): Generator<string, void, undefined> {
  const seen = new Set<string>();
  for (const word of words) {
    if (seen.has(word)) continue;
    // Long words with one beginning are many words of one term.
    if (seen.size > maxTerms) seen.clear();
    seen.add(word);
    const folded = word.toLowerCase();
    yield cut(folded);
    if (folded !== word) for (const ending of wordHumps(word)) yield cut(ending);
  }
}

function cut(text: string): string {
  if (text.length <= maxTermLength) return text;
  const start = text.slice(0, maxTermLength);
  return start.isWellFormed() ? start : start.slice(0, -1);
}

/** The texts of an entry that a search looks at: never base64, and no names of parameters. */
export function searchTexts(entry: SessionEntry | UnknownEntry): readonly string[] {
  return cleaned(entryTexts(entry));
}

/** {@link searchTexts} of a message, as edits changed it. */
export function searchTextsOfMessage(message: ContextMessage): readonly string[] {
  return cleaned(textsOfMessage(message as unknown as Readonly<Record<string, unknown>>));
}

function cleaned(texts: Iterable<string>): readonly string[] {
  return Array.from(texts, withoutBase64).filter((text) => text !== "");
}

function* entryTexts(entry: SessionEntry | UnknownEntry): Generator<string, void, undefined> {
  switch (entry.type) {
    case "message":
    case "message_update":
      yield* textsOfMessage(entry.message as unknown as Readonly<Record<string, unknown>>);
      return;
    case "part_update":
      yield* textsOfContent([entry.part]);
      return;
    case "context_edit":
      if (entry.replacement !== null) yield* textsOfContent(entry.replacement.content);
      return;
    case "custom_message":
      yield* textsOfContent(entry.content);
      return;
    case "compaction":
    case "branch_summary":
      yield entry.summary;
      return;
    case "session_info":
      yield entry.title ?? "";
      yield entry.name ?? "";
      return;
    case "label":
      yield entry.label ?? "";
      return;
    case "resource_observation":
      yield entry.text;
      return;
    default:
  }
}

/** Members of messages with text of their own. */
const textMembers = ["name", "toolName", "command", "output", "errorMessage", "summary"] as const;

function* textsOfMessage(message: Readonly<Record<string, unknown>>): Generator<string, void, undefined> {
  yield* textsOfContent(message.content);
  for (const member of textMembers) if (typeof message[member] === "string") yield message[member];
  if (message.role === "system" && isRecord(message.sections)) yield* stringsIn(message.sections);
}

function* textsOfContent(content: unknown): Generator<string, void, undefined> {
  if (typeof content === "string") yield content;
  if (!Array.isArray(content)) return;
  for (const block of content) {
    if (!isRecord(block)) continue;
    if (block.type === "text" && typeof block.text === "string") {
      const resource = blockResource(block as unknown as Parameters<typeof blockResource>[0]);
      if (resource === undefined) yield block.text;
      else yield resource.name ?? (resource.kind === "link" ? resource.uri : "");
    } else if (block.type === "opaque") {
      yield opaqueWords(block.data);
      for (const { name } of blockResources(block as unknown as OpaqueBlock))
        if (name !== undefined) yield name;
    } else if (block.type === "thinking" && typeof block.thinking === "string") {
      yield block.thinking;
    } else if (block.type === "toolCall") {
      if (typeof block.name === "string") yield block.name;
      yield* stringsIn(block.arguments);
    }
  }
}

/** The texts in a JSON value. Its depth is bounded by that of a line. */
function* stringsIn(value: unknown): Generator<string, void, undefined> {
  if (typeof value === "string") yield value;
  else if (typeof value === "object" && value !== null)
    for (const each of Object.values(value)) yield* stringsIn(each);
}

/** A run in either alphabet of RFC 4648 is base64 from this length on. */
const minBase64Length = 256;
/** So are at least so many of the lines that PEM and MIME make of one. */
const minBase64Lines = 4;
const [minLineLength, maxLineLength] = [60, 76];
const afterRun = /[^\w+/-]/g;
const afterStandard = /[^A-Za-z0-9+/]/g;

/** Without a repetition that has no bound: the engine keeps a place for each one, and a run may have 60 million. */
function withoutBase64(text: string): string {
  if (text.length < minBase64Length) return text;
  const parts: string[] = [];
  let kept = 0;
  for (let at = 0; ; ) {
    const start = nextLongRun(text, at);
    if (start === text.length) break;
    at = next(afterRun, text, start);
    const isLong = at - start >= minBase64Length;
    const run = isLong ? "" : text.slice(start, at);
    const first = start + Math.max(run.lastIndexOf("-"), run.lastIndexOf("_")) + 1;
    const stop = isLong ? at : endOfLines(text, first);
    if (stop === undefined) continue;
    parts.push(text.slice(kept, first));
    for (kept = stop; kept < stop + 2 && text[kept] === "="; ) kept++;
    at = kept;
  }
  return parts.length === 0 ? text : [...parts, text.slice(kept)].join(" ");
}

/** The place after the lines of base64 that begin here, and after the shorter rest of them, if they are enough. */
function endOfLines(text: string, start: number): number | undefined {
  for (let at = start, lines = 0; ; lines++) {
    const end = next(afterStandard, text, at);
    const feed = text[end] === "\r" ? end + 1 : end;
    if (end - at < minLineLength || end - at > maxLineLength || text[feed] !== "\n")
      return lines < minBase64Lines ? undefined : end;
    at = feed + 1;
  }
}

/** The next place from one on at which an expression matches; the end without one. */
function next(expression: RegExp, text: string, from: number): number {
  expression.lastIndex = from;
  return expression.exec(text)?.index ?? text.length;
}

/** The start of the next run of {@link minLineLength}. Every run has one of the characters that are looked at first. */
function nextLongRun(text: string, from: number): number {
  for (let at = from + minLineLength - 1; at < text.length; at += minLineLength) {
    if (!isBase64(text.charCodeAt(at))) continue;
    let [start, end] = [at, at + 1];
    while (start > from && isBase64(text.charCodeAt(start - 1))) start--;
    while (end - start < minLineLength && isBase64(text.charCodeAt(end))) end++;
    if (end - start >= minLineLength) return start;
  }
  return text.length;
}

/** Letters, `-`, `_`, and `/` with the digits after it, `+`. */
function isBase64(code: number): boolean {
  return (
    (code >= 0x61 && code <= 0x7a) ||
    (code >= 0x41 && code <= 0x5a) ||
    (code >= 0x2f && code <= 0x39) ||
    code === 0x2b ||
    code === 0x2d ||
    code === 0x5f
  );
}
