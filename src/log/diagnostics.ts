/** The diagnostics of stored sessions: codes, and the reports of lines. */

import { SessileError } from "../core/errors/index.js";

/** Problems of a stored session. None stops it from loading, unless the description says so. */
export type DiagnosticCode =
  /** The log has no bytes. */
  | "EMPTY"
  /** No line is a session header. */
  | "NO_HEADER"
  /** A second header; ignored. */
  | "EXTRA_HEADER"
  /** Lines before the header. */
  | "BEFORE_HEADER"
  /** The header or an entry is of a newer version; the session opens for reading only. */
  | "NEWER_VERSION"
  /** The line is not JSON. */
  | "INVALID_JSON"
  /** The line is JSON, but not an object. */
  | "NOT_AN_OBJECT"
  /** The bytes are not UTF-8. */
  | "INVALID_UTF8"
  /** Several lines in one: a line feed was lost, or a program wrote after half a line. Whole ones are read. */
  | "JOINED_LINE"
  /** NULs in the line, which are skipped. */
  | "NUL_BYTES"
  /** A byte order mark in a line other than the first, which is skipped. */
  | "BYTE_ORDER_MARK"
  /** The line exceeds the reader's maximum length. */
  | "LINE_TOO_LONG"
  /** The line exceeds the reader's maximum depth. */
  | "TOO_DEEP"
  /** The line has a `__proto__` key, which is omitted. */
  | "UNSAFE_KEY"
  /** A line without a usable type, id or parentId; not an entry. */
  | "INVALID_ENTRY"
  /** An entry of a known type with invalid fields; reads as unknown. */
  | "INVALID_FIELDS"
  /** The id of an earlier entry. The first one counts, or the first one whose body is readable. */
  | "DUPLICATE_ID"
  /** The parent is not in the log; the entry follows the one before it in the log. */
  | "ORPHAN"
  /** The parents form a cycle; the entry is a root. */
  | "CYCLE"
  /** The checksum does not match: the line was changed after it was written. */
  | "MODIFIED"
  /** A torn tail: the last line is incomplete. It was never acknowledged, or its end was lost. */
  | "TORN_TAIL"
  /** A torn line that a later writer ended. It was never acknowledged and is not an entry. */
  | "TORN_LINE"
  /** An older version's index without an earlier entry. */
  | "INVALID_INDEX"
  /** The log is shorter than before, or was replaced; it was read again from the start. */
  | "LOG_REPLACED"
  /** Another program ignored the lock and wrote at the same moment; its lines are beside the session's. */
  | "FOREIGN_WRITE";

/** One problem of a stored session. */
export interface Diagnostic {
  readonly code: DiagnosticCode;
  /** The line's number, from 1; 0 for the whole log. */
  readonly line: number;
  /** The start of the line: a byte offset in a file or in parsed text, a sequence number in other stores. */
  readonly offset: number;
  /** For people; may change. */
  readonly message: string;
  /** The entry, if the line is one. */
  readonly entryId?: string;
}

/** A problem of one line, without its position. */
export type LineDiagnostic = Pick<Diagnostic, "code" | "message">;

/** Problems in the order of detection: all, or the first and the last thousand. */
export interface Diagnostics extends ReadonlyArray<Diagnostic> {
  /** The total number, including problems that are not listed. */
  readonly total: number;
  /** The number of problems per code. */
  readonly counts: Readonly<Partial<Record<DiagnosticCode, number>>>;
}

/** The first and the last items of a list that may be long; of those between them only the number. */
export class BothEnds<T> {
  readonly #first: T[] = [];
  /** The last ones: a ring buffer once it is full. */
  readonly #last: T[] = [];
  readonly #maxFirst: number;
  readonly #maxLast: number;
  total = 0;

  constructor(maxFirst: number, maxLast: number) {
    this.#maxFirst = maxFirst;
    this.#maxLast = maxLast;
  }

  add(item: T): void {
    const index = this.total++ - this.#maxFirst;
    if (index < 0) this.#first.push(item);
    else if (this.#maxLast > 0) this.#last[index % this.#maxLast] = item;
  }

  /** The kept items, in order. */
  get list(): T[] {
    const isFull = this.#last.length === this.#maxLast;
    const oldest = isFull ? Math.max(0, this.total - this.#maxFirst) % Math.max(1, this.#maxLast) : 0;
    return [...this.#first, ...this.#last.slice(oldest), ...this.#last.slice(0, oldest)];
  }
}

const keptAtEachEnd = 1000;

/**
 * Collects {@link Diagnostics}. Most problems are only counted, because a damaged file may have millions of
 * them.
 */
export class DiagnosticList {
  /** Made for the first one: most sessions have none. */
  #kept: BothEnds<Diagnostic> | undefined;
  readonly #counts: Partial<Record<DiagnosticCode, number>> = {};
  #view: Diagnostics | undefined;

  add(diagnostic: Diagnostic): void {
    const { code } = diagnostic;
    this.#counts[code] = (this.#counts[code] ?? 0) + 1;
    this.#kept ??= new BothEnds(keptAtEachEnd, keptAtEachEnd);
    this.#kept.add(diagnostic);
    this.#view = undefined;
  }

  /** The problems so far; the same array until another one is added. */
  get all(): Diagnostics {
    // Not enumerable, so that comparisons and printing treat it as a plain array.
    this.#view ??= Object.defineProperties(this.#kept?.list ?? [], {
      total: { value: this.#kept?.total ?? 0 },
      counts: { value: { ...this.#counts } },
    }) as unknown as Diagnostics;
    return this.#view;
  }
}

/** Problems of lines that decoding alone does not find. */

export function lineTooLong(bytes: number): LineDiagnostic {
  return { code: "LINE_TOO_LONG", message: `the line has ${bytes} bytes, more than the maximum` };
}

export function tornTail(bytes: number): LineDiagnostic {
  return { code: "TORN_TAIL", message: `the last ${bytes} bytes are not a whole line` };
}

/**
 * Whether a line ends with the tab that {@link SessionLog.prepare} adds to a torn line. Writers end no line
 * with a tab, and a line of whitespace is blank to every reader.
 */
export function isTerminatedTornLine(bytes: Uint8Array, end = bytes.length): boolean {
  return bytes[end - 1] === 0x09;
}

/** The end of a torn line; the line feed alone ends a whole line. */
export const tornLineTerminator: Uint8Array = Uint8Array.of(0x09, 0x0a);

export function tornLine(bytes: number): LineDiagnostic {
  return {
    code: "TORN_LINE",
    message: `the line was torn after ${bytes} bytes, and ended by a later writer`,
  };
}

export function linesBeforeHeader(lines: number): LineDiagnostic {
  return { code: "BEFORE_HEADER", message: `${lines} lines precede the header` };
}

export const extraHeader: LineDiagnostic = {
  code: "EXTRA_HEADER",
  message: "a second header; it is ignored",
};

export const newerVersion: LineDiagnostic = {
  code: "NEWER_VERSION",
  message: "a newer version wrote the session; it opens for reading only",
};

/** The error for a log without a header. */
export function missingHeaderError(path: string, lines: number): SessileError {
  if (lines === 0) {
    const message = `the session ${path} is empty: delete it, or restore it from a copy`;
    return new SessileError("EMPTY", message, { details: { path } });
  }
  const message = `no line of ${path} is a session header: insert one as the first line to open it`;
  return new SessileError("NO_HEADER", message, { details: { path, lines } });
}
