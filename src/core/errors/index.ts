/**
 * The one error class of the library, and its codes.
 *
 * @module errors
 */

// The one error class of the library.

/** Parts of a {@link SessileError} beside its code and message. */
interface SessileErrorOptions<C extends ErrorCode> {
  /** JSON-safe facts about the failure; the shape is fixed by the code. */
  readonly details: ErrorDetails[C];
  /** The error that caused this one. */
  readonly cause?: unknown;
}

/** C0, DEL, C1, bidirectional controls, line and paragraph separators, and lone surrogates. */
const unprintable =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches them on purpose
  /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|\p{Surrogate}/gu;

/**
 * A failure with a stable `code` and JSON-safe `details`. The message is for people and may change.
 *
 * @example
 * ```ts
 * try {
 *   await session.appendMessage(message);
 * } catch (error) {
 *   if (!SessileError.is(error, "CONCURRENT_WRITER")) throw error;
 *   await session.appendMessage(message); // a deliberate branch next to the other writer's
 * }
 * ```
 */
export class SessileError<C extends ErrorCode = ErrorCode> extends Error {
  override readonly name = "SessileError";
  /** The stable name of the failure. */
  readonly code: C;
  /** Facts about the failure, safe to put in a log as JSON. */
  readonly details: ErrorDetails[C];

  constructor(code: C, message: string, options: SessileErrorOptions<C>) {
    super(
      SessileError.printable(message),
      options.cause === undefined ? undefined : { cause: options.cause },
    );
    this.code = code;
    this.details = options.details;
  }

  /**
   * Escapes control characters, line separators and bidirectional controls in untrusted text, so that no id,
   * path or damaged line can move a terminal's cursor or forge a log line. Messages are escaped, `details`
   * are not.
   *
   * @example
   * ```ts
   * SessileError.printable("a\u001b[2J\nb"); // "a\\u001b[2J\\nb"
   * ```
   */
  static printable(text: string): string {
    return text.replace(unprintable, (character) => {
      const short =
        character === "\n" ? "\\n" : character === "\r" ? "\\r" : character === "\t" ? "\\t" : undefined;
      return short ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
    });
  }

  /**
   * Whether `value` is a SessileError with this code; narrows its `details`. Compares name and code, so that
   * errors of a second copy of the library match too.
   */
  static is<C extends ErrorCode>(value: unknown, code: C): value is SessileError<C> {
    return (
      value instanceof Error && value.name === "SessileError" && (value as { code?: unknown }).code === code
    );
  }

  /** The error as plain data, for logs and for the wire. */
  toJSON(): {
    readonly name: string;
    readonly code: C;
    readonly message: string;
    readonly details: ErrorDetails[C];
  } {
    return { name: this.name, code: this.code, message: this.message, details: this.details };
  }
}

/**
 * The `details` of each error code. Codes are API: they change only in a major version.
 * docs/reference/errors.md explains the cause and the remedy of each code.
 */
export interface ErrorDetails {
  /**
   * A value to parse or store has the wrong shape. `path` names the member, such as
   * `message.content[2].text`.
   */
  INVALID_MESSAGE: { readonly path: string; readonly expected: string };
  /** A draft is not a valid entry. `path` names the member of the draft. */
  INVALID_ENTRY: { readonly path: string; readonly expected: string };
  /** A draft has the id of another entry. */
  DUPLICATE_ID: { readonly entryId: string };
  /** The session has no entry with this id. */
  ENTRY_NOT_FOUND: { readonly entryId: string };
  /**
   * A draft has inline base64 media, and the session has no blob store for them. `path` names the block in
   * the drafts, `bytes` is the entry's base64 up to and including it.
   */
  INLINE_BYTES: { readonly path: string; readonly bytes: number; readonly maxBytes: number };
  /** An encoded line is longer than the store accepts. */
  LINE_TOO_LONG: { readonly bytes: number; readonly maxBytes: number };
  /** The lines of one append exceed the maximum size of a write; nothing was written. */
  BATCH_TOO_LARGE: { readonly bytes: number; readonly maxBytes: number };
  /**
   * Another writer appended first, or the append must follow another entry than the leaf. Nothing was
   * written.
   */
  CONCURRENT_WRITER: {
    /** The leaf that the append was made for, or `none`; a position in an error of a log. */
    readonly expected: string;
    /**
     * The other writer's leaf, or this handle's if the append has `after`; a position in an error of a log.
     */
    readonly actual: string;
    /** The leaf of the other writer's conversation: pass it to `branch` to continue from it. */
    readonly leafId?: string | null;
    /** The number of entries that the other writer appended. */
    readonly added?: number;
    /** The last 100 of them, in the order of the log. */
    readonly entries?: readonly { readonly id: string; readonly type: string; readonly role?: string }[];
    /** The ids of `entries`. */
    readonly entryIds?: readonly string[];
    /** The process that held the lock before this append; usually the other writer. */
    readonly holder?: { readonly host: string; readonly pid: number };
    /** Why the entries cannot follow the other writer's: a pending tool call, or a lost call or reference. */
    readonly reason?: "pendingCall" | "lostCall" | "lostReference";
  };
  /** Another live process holds the log; nothing was written. */
  SESSION_LOCKED: {
    readonly pid: number;
    readonly host: string;
    readonly path: string;
    readonly heldMs: number;
  };
  /** The store has no session with this id. */
  SESSION_NOT_FOUND: { readonly id: string };
  /** The store already has a session with this id. */
  SESSION_EXISTS: { readonly id: string };
  /**
   * Two logs are not copies of one session: their headers have different ids or timestamps, or an adoption
   * shares no entry with the session.
   */
  SESSION_MISMATCH: { readonly expected: string; readonly actual: string };
  /** One copy has tombstones of entries whose texts the other has; without `erasures: "apply"` both stay. */
  ERASURE_PENDING: { readonly id: string; readonly entryIds: readonly string[] };
  /** This handle is read-only. */
  SESSION_READ_ONLY: { readonly id: string; readonly reason: "mode" | "version" };
  /** The handle was closed. */
  SESSION_CLOSED: { readonly id: string };
  /** The operation must wait for pending appends. */
  SESSION_BUSY: { readonly id: string };
  /** Another process, or another handle, has the turn. */
  TURN_BUSY: {
    readonly id: string;
    readonly claimId: string;
    readonly host?: string;
    readonly pid?: number;
    /** ISO 8601. */
    readonly since: string;
  };
  /** Another process took this handle's turn over; nothing was written. */
  TURN_LOST: { readonly id: string; readonly claimId: string };
  /** The session has no reply with this id, neither at work nor as an entry. */
  REPLY_NOT_FOUND: { readonly id: string; readonly replyId: string };
  /** An earlier write failed and the end of the log is unknown; reopen the session. */
  WRITER_POISONED: { readonly id: string; readonly reason: string };
  /** The file has no bytes. */
  EMPTY: { readonly path: string };
  /** No line of the log is a session header. */
  NO_HEADER: { readonly path: string; readonly lines: number };
  /** The path is a directory, a FIFO, a device or a socket. */
  NOT_A_FILE: { readonly path: string; readonly kind: string };
  /** The log was replaced while it was read or copied. */
  LOG_CHANGED: { readonly id: string };
  /** A path or a kind that cannot be printed as a context token. */
  INVALID_CONTEXT_TOKEN: {
    readonly path: string;
    readonly reason: "empty" | "relative" | "white-space" | "delimiter" | "kind";
  };
  /**
   * The bytes of a blob do not match its digest. `actual` is the ref of the bytes, or the kind of a non-file
   * in its place, or `missing`.
   */
  BLOB_CORRUPT: {
    readonly expected: string;
    readonly actual: string;
    readonly size: number;
    /** The path to which the corrupt file was moved. */
    readonly quarantined?: string;
  };
  /** The bytes do not match the declared size or digest; nothing was stored. */
  BLOB_MISMATCH: {
    readonly what: "size" | "digest";
    readonly expected: number | string;
    readonly actual: number | string;
  };
  /**
   * More bytes than the store or the caller accepts; nothing was stored. `bytes` is the number read so far.
   */
  BLOB_TOO_LARGE: { readonly bytes: number; readonly maxBytes: number };
  /** A write would make a block of a memory longer than it may be; nothing was written. In tokens. */
  BLOCK_TOO_LONG: {
    readonly label: string;
    /** Of the text that was not written. */
    readonly tokens: number;
    readonly maxTokens: number;
    /** The tokens that a write may add to the present text. */
    readonly left: number;
  };
  /** The bytes exceed the remaining quota of the store; nothing was stored. */
  QUOTA_EXCEEDED: { readonly bytes: number; readonly used: number; readonly quota: number };
  /** The directory of a blob store has the layout of a newer version, or another layout than requested. */
  BLOB_STORE_FORMAT: { readonly path: string; readonly expected: string; readonly found: string };
  /** Garbage collection cannot determine all references; nothing was collected. */
  COLLECTION_REFUSED: { readonly reasons: readonly { readonly root: string; readonly reason: string }[] };
  /** Bytes with the signature of an image that is cut or damaged; `reason` names the fault. */
  MEDIA_INVALID: { readonly mediaType: string; readonly reason: string };
  /** A name or a sender claims an image, and the bytes are something else. */
  MEDIA_TYPE_MISMATCH: { readonly declared: string; readonly actual: string };
  /** The attachments exceed a limit of the target; nothing was stored. `items` are indexes of the input. */
  LIMIT_EXCEEDED: {
    readonly profile: string;
    readonly violations: readonly {
      readonly rule: string;
      readonly unit: string;
      readonly limit: number | false | readonly string[];
      readonly actual: number | string | true;
      readonly items: readonly number[];
    }[];
  };
  /** The address of a link is refused. The error does not contain it. */
  LINK_REFUSED: { readonly reason: "malformed" | "data" | "file" | "fileId" | "scheme" | "tooLong" };
  /** A path or a file URL is refused or unreadable; `reason` names the rule. */
  FILE_REFUSED: {
    readonly path: string;
    readonly reason:
      | "malformed"
      | "relative"
      | "url"
      | "windowsName"
      | "system"
      | "link"
      | "outsideRoots"
      | "missing"
      | "unreadable";
  };
  /** A file has more bytes than allowed; `bytes` is its size as far as known. */
  FILE_TOO_LARGE: { readonly path: string; readonly bytes: number; readonly maxBytes: number };
  /** A file was written or replaced while it was read. */
  CHANGED_DURING_READ: { readonly path: string };
  /**
   * A turn has no text and no usable attachment. `status` is for an HTTP response; `errors` are in the order
   * of the attachments, with plain names and without paths.
   */
  ATTACHMENT_FAILURE: {
    readonly status: 400;
    readonly category: "ALL_ATTACHMENTS_FAILED_NO_TEXT";
    readonly errors: readonly { readonly name: string; readonly code: string; readonly reason: string }[];
  };
  /** A projection has losses, and the caller asked for an error instead. */
  PROJECTION_LOSSY: {
    readonly target: string;
    readonly losses: readonly {
      readonly code: string;
      readonly by: string;
      readonly entryId: string;
      readonly block?: number;
      readonly reason: string;
    }[];
  };
  /**
   * A context cannot be made small enough; nothing was written. `tokens` is the smallest size of the messages,
   * `limit` the maximum, `overhead` the tokens of tools and instructions beside them.
   */
  IRREDUCIBLE: {
    readonly reason: "nothing-to-summarize" | "kept" | "fits" | "longer" | "over-limit" | "without-gain";
    readonly tokensBefore: number;
    readonly tokens: number;
    readonly limit: number;
    readonly overhead: number;
  };
  /** The model gave no summary; nothing was written. `calls` is the number of model calls. */
  SUMMARY_FAILED: { readonly reason: "error" | "empty" | "overflow"; readonly calls: number };
  /** A provider answered with an error, or sent one within a stream. `status` is the HTTP status. */
  REPLY_FAILED: { readonly status?: number };
  /** A storage operation failed: `errno` is the system's code, such as ENOSPC. */
  STORAGE_FAILED: { readonly operation: string; readonly path: string; readonly errno: string };
}

/** The stable name of a failure. */
export type ErrorCode = keyof ErrorDetails;
