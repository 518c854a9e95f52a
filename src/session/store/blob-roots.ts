/** Garbage collection: the blob references of a session, and of all sessions of a partition. */

import type { BlobMark } from "../../blobs/index.js";
import type { BlobRef } from "../../content/index.js";
import { SessileError } from "../../core/errors/index.js";
import { blobRefsIn } from "../../core/ids.js";
import { type DiagnosticCode, defaultLimits, type LineSink, LineSplitter } from "../../log/internal.js";
import type { SessionStore } from "../api/store.js";
import { eachLine } from "../runtime/log-lines.js";
import { LogReader } from "../tree/log-reader.js";
import { everySession } from "./list.js";

/** Diagnostics of lines whose blob references may be lost or unknown to this version. */
const incomplete: readonly DiagnosticCode[] = [
  "EMPTY",
  "NO_HEADER",
  "NEWER_VERSION",
  "INVALID_JSON",
  "NOT_AN_OBJECT",
  "INVALID_UTF8",
  "NUL_BYTES",
  "LINE_TOO_LONG",
  "TOO_DEEP",
  "INVALID_ENTRY",
  "MODIFIED",
  "TORN_TAIL",
];

const shownReasons = 3;
/** The length of `sha256:` and 64 digits without escapes. */
const minRefBytes = 71;

/**
 * Returns the blob references of a session's log, for a garbage collection, and whether they are complete.
 * They are incomplete if a line is damaged, torn or of a newer version. Then `collectGarbage` refuses until
 * the log is opened for writing, salvaged or deleted. Keeps no bodies in memory.
 *
 * @param root the log's name in the report of the collection: a path, an id
 * @param source the bytes of the log, whole or in chunks
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
  const lines = new RootLines();
  const splitter = new LineSplitter(lines, defaultLimits.maxLineBytes);
  const chunks = source instanceof Uint8Array ? [source] : source;
  for await (const chunk of chunks) splitter.push(chunk);
  const rest = splitter.finish();
  if (rest !== undefined) lines.tail(rest.bytes, rest.at);
  return lines.mark(root);
}

/** The blob references in lines, and what they lack. */
class RootLines implements LineSink {
  readonly #refs = new Set<BlobRef>();
  readonly #reader = new LogReader({ maxDepth: defaultLimits.maxDepth, full: true });

  line(bytes: Uint8Array, at: number, start: number, end: number): void {
    for (const ref of blobRefsInLine(bytes.subarray(start, end))) this.#refs.add(ref);
    this.#reader.line(bytes, at, start, end);
  }

  tooLong(at: number, length: number): void {
    this.#reader.tooLong(at, length);
  }

  tail(bytes: Uint8Array, at: number): void {
    for (const ref of blobRefsInLine(bytes)) this.#refs.add(ref);
    this.#reader.tail(bytes, at);
  }

  mark(root: string): BlobMark {
    this.#reader.finish();
    const refs = this.#refs;
    const { diagnostics } = this.#reader;
    const found = incomplete.reduce((sum, code) => sum + (diagnostics.counts[code] ?? 0), 0);
    if (found === 0) return { root, refs, complete: true };
    const shown = diagnostics
      .filter(({ code }) => incomplete.includes(code))
      .slice(0, shownReasons)
      .map(({ code, line }) => (line === 0 ? code : `${code} in line ${line}`));
    const more = found > shown.length ? ` and ${found - shown.length} more` : "";
    return { root, refs, complete: false, reason: `${shown.join(", ")}${more}` };
  }
}

/** The blob references of all sessions of a partition; incomplete for a session that cannot be read. */
export async function* partitionBlobRoots(store: SessionStore, partition: string): AsyncGenerator<BlobMark> {
  const skipped = new Map<string, BlobMark>();
  const skip = (root: string, { message }: Error) =>
    skipped.set(root, { root, refs: [], complete: false, reason: message });
  const stop = store.on("skipped", ({ location, error }) => skip(location, error));
  try {
    for await (const { id, location } of everySession(store, partition)) {
      try {
        const log = await store.backend.open(id, { partition, mode: "read", location });
        if (log === undefined) continue;
        try {
          const lines = new RootLines();
          for await (const batch of log.read(undefined)) {
            eachLine(batch, lines);
            if (batch.tail !== undefined) lines.tail(batch.tail.bytes, batch.tail.at);
          }
          yield lines.mark(location ?? id);
        } finally {
          await log.close();
        }
      } catch (error) {
        if (!(error instanceof SessileError)) throw error;
        // A session that was deleted meanwhile names nothing.
        if (error.code !== "SESSION_NOT_FOUND") skip(location ?? id, error);
      }
    }
  } finally {
    stop();
  }
  yield* skipped.values();
}

const decoder = new TextDecoder();

/** Yields the blob references in the bytes of a line, repeated ones too. */
export function* blobRefsInLine(bytes: Uint8Array): Generator<BlobRef> {
  if (bytes.length < minRefBytes) return;
  for (const text of searchedTexts(decoder.decode(bytes))) yield* blobRefsIn(text);
}

/** An escaped character of a reference: letters, digits and the colon are U+0030 to U+007A. */
const escapedCharacter = /\\u00[3-7]/;

/**
 * The texts of a line to search for references: the line itself, or its strings if a reference may have
 * escapes. Each literal is parsed alone, because JSON.parse keeps only the last member of a repeated key.
 */
function* searchedTexts(line: string): Generator<string> {
  if (!escapedCharacter.test(line)) {
    yield line;
    return;
  }
  for (let from = 0; ; ) {
    const start = line.indexOf('"', from);
    const end = start < 0 ? -1 : closingQuote(line, start);
    if (end < 0) {
      // An unterminated string: the line is damaged, and its references have no escapes to resolve.
      yield line.slice(from);
      return;
    }
    const literal = line.slice(start, end + 1);
    yield escapedCharacter.test(literal) ? readString(literal) : literal;
    from = end + 1;
  }
}

/** The index of the quote that ends the string at `start`; -1 without one. */
export function closingQuote(line: string, start: number): number {
  for (let at = start + 1; at < line.length; at++) {
    const code = line.charCodeAt(at);
    if (code === 0x22) return at;
    if (code === 0x5c) at++;
  }
  return -1;
}

function readString(literal: string): string {
  try {
    return JSON.parse(literal) as string;
  } catch {
    return literal;
  }
}
