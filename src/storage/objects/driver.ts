/**
 * The contract between blobs and an object store: what a driver of S3, R2 or another store has to do. Leases,
 * the trash, quarantine, resumed reads and streams are in `blobs.ts`, once for all drivers.
 */

/** An object as it was seen. */
export interface SeenObject {
  readonly key: string;
  readonly size: number;
  /** Another one if other bytes are written. */
  readonly etag: string;
}

/** Facts about an object, as a list has them. */
export interface ObjectStat extends SeenObject {
  /**
   * The time of the last write, in milliseconds since 1970 by the clock of the store. In whole seconds, rounded
   * down, if any call of the store gives no more.
   */
  readonly modifiedAt: number;
}

/** Facts about an object that was looked at. */
export interface ObjectHead extends ObjectStat {
  /** Another one after each write, also one of the same bytes within one step of the clock. */
  readonly version: string;
}

/** The bytes to read: of more than `length`, the caller drops the rest. */
export interface ObjectRange {
  readonly offset: number;
  readonly length?: number;
}

/** An object that is being read. */
export interface ObjectBody {
  /** The bytes of the whole object. */
  readonly size: number;
  readonly etag: string;
  /** The requested bytes, or more. An error, or an early end, is a body that broke off. */
  readonly bytes: AsyncIterable<Uint8Array>;
}

export interface CopyOptions {
  /** An object at the target stays, if the store can compare. @default false */
  readonly ifAbsent?: boolean;
}

/** An upload by parts, of which nothing shows under its key until it is complete. */
export interface ObjectUpload {
  /** Sends a part: numbers from 1. All but the last have the same size. Two may be on their way. */
  part(number: number, bytes: Uint8Array): Promise<unknown>;
  /** Makes the object of parts 1 to `count`, of so many bytes. Succeeds if an earlier attempt did. */
  complete(count: number, size: number): Promise<SeenObject>;
  /** Drops the parts. */
  abort(): Promise<void>;
}

/**
 * The calls of one bucket. All of them resolve when the store has acknowledged them. A driver repeats a call while
 * that can help; each may have been done before, when its answer was lost. It throws {@link ObjectFailure}.
 */
export interface ObjectDriver {
  /** The location of the bucket for people, before the first key. */
  readonly location: string;
  /** Bytes of a part. Fewer bytes are put at once. */
  readonly partBytes: number;
  /** @default `partBytes`: parts of a stream that is known to be long are larger if that is needed */
  readonly maxPartBytes?: number;
  readonly maxParts: number;
  /** What of a deleted partition no call can delete, for people. */
  readonly remaining: readonly string[];

  /** The facts of an object, or undefined. An absent bucket is a failure. */
  head(key: string): Promise<ObjectHead | undefined>;
  /** Opens an object from a byte on. Undefined if there is none, or with `etag` another one. */
  read(key: string, range: ObjectRange, etag?: string): Promise<ObjectBody | undefined>;
  /**
   * Stores bytes under a key, and renews the time of an object that has them. Need not send them if the store can
   * compare.
   * @param sha256 their digest in hexadecimal digits, if it is known: the store compares it if it can
   */
  put(key: string, bytes: Uint8Array, sha256: string | undefined): Promise<ObjectStat>;
  /**
   * Copies an object as it was seen within the store. Onto itself it only renews the time.
   * @returns the facts of the copy, or true if the store does not tell them; false if the source is gone or
   *   another one, or the target stayed
   */
  copy(from: SeenObject, to: string, options?: CopyOptions): Promise<ObjectStat | boolean>;
  /**
   * Deletes an object; an absent one is no failure.
   * @param etag that of the object that was seen: another one stays, if the store compares
   * @returns false if another one stayed
   */
  delete(key: string, etag?: string): Promise<boolean>;
  /** The objects below a prefix, in the order of their keys, in pages. */
  list(prefix: string, signal?: AbortSignal): AsyncIterable<readonly ObjectStat[]>;
  /** Starts an upload by parts. */
  upload(key: string): Promise<ObjectUpload>;
  /**
   * Drops uploads below a prefix that were started before a time, and counts them. Absent if the store lists none.
   * @param isOwn others stay
   */
  abortUploads?(
    prefix: string,
    before: number,
    isOwn: (key: string) => boolean,
    options: { readonly dryRun: boolean },
  ): Promise<{ readonly count: number; readonly bytes: number }>;
  /**
   * The time of the store, in milliseconds since 1970, at the earliest that it can be. Absent if only a write tells
   * it: an empty object is written and deleted then.
   * @param key one that lists may have as their prefix
   */
  now?(key: string): Promise<number>;
}

/** A failure of a store that another attempt did not mend. */
export class ObjectFailure extends Error {
  /** The code of the store, of the system, or one in capitals. */
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** The chunks of a body, which is cancelled if the caller stops early. */
export async function* streamChunks(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = body.getReader();
  let isDone = false;
  try {
    for (;;) {
      const next = await reader.read();
      isDone = next.done;
      if (next.done) return;
      yield next.value;
    }
  } finally {
    // Not awaited: a connection that hangs would never answer.
    if (!isDone) reader.cancel().catch(() => undefined);
  }
}

/** The body of an empty object. */
export async function* noChunks(): AsyncGenerator<Uint8Array, void, undefined> {}
