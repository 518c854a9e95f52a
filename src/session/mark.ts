import { type BlobMark, blobRefsIn } from "../blobs/index.js";
import type { BlobRef } from "../content/index.js";
import { defaultLimits } from "./codec/limits.js";
import { LineSplitter } from "./codec/lines.js";
import { SessionReader } from "./codec/reader.js";
import type { DiagnosticCode } from "./diagnostics.js";

/** What may have taken a blob's name from a line, or hide one that this version does not know to look for. */
const losing: ReadonlySet<DiagnosticCode> = new Set([
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
]);

const shownReasons = 3;

/**
 * What a session's log names, for a collection of garbage: every blob in any of its lines, and whether these are all. They
 * are not where a line is damaged, torn or of a newer version: then `collectGarbage` refuses, until the log was opened for
 * writing, salvaged or deleted. Memory is bounded as that of a parse without its bodies.
 *
 * @param root what the log is called in the collection's report: a path, an id
 * @param source the log's bytes, in one piece or in any chunks
 * @example
 * ```ts
 * const marks = [await sessionMark("a.jsonl", await readFile("a.jsonl"))];
 * const { trashed } = await collectGarbage(blobs, { marks });
 * ```
 */
export async function sessionMark(
  root: string,
  source: Uint8Array | Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): Promise<BlobMark> {
  const refs = new Set<BlobRef>();
  const decoder = new TextDecoder();
  const find = (bytes: Uint8Array) => {
    for (const ref of blobRefsIn(decoder.decode(bytes))) refs.add(ref);
  };
  const reader = new SessionReader({ maxDepth: defaultLimits.maxDepth, full: true });
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
  const rest = splitter.rest();
  if (rest !== undefined) {
    find(rest.bytes);
    reader.tail(rest.bytes, rest.at);
  }
  reader.finish();
  const found = reader.diagnostics.filter(({ code }) => losing.has(code));
  if (found.length === 0) return { root, refs, complete: true };
  const shown = found
    .slice(0, shownReasons)
    .map(({ code, line }) => (line === 0 ? code : `${code} in line ${line}`));
  const more = found.length > shown.length ? ` and ${found.length - shown.length} more` : "";
  return { root, refs, complete: false, reason: `${shown.join(", ")}${more}` };
}
