/** Parses a session file from bytes or text, without a store. */

import { describe, integerOption } from "../../core/arguments.js";
import { encodeUtf8 } from "../../core/bytes.js";
import {
  type Diagnostics,
  defaultLimits,
  LineSplitter,
  type ReadLimits,
  type SessionEntry,
  type SessionHeader,
  type SessionInfoFields,
  type UnknownEntry,
} from "../../log/internal.js";
import { LogReader } from "../tree/log-reader.js";
import { type SessionTree, treeRows } from "../tree/session-tree.js";

/** A session that was read in whole. */
export interface ParsedSession {
  /** undefined if no line is a header. */
  readonly header: SessionHeader | undefined;
  /** Every entry with a readable body, in file order. Of entries with the same id, the first. */
  readonly entries: readonly (SessionEntry | UnknownEntry)[];
  readonly tree: SessionTree;
  /** The leaf: the last entry, or the target of a last leaf entry; null for before the first entry. */
  readonly leafId: string | null;
  /** The latest session_info. */
  readonly info: SessionInfoFields;
  readonly diagnostics: Diagnostics;
  /** The entry with this id; undefined for an unknown id or a damaged body. */
  entry(id: string): SessionEntry | UnknownEntry | undefined;
}

/** The input of {@link parseSession}: text or bytes, whole or in chunks. */
export type SessionSource = string | Uint8Array | Iterable<string | Uint8Array>;

/**
 * Reads a whole session file of any version. Never throws because of its content: each problem is a
 * diagnostic, and the rest loads. Memory is bounded by the entries and the maximum line length.
 *
 * @throws TypeError for an invalid source; RangeError for a limit out of range
 * @example
 * ```ts
 * const session = parseSession(await readFile("session.jsonl"));
 * for (const { code, line } of session.diagnostics) console.warn(`line ${line}: ${code}`);
 * const context = buildSessionContext(session);
 * ```
 */
export function parseSession(source: SessionSource, limits?: Partial<ReadLimits>): ParsedSession;
/** {@link parseSession} for a stream of chunks. Rejects only if the stream does. */
export function parseSession(
  source: AsyncIterable<string | Uint8Array>,
  limits?: Partial<ReadLimits>,
): Promise<ParsedSession>;
export function parseSession(
  source: SessionSource | AsyncIterable<string | Uint8Array>,
  limits: Partial<ReadLimits> = {},
): ParsedSession | Promise<ParsedSession> {
  const parse = new Parse(limits);
  if (typeof source === "string" || isBytes(source)) {
    parse.push(source);
    return parse.finish();
  }
  if (isAsyncIterable(source)) {
    return (async () => {
      for await (const chunk of source) parse.push(chunk);
      return parse.finish();
    })();
  }
  if (typeof source !== "object" || source === null || !(Symbol.iterator in source)) {
    throw new TypeError(`source: expected text, bytes or an iterable of them, got ${describe(source)}`);
  }
  for (const chunk of source) parse.push(chunk);
  return parse.finish();
}

/** By tag instead of class, because bytes may be from another realm. */
function isBytes(value: unknown): value is Uint8Array {
  return Object.prototype.toString.call(value) === "[object Uint8Array]";
}

function isAsyncIterable(source: object): source is AsyncIterable<string | Uint8Array> {
  return typeof source === "object" && source !== null && Symbol.asyncIterator in source;
}

class Parse {
  readonly #bodies: (SessionEntry | UnknownEntry | undefined)[] = [];
  readonly #reader: LogReader;
  readonly #splitter: LineSplitter;
  #halfPair = "";

  constructor(limits: Partial<ReadLimits>) {
    this.#reader = new LogReader({
      maxDepth: integerOption("maxDepth", limits.maxDepth, defaultLimits.maxDepth, 8),
      full: true,
      onEntry: (row, entry) => {
        this.#bodies[row] = entry;
      },
    });
    const maxLineBytes = integerOption("maxLineBytes", limits.maxLineBytes, defaultLimits.maxLineBytes, 1024);
    this.#splitter = new LineSplitter(this.#reader, maxLineBytes);
  }

  push(chunk: string | Uint8Array): void {
    if (typeof chunk === "string") {
      this.#splitter.push(this.#chunkBytes(chunk));
      return;
    }
    if (!isBytes(chunk)) {
      throw new TypeError(`source: expected chunks of text or bytes, got ${describe(chunk)}`);
    }
    this.#endHalfPair();
    this.#splitter.push(chunk);
  }

  finish(): ParsedSession {
    this.#endHalfPair();
    const rest = this.#splitter.finish();
    const reader = this.#reader;
    if (rest !== undefined) reader.tail(rest.bytes, rest.at);
    reader.finish();
    const rows = treeRows(reader.tree);
    const bodies = this.#bodies;
    return {
      header: reader.header,
      entries: bodies.filter((entry) => entry !== undefined),
      tree: reader.tree,
      leafId: reader.leafId,
      info: reader.info,
      diagnostics: reader.diagnostics,
      entry: (id) => bodies[rows.row(id)],
    };
  }

  /** Ends a surrogate pair whose second half is missing, as invalid UTF-8. */
  #endHalfPair(): void {
    if (this.#halfPair !== "") this.#splitter.push(invalidUtf8);
    this.#halfPair = "";
  }

  /** Encodes a lone surrogate as invalid UTF-8, so that it is reported and not silently replaced. */
  #chunkBytes(chunk: string): Uint8Array {
    let text = this.#halfPair + chunk;
    this.#halfPair = "";
    const last = text.charCodeAt(text.length - 1);
    if (last >= 0xd800 && last <= 0xdbff) {
      this.#halfPair = text.slice(-1);
      text = text.slice(0, -1);
    }
    return text.isWellFormed() ? encodeUtf8(text) : encodeStrictly(text);
  }
}

const invalidUtf8 = Uint8Array.of(0xff);

/** Encodes text, with invalid UTF-8 for each lone surrogate, which the encoder replaces by U+FFFD. */
function encodeStrictly(text: string): Uint8Array {
  const bytes = encodeUtf8(text);
  let at = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0xd800 || code > 0xdfff) {
      at += code < 0x80 ? 1 : code < 0x800 ? 2 : 3;
    } else if (code <= 0xdbff && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) {
      at += 4;
      i++;
    } else {
      bytes.set(invalidUtf8, at);
      at += 3;
    }
  }
  return bytes;
}
