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

/** What happens to a process at its steps. */
export interface FuseOptions {
  readonly fault?: StoreFault | undefined;
  /** The step behind which the process stands still until `during` resolves. */
  readonly stop?: { readonly at: number; readonly during: () => Promise<void> } | undefined;
  /** How often it gives way to others at each step. */
  readonly pace?: number;
}

/** Ends a process after a number of steps. */
export class Fuse {
  #left: number;
  #passed = 0;
  #writes = 0;
  #refused = 0;
  readonly #fault: StoreFault | undefined;
  readonly #stop: FuseOptions["stop"];
  readonly #pace: number;
  #stopped: Promise<void> | undefined;

  constructor(steps = Number.POSITIVE_INFINITY, { fault, stop, pace = 0 }: FuseOptions = {}) {
    this.#left = steps;
    this.#fault = fault;
    this.#stop = stop;
    this.#pace = pace;
  }

  get hasEnded(): boolean {
    return this.#left <= 0;
  }

  /** The steps so far. */
  get passed(): number {
    return this.#passed;
  }

  /** The last writes that a full disk refused, if none succeeded after them. */
  get refused(): number {
    return this.#refused;
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
    await this.pass();
    const result = await act();
    await this.pass();
    return result;
  }

  /** A step at which the process may also stand still. */
  async pass(): Promise<void> {
    this.point();
    for (let turns = this.#pace; turns > 0; turns--) await undefined;
    if (this.#stop !== undefined && this.#passed >= this.#stop.at) this.#stopped ??= this.#stop.during();
    await this.#stopped;
  }

  /** A write of a store. A full disk refuses it; an answer may be lost. */
  write<T>(act: () => Promise<T>): Promise<T> {
    return this.call(async () => {
      const { kind, at = 0, count = 0 } = this.#fault ?? {};
      const write = ++this.#writes;
      const isFaulty = kind !== undefined && write >= at && write < at + count;
      this.#refused = isFaulty && kind === "full" ? this.#refused + 1 : 0;
      if (!isFaulty) return act();
      if (kind === "lost") await act();
      const details = { operation: "write", path: "/", errno: kind === "full" ? "ENOSPC" : "ECONNRESET" };
      throw new SessileError("STORAGE_FAILED", `the disk is ${kind}`, { details });
    });
  }
}

/** Tells readers of writes, so that they need no timer. */
export class Writes {
  readonly #counts = new Map<string, number>();
  readonly #waiting = new Set<() => void>();

  count(id: string): number {
    return this.#counts.get(id) ?? 0;
  }

  add(id: string): void {
    this.#counts.set(id, this.count(id) + 1);
    for (const look of [...this.#waiting]) look();
  }

  /** Resolves once there are more writes to a log than this. */
  async after(id: string, count: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.count(id) > count) return;
    await new Promise<void>((resolve) => {
      const look = () => {
        if (!signal.aborted && this.count(id) <= count) return;
        this.#waiting.delete(look);
        signal.removeEventListener("abort", look);
        resolve();
      };
      this.#waiting.add(look);
      signal.addEventListener("abort", look);
    });
  }
}

/** A backend of sessions as one process has it. Its claims end by time alone, as those of another machine. */
export function mortalBackend(backend: SessionBackend, fuse: Fuse, writes?: Writes): SessionBackend {
  return {
    async create(session) {
      const { log, position } = await fuse.write(() => backend.create(session));
      return { log: mortalLog(log, fuse, session.id, writes), position };
    },
    async open(id, options) {
      const log = await fuse.call(() => backend.open(id, options));
      return log && mortalLog(log, fuse, id, writes);
    },
    async *list(query) {
      await fuse.pass();
      yield* backend.list(query);
    },
    async delete(id, options) {
      const isDeleted = await fuse.write(() => backend.delete(id, options));
      writes?.add(id);
      return isDeleted;
    },
  };
}

function mortalLog(log: SessionLog, fuse: Fuse, id: string, writes: Writes | undefined): SessionLog {
  const { readBackwards, location, crc32, delete: remove } = log;
  const written = async <T>(act: () => Promise<T>): Promise<T> => {
    try {
      return await fuse.write(act);
    } finally {
      writes?.add(id);
    }
  };
  let seen = 0;
  const changed =
    writes === undefined
      ? log.changed?.bind(log)
      : (signal: AbortSignal): Promise<void> => writes.after(id, seen, signal);
  return {
    ...(location === undefined ? {} : { location }),
    ...(crc32 === undefined ? {} : { crc32 }),
    append: (lines, expected: LogPosition) => written(() => log.append(lines, expected)),
    async *read(from, options) {
      await fuse.pass();
      seen = writes?.count(id) ?? 0;
      yield* log.read(from, options);
    },
    readAt: (places) => fuse.call(() => log.readAt(places)),
    ...(readBackwards === undefined
      ? {}
      : {
          async *readBackwards(before, options) {
            await fuse.pass();
            yield* readBackwards.call(log, before, options);
          },
        }),
    ...(changed === undefined ? {} : { changed }),
    ...(log.prepare === undefined ? {} : { prepare: log.prepare.bind(log) }),
    ...(remove === undefined ? {} : { delete: (...args) => written(() => remove.apply(log, args)) }),
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
