/** Sessions in memory. */

import { SessileError } from "../../core/errors/index.js";
import { isSideLogId } from "../../core/ids.js";
import type {
  LineReplacement,
  LogAppend,
  LogBatch,
  LogErasure,
  LogPosition,
  SessionBackend,
  SessionLog,
  StoredSession,
} from "../api/backend.js";
import type { SessionStore } from "../api/store.js";
import type { SessionStoreOptions } from "../runtime/loaded-log.js";
import { withLineFeed } from "../runtime/log-lines.js";
import { sessionStore } from "./store.js";

/** The lines of a batch that is read backwards. */
const pageLines = 64;

interface StoredLog {
  readonly id: string;
  lines: Uint8Array[];
  modifiedAt: number;
  /** Incremented when lines are replaced, so that positions of the old lines no longer match. */
  generation: number;
}

/**
 * Creates a store in memory, for tests, browsers, and agents without history. Several handles on one session
 * behave as in any other store.
 *
 * @example
 * ```ts
 * const sessions = memorySessionStore();
 * const session = await sessions.create({ cwd: "/work" });
 * ```
 */
export function memorySessionStore(options: SessionStoreOptions = {}): SessionStore {
  return sessionStore(memoryBackend(options.now ?? Date.now), options);
}

/** The backend of {@link memorySessionStore}. */
export function memoryBackend(now: () => number): SessionBackend {
  const partitions = new Map<string, Map<string, StoredLog>>();
  const partitionLogs = (partition: string): Map<string, StoredLog> => {
    const known = partitions.get(partition) ?? new Map<string, StoredLog>();
    partitions.set(partition, known);
    return known;
  };
  return {
    create({ id, partition }) {
      const logs = partitionLogs(partition);
      if (logs.has(id)) return Promise.reject(existsError(id));
      const stored: StoredLog = { id, lines: [], modifiedAt: now(), generation: 0 };
      const log = new MemoryLog(stored, now, logs, true);
      return Promise.resolve({ log, position: storedPosition(undefined) });
    },
    open(id, { partition }) {
      const logs = partitionLogs(partition);
      const stored = logs.get(id);
      return Promise.resolve(stored && new MemoryLog(stored, now, logs, false));
    },
    async *list({ partition, after }) {
      const newestFirst = [...partitionLogs(partition).values()].sort(
        (a, b) => b.modifiedAt - a.modifiedAt || (a.id < b.id ? 1 : -1),
      );
      for (const { id, lines, modifiedAt } of newestFirst) {
        const isBefore =
          after === undefined ||
          modifiedAt < after.modifiedAt ||
          (modifiedAt === after.modifiedAt && id < after.id);
        if (isBefore) yield listed(id, lines, modifiedAt);
      }
    },
    async *partitions() {
      for (const [partition, logs] of partitions) if (logs.size > 0) yield partition;
    },
    async deletePartition(partition) {
      const logs = partitionLogs(partition);
      const sessions = [...logs.keys()].filter((id) => !isSideLogId(id)).length;
      // Open logs look their session up in it.
      logs.clear();
      return { sessions, remaining: [] };
    },
    delete(id, { partition }) {
      return Promise.resolve(partitionLogs(partition).delete(id));
    },
  };
}

function listed(id: string, lines: readonly Uint8Array[], modifiedAt: number): StoredSession {
  return {
    id,
    head: lines,
    tail: lines,
    modifiedAt,
    size: lines.reduce((sum, line) => sum + line.length + 1, 0),
  };
}

function storedPosition(stored: StoredLog | undefined): LogPosition {
  return (stored === undefined ? "absent" : `${stored.generation}:${stored.lines.length}`) as LogPosition;
}

function existsError(id: string): SessileError {
  return new SessileError("SESSION_EXISTS", `there is a session ${id} already`, { details: { id } });
}

class MemoryLog implements SessionLog {
  readonly #stored: StoredLog;
  readonly #now: () => number;
  readonly #logs: Map<string, StoredLog>;
  readonly #isCreated: boolean;

  constructor(stored: StoredLog, now: () => number, logs: Map<string, StoredLog>, isCreated: boolean) {
    this.#stored = stored;
    this.#now = now;
    this.#logs = logs;
    this.#isCreated = isCreated;
  }

  async append(lines: readonly Uint8Array[], expected: LogPosition): Promise<LogAppend> {
    if (expected !== storedPosition(undefined)) this.#assertEndsAt(expected);
    else if (this.#logs.has(this.#stored.id)) throw existsError(this.#stored.id);
    if (this.#isCreated) this.#logs.set(this.#stored.id, this.#stored);
    const first = this.#stored.lines.length;
    for (const line of lines) this.#stored.lines.push(line.slice(0, -1));
    this.#stored.modifiedAt = this.#now();
    return { position: storedPosition(this.#stored), at: lines.map((_, index) => first + index) };
  }

  async *read(
    from: LogPosition | undefined,
    { batchBytes, lastBytes }: { readonly batchBytes?: number; readonly lastBytes?: number } = {},
  ): AsyncIterable<LogBatch> {
    const current = this.#existing();
    const [generation, count] = from?.split(":") ?? [];
    const isOurs = Number(generation) === current.generation;
    const last = from === undefined ? startOfLast(current.lines, lastBytes) : 0;
    const start = isOurs && Number(count) <= current.lines.length ? Number(count) : last;
    // A reader that names a size may need the first lines alone.
    const isPart = from === undefined && batchBytes !== undefined && current.lines.length > pageLines;
    const lines = current.lines.slice(start, isPart ? pageLines : undefined);
    const at = lines.map((_, index) => start + index);
    const restarted = from !== undefined && from !== storedPosition(undefined) && !isOurs;
    const next = isPart ? (`${current.generation}:${pageLines}` as LogPosition) : storedPosition(current);
    yield {
      lines,
      at,
      next,
      ...(restarted ? { restarted: true as const } : {}),
      ...(last > 0 ? { skipped: true as const } : {}),
    };
    if (isPart) yield* this.read(next);
  }

  async *readBackwards(before: number | undefined): AsyncIterable<Pick<LogBatch, "lines" | "at">> {
    const current = this.#existing();
    let end = Math.min(before ?? current.lines.length, current.lines.length);
    while (end > 0) {
      const start = Math.max(0, end - pageLines);
      const lines = current.lines.slice(start, end);
      yield { lines, at: lines.map((_, index) => start + index) };
      end = start;
    }
  }

  async readAt(places: readonly { readonly at: number }[]): Promise<readonly (Uint8Array | undefined)[]> {
    return places.map(({ at }) => this.#stored.lines[at]?.slice());
  }

  async replace(
    lines: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    expected: LogPosition,
  ): Promise<LogPosition> {
    const next: Uint8Array[] = [];
    for await (const line of lines) next.push(line.slice(0, -1));
    this.#assertEndsAt(expected);
    this.#stored.lines = next;
    this.#stored.generation++;
    this.#stored.modifiedAt = this.#now();
    return storedPosition(this.#stored);
  }

  async erase(changes: readonly LineReplacement[], expected: LogPosition): Promise<LogErasure> {
    const lines = [...this.#stored.lines];
    for (const { at, line } of changes) lines[at] = line.slice(0, -1);
    const position = await this.replace(
      lines.map((line) => withLineFeed(line)),
      expected,
    );
    return { position, removed: [], remaining: [] };
  }

  async delete(): Promise<void> {
    if (this.#logs.get(this.#stored.id) === this.#stored) this.#logs.delete(this.#stored.id);
  }

  async close(): Promise<void> {}

  #existing(): StoredLog {
    // Another session may have the id by now.
    if (this.#logs.get(this.#stored.id) === this.#stored) return this.#stored;
    const { id } = this.#stored;
    throw new SessileError("SESSION_NOT_FOUND", `session ${id} was deleted`, { details: { id } });
  }

  #assertEndsAt(expected: LogPosition): void {
    const actual = storedPosition(this.#existing());
    if (actual === expected) return;
    throw new SessileError("CONCURRENT_WRITER", "another writer came first", {
      details: { expected, actual },
    });
  }
}

/** A log of less than this number of times the wanted bytes is read from its start. */
const leastShare = 4;

/** The first of the lines that have about the last bytes of a log; 0 if the log is not much longer. */
function startOfLast(lines: readonly Uint8Array[], lastBytes: number | undefined): number {
  if (lastBytes === undefined) return 0;
  let bytes = 0;
  let start = lines.length;
  while (start > 0 && bytes < lastBytes) bytes += (lines[--start]?.length ?? 0) + 1;
  let all = bytes;
  for (let at = start; at > 0 && all < leastShare * lastBytes; ) all += (lines[--at]?.length ?? 0) + 1;
  return all < leastShare * lastBytes ? 0 : start;
}
