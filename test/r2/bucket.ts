import type { R2BucketBinding } from "sessile/r2";

interface Stored {
  readonly key: string;
  readonly version: string;
  readonly size: number;
  readonly etag: string;
  readonly uploaded: Date;
  readonly bytes: Uint8Array;
}

/**
 * A bucket in memory with the rules of R2 that its binding documents. `before` may throw in place of a call,
 * `after` in place of its answer.
 */
export class MemoryBucket implements R2BucketBinding {
  readonly objects = new Map<string, Stored>();
  readonly calls: string[] = [];
  before: ((call: string, key: string) => void) | undefined;
  after: ((call: string, key: string) => void) | undefined;
  /** Bytes after which a body breaks off, once. */
  cutAfter: number | undefined;
  pageKeys = 7;
  #time = Date.now();

  head(key: string) {
    return this.#call("head", key, () => this.objects.get(key) ?? null);
  }

  get(
    key: string,
    {
      range,
      onlyIf,
    }: { range?: { offset: number; length?: number }; onlyIf?: { etagMatches?: string } } = {},
  ) {
    return this.#call("get", key, () => {
      const found = this.objects.get(key);
      if (found === undefined) return null;
      const { bytes, ...stat } = found;
      if (onlyIf?.etagMatches !== undefined && onlyIf.etagMatches !== found.etag) return stat;
      const { offset, length = bytes.length } = range ?? { offset: 0 };
      if (range !== undefined && offset >= bytes.length)
        throw new Error("get: The requested range is not satisfiable (10039)");
      return { ...stat, body: this.#stream(bytes.slice(offset, offset + length)) };
    });
  }

  async put(
    key: string,
    value: ReadableStream<Uint8Array> | Uint8Array,
    options: { onlyIf?: { etagMatches?: string; etagDoesNotMatch?: string }; sha256?: string } = {},
  ) {
    const bytes = new Uint8Array(await new Response(value as BodyInit).arrayBuffer());
    const digest = Buffer.from(await crypto.subtle.digest("SHA-256", bytes)).toString("hex");
    return this.#call("put", key, () => {
      if (options.sha256 !== undefined && options.sha256 !== digest)
        throw new Error("put: The SHA-256 checksum you specified did not match what we received. (10037)");
      const found = this.objects.get(key);
      const { etagMatches, etagDoesNotMatch } = options.onlyIf ?? {};
      if (etagMatches !== undefined && found?.etag !== etagMatches) return null;
      if (etagDoesNotMatch === "*" && found !== undefined) return null;
      return this.store(key, bytes, digest);
    });
  }

  delete(key: string) {
    return this.#call("delete", key, () => {
      this.objects.delete(key);
    });
  }

  list({ prefix, cursor = "" }: { prefix: string; cursor?: string }) {
    return this.#call("list", prefix, () => {
      const keys = [...this.objects.keys()].filter((key) => key.startsWith(prefix) && key > cursor).sort();
      const objects = keys.slice(0, this.pageKeys).map((key) => this.objects.get(key) as Stored);
      const truncated = keys.length > objects.length;
      return { objects, truncated, ...(truncated && { cursor: objects.at(-1)?.key as string }) };
    });
  }

  createMultipartUpload(key: string) {
    const parts = new Map<number, Uint8Array>();
    let isOpen = true;
    return this.#call("create", key, () => ({
      uploadPart: (partNumber: number, bytes: Uint8Array) =>
        this.#call("part", key, () => {
          parts.set(partNumber, bytes.slice());
          return { partNumber, etag: String(partNumber) };
        }),
      complete: (wanted: { partNumber: number }[]) =>
        this.#call("complete", key, () => {
          if (!isOpen)
            throw new Error("completeMultipartUpload: The specified upload does not exist. (10024)");
          const all = wanted.map(({ partNumber }) => parts.get(partNumber) as Uint8Array);
          const sizes = new Set(all.slice(0, -1).map(({ length }) => length));
          if (sizes.size > 1 || all.slice(0, -1).some(({ length }) => length < 5 * 1024 * 1024))
            throw new Error("completeMultipartUpload: parts are too small or of several sizes (10011)");
          isOpen = false;
          const bytes = new Uint8Array(Buffer.concat(all));
          return this.store(key, bytes, crypto.randomUUID());
        }),
      abort: () =>
        this.#call("abort", key, () => {
          isOpen = false;
        }),
    }));
  }

  /** Stores bytes under a key, as another program would. */
  store(key: string, bytes: Uint8Array, etag: string = crypto.randomUUID()): Stored {
    this.#time = Math.max(Date.now(), this.#time + 1);
    const uploaded = new Date(this.#time);
    const stored = { key, version: crypto.randomUUID(), size: bytes.length, etag, uploaded, bytes };
    this.objects.set(key, stored);
    return stored;
  }

  async #call<T>(call: string, key: string, act: () => T): Promise<T> {
    this.calls.push(call);
    await Promise.resolve();
    this.before?.(call, key);
    const answer = act();
    this.after?.(call, key);
    return answer;
  }

  #stream(bytes: Uint8Array): ReadableStream<Uint8Array> {
    const { cutAfter } = this;
    this.cutAfter = undefined;
    let at = 0;
    return new ReadableStream({
      pull: (controller) => {
        if (cutAfter !== undefined && at >= cutAfter)
          return controller.error(new Error("Network connection lost."));
        const chunk = bytes.slice(at, at + Math.min(65_536, (cutAfter ?? bytes.length) - at || 1));
        at += chunk.length;
        if (chunk.length > 0) controller.enqueue(chunk);
        return at >= bytes.length ? controller.close() : undefined;
      },
    });
  }
}
