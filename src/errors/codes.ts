/**
 * What each error code carries in `details`. Codes are API: one changes only with a major version.
 * Every code is explained in docs/errors.md: when it comes, and what to do.
 */
export interface ErrorDetails {
  /** A value that was to be parsed or stored has the wrong shape. `path` names the place, such as `message.content[2].text`. */
  INVALID_MESSAGE: { readonly path: string; readonly expected: string };
  /** A draft cannot be written as an entry. `path` names the place in the draft. */
  INVALID_ENTRY: { readonly path: string; readonly expected: string };
  /** A draft asks for an id that another entry already has. */
  DUPLICATE_ID: { readonly entryId: string };
  /** No entry of this session has the id. */
  ENTRY_NOT_FOUND: { readonly entryId: string };
  /**
   * A draft has media inline as base64, and they cannot go to a blob store. `path` names the block in the drafts, `bytes`
   * is what the entry's base64 comes to with it.
   */
  INLINE_BYTES: { readonly path: string; readonly bytes: number; readonly maxBytes: number };
  /** An encoded line is longer than the store takes. */
  LINE_TOO_LONG: { readonly bytes: number; readonly maxBytes: number };
  /** The lines of one append are longer together than one write may be; nothing was written. */
  BATCH_TOO_LARGE: { readonly bytes: number; readonly maxBytes: number };
  /**
   * The log has moved on since this session last saw it, or the tip is not the one that an append was to follow; nothing
   * was written. Both are positions in the log, or both entry ids, `none` standing for before the first entry.
   */
  CONCURRENT_WRITER: {
    readonly expected: string;
    readonly actual: string;
    /** Where the other writer's conversation ends: what `branch` takes to go on from there. */
    readonly leafId?: string | null;
    /** What came from other writers, in the order of the log: the last 100. */
    readonly entryIds?: readonly string[];
    /** Why entries cannot go behind the other's: a call there waits for its result, or they would lose a call or a reference. */
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
  /** The session cannot be written through this handle. */
  SESSION_READ_ONLY: { readonly id: string; readonly reason: "mode" | "version" };
  /** The handle was closed. */
  SESSION_CLOSED: { readonly id: string };
  /** What was asked for has to wait until the appends before it are written. */
  SESSION_BUSY: { readonly id: string };
  /** An earlier write failed in a way that leaves the end of the log unknown; reopen the session. */
  WRITER_POISONED: { readonly id: string; readonly reason: string };
  /** The file has no bytes. */
  EMPTY: { readonly path: string };
  /** No line of the log is a session header. */
  NO_HEADER: { readonly path: string; readonly lines: number };
  /** The path is a directory, a FIFO, a device or a socket. */
  NOT_A_FILE: { readonly path: string; readonly kind: string };
  /** The session changed its shape while it was being read or copied. */
  LOG_CHANGED: { readonly id: string };
  /** A path, or a kind, that would not come back from the text of a context token. */
  INVALID_CONTEXT_TOKEN: {
    readonly path: string;
    readonly reason: "empty" | "relative" | "white-space" | "delimiter" | "kind";
  };
  /** The bytes of a blob are not what its name says. `actual` is their own ref, or the kind of thing in its place. */
  BLOB_CORRUPT: {
    readonly expected: string;
    readonly actual: string;
    readonly size: number;
    /** Where what was found was put aside. */
    readonly quarantined?: string;
  };
  /** The bytes to be stored are not those that were declared; nothing was stored. */
  BLOB_MISMATCH: {
    readonly what: "size" | "digest";
    readonly expected: number | string;
    readonly actual: number | string;
  };
  /** There are more bytes than the store or the caller takes; nothing was stored. `bytes` is how many were seen. */
  BLOB_TOO_LARGE: { readonly bytes: number; readonly maxBytes: number };
  /** The bytes do not fit into what the store may hold; nothing was stored. */
  QUOTA_EXCEEDED: { readonly bytes: number; readonly used: number; readonly quota: number };
  /** The directory of a blob store was laid out by a newer version, or in another way than it was opened. */
  BLOB_STORE_FORMAT: { readonly path: string; readonly expected: string; readonly found: string };
  /** What may be deleted is not certain; nothing was collected. */
  COLLECTION_REFUSED: { readonly reasons: readonly { readonly root: string; readonly reason: string }[] };
  /** Bytes begin as an image does and are none; `reason` says what is wrong with them. */
  MEDIA_INVALID: { readonly mediaType: string; readonly reason: string };
  /** A name or a sender claims an image, and the bytes are something else. */
  MEDIA_TYPE_MISMATCH: { readonly declared: string; readonly actual: string };
  /** The target does not take so much, or not this; nothing was stored. `items` are places in what was given. */
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
  /** The address of a link is not taken. It is not repeated here. */
  LINK_REFUSED: { readonly reason: "malformed" | "data" | "file" | "fileId" | "scheme" | "tooLong" };
  /** A path or a file URL is not taken, or nothing can be read there; `reason` says which rule. */
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
  /** A file has more bytes than were allowed; `bytes` is what is known of its size. */
  FILE_TOO_LARGE: { readonly path: string; readonly bytes: number; readonly maxBytes: number };
  /** A file was written to, or another one put in its place, while it was being read. */
  CHANGED_DURING_READ: { readonly path: string };
  /**
   * A turn has no text, and none of its attachments can be used. `status` is what an HTTP server answers; `errors` are in
   * the order of the attachments, by plain names and without paths.
   */
  ATTACHMENT_FAILURE: {
    readonly status: 400;
    readonly category: "ALL_ATTACHMENTS_FAILED_NO_TEXT";
    readonly errors: readonly { readonly name: string; readonly code: string; readonly reason: string }[];
  };
  /** A context cannot go to a target without changes that the caller did not choose, and it asked to be told by an error. */
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
  /** A context cannot be made small enough; nothing was written. `tokens` is what it would come to, `limit` what it may. */
  IRREDUCIBLE: {
    readonly reason: "nothing-to-summarize" | "kept" | "longer" | "over-limit";
    readonly tokensBefore: number;
    readonly tokens: number;
    readonly limit: number;
  };
  /** No summary came; nothing was written. `calls` is how often the model was asked. */
  SUMMARY_FAILED: { readonly reason: "error" | "empty" | "overflow"; readonly calls: number };
  /** A provider answered a request for a stream with an error, or sent one in the stream. `status` is of HTTP. */
  REPLY_FAILED: { readonly status?: number };
  /** The storage below refused: `errno` is its own code, such as ENOSPC. */
  STORAGE_FAILED: { readonly operation: string; readonly path: string; readonly errno: string };
}

/** The stable name of a failure. */
export type ErrorCode = keyof ErrorDetails;
