/** The binding of a bucket: the members that are used, and calls that are repeated while that can help. */

import { describe } from "../../../core/arguments.js";
import { retry } from "../../../core/concurrency.js";
import { SessileError } from "../../../core/errors/index.js";

/** Facts about an object. */
export interface R2Stat {
  readonly key: string;
  /** Another one after each write. */
  readonly version: string;
  readonly size: number;
  readonly etag: string;
  /** The time of the last write, by the clock of R2. */
  readonly uploaded: Date;
}

/** An object with its bytes, which are absent if a condition failed. */
export interface R2Body extends R2Stat {
  readonly body?: ReadableStream<Uint8Array>;
}

interface R2Condition {
  etagMatches?: string;
  etagDoesNotMatch?: string;
}

interface R2Page {
  readonly objects: readonly R2Stat[];
  readonly truncated: boolean;
  readonly cursor?: string;
}

interface R2Upload {
  uploadPart(number: number, bytes: Uint8Array): Promise<R2Part>;
  complete(parts: R2Part[]): Promise<R2Stat>;
  abort(): Promise<void>;
}

export interface R2Part {
  partNumber: number;
  etag: string;
}

/** A bucket of R2 as a Worker's binding has it: the members of `R2Bucket` that are used. */
export interface R2BucketBinding {
  /** Facts about an object; null if there is none. */
  head(key: string): Promise<R2Stat | null>;
  /** An object, or a range of it; null if there is none. */
  get(
    key: string,
    options?: { range?: { offset: number; length?: number }; onlyIf?: R2Condition },
  ): Promise<R2Body | null>;
  /** Writes an object; null if the condition failed. */
  put(
    key: string,
    value: ReadableStream<Uint8Array> | Uint8Array,
    options?: { onlyIf?: R2Condition; sha256?: string },
  ): Promise<R2Stat | null>;
  /** Deletes an object; fine if there is none. */
  delete(key: string): Promise<void>;
  /** A page of objects whose keys have a prefix. */
  list(options: { prefix: string; cursor?: string }): Promise<R2Page>;
  /** Begins an upload in parts. */
  createMultipartUpload(key: string): Promise<R2Upload>;
}

const maxAttempts = 6;
const waitMs = [100, 2000] as const;

/**
 * Codes of failures that another attempt cannot mend, as R2 has them at the end of a message: no rights, a
 * checksum or a range that does not fit, an object that is too large.
 *
 * @see https://developers.cloudflare.com/r2/api/error-codes/ (read 2026-11-23)
 */
const lasting: ReadonlySet<string> = new Set(["10002", "10003", "10006", "10037", "10039", "100100"]);

/** The calls of one bucket. All of them may be repeated. */
export class Bucket {
  readonly binding: R2BucketBinding;

  constructor(binding: R2BucketBinding) {
    if (typeof binding?.put !== "function" || typeof binding.createMultipartUpload !== "function")
      throw new TypeError(`bucket: expected a binding of R2, got ${describe(binding)}`);
    this.binding = binding;
  }

  /** Makes attempts with growing random waits. */
  async call<T>(operation: string, path: string, attempt: () => Promise<T>): Promise<T> {
    try {
      return await retry(attempt, {
        waitMs,
        again(error, count) {
          const isFinal = error instanceof SessileError || lasting.has(errorCode(error) ?? "");
          return !isFinal && count < maxAttempts;
        },
      });
    } catch (error) {
      throw storageFailed(operation, path, error);
    }
  }

  head(key: string): Promise<R2Stat | undefined> {
    return this.call("look into", key, async () => (await this.binding.head(key)) ?? undefined);
  }

  delete(key: string): Promise<void> {
    return this.call("delete from", key, () => this.binding.delete(key));
  }

  /**
   * Copies an object as it was seen through the worker, streamed, since a binding has no copy of its own.
   * @param ifAbsent whether an object at the target stays as it is
   * @returns undefined if the source is gone or another one, or the target stayed
   */
  copy(from: R2Stat, to: string, options: { readonly ifAbsent?: boolean } = {}): Promise<R2Stat | undefined> {
    return this.call("copy in", from.key, async () => {
      const source = await this.binding.get(from.key, { onlyIf: { etagMatches: from.etag } });
      if (source?.body === undefined) return undefined;
      const onlyIf = copyCondition(from, to, options.ifAbsent === true);
      const copied = await this.binding.put(to, source.body, onlyIf === undefined ? {} : { onlyIf });
      return copied ?? undefined;
    });
  }

  /** The objects below a prefix, in pages. */
  async *list(prefix: string, signal?: AbortSignal): AsyncGenerator<readonly R2Stat[], void, undefined> {
    let cursor: string | undefined;
    do {
      signal?.throwIfAborted();
      const options = { prefix, ...(cursor === undefined ? {} : { cursor }) };
      const page = await this.call("list", prefix, () => this.binding.list(options));
      yield page.objects;
      cursor = page.truncated ? page.cursor : undefined;
    } while (cursor !== undefined);
  }
}

/** A copy onto itself must not bring a replaced object back. */
function copyCondition(from: R2Stat, to: string, ifAbsent: boolean): R2Condition | undefined {
  if (ifAbsent) return { etagDoesNotMatch: "*" };
  return from.key === to ? { etagMatches: from.etag } : undefined;
}

/** The number that R2 has at the end of a message. */
function errorCode(error: unknown): string | undefined {
  return /\((\d{5,6})\)\s{0,8}$/.exec(errorMessage(error))?.[1];
}

function storageFailed(operation: string, path: string, cause: unknown): SessileError {
  if (cause instanceof SessileError) return cause;
  const errno = errorCode(cause) ?? "NO_ANSWER";
  const message = `${operation} ${path}: ${errorMessage(cause)}`;
  return new SessileError("STORAGE_FAILED", message, { cause, details: { operation, path, errno } });
}

function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The chunks of a body, which is cancelled if the caller stops early. */
export async function* bodyChunks(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void> {
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
    if (!isDone) reader.cancel().catch(() => undefined);
  }
}
