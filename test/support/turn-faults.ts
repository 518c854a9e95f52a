/** A process that ends at a chosen step: everything that it awaits of a store, a model or a tool goes through a fuse. */
import type { BlobStore, LogPosition, SessionBackend, SessionLog } from "sessile";
import { SessileError } from "sessile/errors";

/** What a process that ended throws, and what all its later steps throw. */
export class Ended extends Error {
  override readonly name = "Ended";
}

/** Writes that a store refuses, or does without an answer, while the process goes on. */
export interface StoreFault {
  readonly kind: "full" | "lost";
  /** The first of these writes, and how many there are. */
  readonly at: number;
  readonly count: number;
}

/** Ends a process after a number of steps. */
export class Fuse {
  #left: number;
  #passed = 0;
  #writes = 0;
  readonly #fault: StoreFault | undefined;

  constructor(steps = Number.POSITIVE_INFINITY, fault?: StoreFault) {
    this.#left = steps;
    this.#fault = fault;
  }

  get hasEnded(): boolean {
    return this.#left <= 0;
  }

  /** The steps so far. */
  get passed(): number {
    return this.#passed;
  }

  end(): void {
    this.#left = 0;
  }

  /** A step at which the process may end. */
  point(): void {
    if (this.#left-- <= 0) {
      this.#left = 0;
      throw new Ended();
    }
    this.#passed++;
  }

  /** A call whose process may end before it, or after it and before its answer. */
  async call<T>(act: () => Promise<T>): Promise<T> {
    this.point();
    const result = await act();
    this.point();
    return result;
  }

  /** A write of a store. A full disk refuses it; an answer may be lost. */
  write<T>(act: () => Promise<T>): Promise<T> {
    return this.call(async () => {
      const { kind, at = 0, count = 0 } = this.#fault ?? {};
      const write = ++this.#writes;
      if (kind === undefined || write < at || write >= at + count) return act();
      if (kind === "lost") await act();
      const details = { operation: "write", path: "/", errno: kind === "full" ? "ENOSPC" : "ECONNRESET" };
      throw new SessileError("STORAGE_FAILED", `the disk is ${kind}`, { details });
    });
  }
}

/** A backend of sessions as one process has it. Its claims end by time alone, as those of another machine. */
export function mortalBackend(backend: SessionBackend, fuse: Fuse): SessionBackend {
  return {
    async create(session) {
      const { log, position } = await fuse.write(() => backend.create(session));
      return { log: mortalLog(log, fuse), position };
    },
    async open(id, options) {
      const log = await fuse.call(() => backend.open(id, options));
      return log && mortalLog(log, fuse);
    },
    async *list(query) {
      fuse.point();
      yield* backend.list(query);
    },
    delete: (id, options) => fuse.write(() => backend.delete(id, options)),
  };
}

function mortalLog(log: SessionLog, fuse: Fuse): SessionLog {
  const { changed, readBackwards, location, crc32, delete: remove } = log;
  return {
    ...(location === undefined ? {} : { location }),
    ...(crc32 === undefined ? {} : { crc32 }),
    append: (lines, expected: LogPosition) => fuse.write(() => log.append(lines, expected)),
    async *read(from, options) {
      fuse.point();
      yield* log.read(from, options);
    },
    readAt: (places) => fuse.call(() => log.readAt(places)),
    ...(readBackwards === undefined
      ? {}
      : {
          async *readBackwards(before, options) {
            fuse.point();
            yield* readBackwards.call(log, before, options);
          },
        }),
    ...(changed === undefined ? {} : { changed: changed.bind(log) }),
    ...(log.prepare === undefined ? {} : { prepare: log.prepare.bind(log) }),
    ...(remove === undefined ? {} : { delete: (...args) => fuse.write(() => remove.apply(log, args)) }),
    close: () => log.close(),
  };
}

/** Blobs as one process has them. */
export function mortalBlobs(blobs: BlobStore, fuse: Fuse): Pick<BlobStore, "get" | "put"> {
  return {
    get: (...args) => fuse.call(() => blobs.get(...args)),
    put: (...args) => fuse.write(() => blobs.put(...args)),
  };
}
