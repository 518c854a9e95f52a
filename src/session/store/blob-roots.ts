import type { BlobMark } from "../../blobs/index.js";
import type { BlobRef } from "../../content/index.js";
import { blobRefsIn } from "../../internal/ids.js";
import type { DiagnosticCode } from "../api/diagnostics.js";
import { defaultLimits, LineSplitter } from "../format/line-splitter.js";
import { LogReader } from "../tree/log-reader.js";

/** What may have taken a blob's name from a line, or hide one that this version does not know to look for. */
const losing: readonly DiagnosticCode[] = [
  "EMPTY",
  "NO_HEADER",
  "NEWER_VERSION",
  "INVALID_JSON",
  "NOT_AN_OBJECT",
  "INVALID_UTF8",
  "LINE_TOO_LONG",
  "TOO_DEEP",
  "INVALID_ENTRY",
  "MODIFIED",
  "TORN_TAIL",
];

const shownReasons = 3;
/** `sha256:` and 64 digits, not one of them an escape. */
const minRefBytes = 71;

/**
 * What a session's log names, for a collection of garbage: every blob in any of its lines, and whether these are all. They
 * are not where a line is damaged, torn or of a newer version: then `collectGarbage` refuses, until the log was opened for
 * writing, salvaged or deleted. Memory is bounded as that of a parse without its bodies.
 *
 * @param root what the log is called in the collection's report: a path, an id
 * @param source the log's bytes, in one piece or in any chunks
 * @example
 * ```ts
 * const marks = [await sessionBlobRoots("a.jsonl", await readFile("a.jsonl"))];
 * const { trashed } = await collectGarbage(blobs, { marks });
 * ```
 */
export async function sessionBlobRoots(
  root: string,
  source: Uint8Array | Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): Promise<BlobMark> {
  const refs = new Set<BlobRef>();
  const decoder = new TextDecoder();
  const find = (bytes: Uint8Array) => {
    if (bytes.length < minRefBytes) return;
    for (const text of searched(decoder.decode(bytes))) for (const ref of blobRefsIn(text)) refs.add(ref);
  };
  const reader = new LogReader({ maxDepth: defaultLimits.maxDepth, full: true });
  const sink = {
    line(bytes: Uint8Array, at: number, start: number, end: number) {
      find(bytes.subarray(start, end));
      reader.line(bytes, at, start, end);
    },
    tooLong: (at: number, length: number) => reader.tooLong(at, length),
  };
  const splitter = new LineSplitter(sink, defaultLimits.maxLineBytes);
  const chunks = source instanceof Uint8Array ? [source] : source;
  for await (const chunk of chunks) splitter.push(chunk);
  const rest = splitter.finish();
  if (rest !== undefined) {
    find(rest.bytes);
    reader.tail(rest.bytes, rest.at);
  }
  reader.finish();
  const { diagnostics } = reader;
  const found = losing.reduce((sum, code) => sum + (diagnostics.counts[code] ?? 0), 0);
  if (found === 0) return { root, refs, complete: true };
  const shown = diagnostics
    .filter(({ code }) => losing.includes(code))
    .slice(0, shownReasons)
    .map(({ code, line }) => (line === 0 ? code : `${code} in line ${line}`));
  const more = found > shown.length ? ` and ${found - shown.length} more` : "";
  return { root, refs, complete: false, reason: `${shown.join(", ")}${more}` };
}

/** A character of a name, written as an escape: letters, digits and the colon are U+0030 to U+007A. */
const escapedCharacter = /\\u00[3-7]/;

/**
 * The texts of a line to look for names in: the line as it is, or where a name may be written with escapes, its strings.
 * Each literal by itself and not the value of the whole, which keeps the last only of members with one key.
 */
function* searched(line: string): Generator<string> {
  if (!escapedCharacter.test(line)) {
    yield line;
    return;
  }
  for (let from = 0; ; ) {
    const start = line.indexOf('"', from);
    const end = start < 0 ? -1 : closingQuote(line, start);
    if (end < 0) {
      // No string: it can only be a damaged line, whose names are kept as they stand.
      yield line.slice(from);
      return;
    }
    const literal = line.slice(start, end + 1);
    yield escapedCharacter.test(literal) ? stringOf(literal) : literal;
    from = end + 1;
  }
}

function closingQuote(line: string, start: number): number {
  for (let at = start + 1; at < line.length; at++) {
    const code = line.charCodeAt(at);
    if (code === 0x22) return at;
    if (code === 0x5c) at++;
  }
  return -1;
}

function stringOf(literal: string): string {
  try {
    return JSON.parse(literal) as string;
  } catch {
    return literal;
  }
}
