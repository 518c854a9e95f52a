/** What can be wrong with a stored session. None of these stops it from loading, unless the name says so. */
export type DiagnosticCode =
  /** The log has no bytes. */
  | "EMPTY"
  /** No line is a session header. */
  | "NO_HEADER"
  /** A second header; it is ignored. */
  | "EXTRA_HEADER"
  /** Lines before the header. */
  | "BEFORE_HEADER"
  /** The header or an entry was made by a newer version; the session opens for reading only. */
  | "NEWER_VERSION"
  /** The line is no JSON. */
  | "INVALID_JSON"
  /** The line is JSON, and no object. */
  | "NOT_AN_OBJECT"
  /** The bytes are not UTF-8. */
  | "INVALID_UTF8"
  /** The line is longer than the reader takes. */
  | "LINE_TOO_LONG"
  /** The line is nested deeper than the reader takes. */
  | "TOO_DEEP"
  /** The line has a `__proto__` key; the key is left out. */
  | "UNSAFE_KEY"
  /** An entry without a usable type, id or parentId; it is no entry. */
  | "INVALID_ENTRY"
  /** An entry of a known type with the wrong fields; it reads as unknown. */
  | "INVALID_FIELDS"
  /** An id that an earlier entry has; the first one counts. */
  | "DUPLICATE_ID"
  /** The parent is not in the log; the entry is a root. */
  | "ORPHAN"
  /** Following the parents comes back to the entry; it is a root. */
  | "CYCLE"
  /** The checksum disagrees: the line was changed after it was written. */
  | "MODIFIED"
  /** The last line is incomplete; it was never acknowledged, or its end was lost. */
  | "TORN_TAIL"
  /** A torn last line that a later writer ended; it was never acknowledged, and is no entry. */
  | "TORN_LINE"
  /** An older version's index that points at no earlier entry. */
  | "INVALID_INDEX"
  /** The log is shorter than it was, or another file stands in its place; it was read again from the start. */
  | "LOG_REPLACED"
  /** Another program wrote at the same moment, ignoring the lock; what was written stands beside its lines. */
  | "FOREIGN_WRITE";

/** One problem of a stored session. */
export interface Diagnostic {
  readonly code: DiagnosticCode;
  /** The line's number, from 1; 0 where the problem is of the whole log. */
  readonly line: number;
  /** Where the line starts: a byte offset in a file or in parsed text, a sequence number in other stores. */
  readonly offset: number;
  /** For people; may change. */
  readonly message: string;
  /** The entry, where the line is one. */
  readonly entryId?: string;
}

/** Problems in the order in which they were found: all, or the first thousand and the last thousand of more. */
export interface Diagnostics extends ReadonlyArray<Diagnostic> {
  /** How many were found, those that are not listed included. */
  readonly total: number;
  /** How many of each code were found. */
  readonly counts: Readonly<Partial<Record<DiagnosticCode, number>>>;
}

const keptAtEachEnd = 1000;

/** Collects {@link Diagnostics}. A file of short lines that are none has millions of problems, so most are only counted. */
export class DiagnosticList {
  readonly #first: Diagnostic[] = [];
  /** The last ones, a ring once it is full. */
  readonly #last: Diagnostic[] = [];
  readonly #counts: Partial<Record<DiagnosticCode, number>> = {};
  #total = 0;
  #view: Diagnostics | undefined;

  add(diagnostic: Diagnostic): void {
    const { code } = diagnostic;
    this.#counts[code] = (this.#counts[code] ?? 0) + 1;
    const behind = this.#total++ - keptAtEachEnd;
    if (behind < 0) this.#first.push(diagnostic);
    else this.#last[behind % keptAtEachEnd] = diagnostic;
    this.#view = undefined;
  }

  /** What was added so far; the same array until more is. */
  get all(): Diagnostics {
    this.#view ??= this.#print();
    return this.#view;
  }

  #print(): Diagnostics {
    const oldest = Math.max(0, this.#total - keptAtEachEnd) % keptAtEachEnd;
    const isFull = this.#last.length === keptAtEachEnd;
    const last = isFull ? [...this.#last.slice(oldest), ...this.#last.slice(0, oldest)] : this.#last;
    // Not enumerable: to whoever compares or prints them they are an array as any other.
    return Object.defineProperties([...this.#first, ...last], {
      total: { value: this.#total },
      counts: { value: { ...this.#counts } },
    }) as unknown as Diagnostics;
  }
}
