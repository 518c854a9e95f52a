/**
 * The lines of a rollout in one shape, for every era of Codex: bare items of 0.29, lines with a `payload`
 * since 0.50, and lines with an `ordinal` in 0.169. The first CLI's one JSON object becomes such lines too.
 */

import { isRecord } from "../../core/shape.js";
import { type ForeignObject, readNumber, readObject, readText, toArray } from "../shared/values.js";
import type { ForeignRecord, ForeignSource } from "../types.js";
import { contentTexts, textDirectory } from "./items.js";

/** A line of a rollout. */
export interface RolloutLine {
  /** `session_meta`, `response_item`, `event_msg` and others. */
  readonly type: string;
  readonly payload: ForeignObject;
  /** Beside the payload, since 0.169. */
  readonly metadata: ForeignObject;
  readonly timestamp: unknown;
  /** The number of the line in the thread and the threads that it was forked from. */
  readonly ordinal: number;
  /** Stable under appends and compression. */
  readonly recordId: string;
  readonly record: ForeignRecord;
  /** The members of this library, in lines that it wrote: ids and types. */
  readonly annotation: ForeignObject | undefined;
}

/** The facts in the first `session_meta` of a rollout. */
export interface RolloutMeta {
  readonly id: string;
  readonly cwd: string | undefined;
  readonly timestamp: unknown;
  readonly version: string | undefined;
  readonly provider: string | undefined;
  readonly forkedFrom: string | undefined;
  /** The point at which a fork or a reverted thread continues. */
  readonly base: { readonly threadId: string; readonly end: number } | undefined;
  /** The thread of the agent that started this one. */
  readonly parentThread: string | undefined;
}

/** The file of a rollout. Its lines are parsed once, and kept only if it is the base of another one. */
export class Rollout {
  readonly path: string;
  readonly meta: RolloutMeta | undefined;
  /** The directory that the environment names, for files whose first line has none. */
  readonly directory: string | undefined;
  isShared = false;
  readonly #head: readonly RolloutLine[];
  readonly #rest: Iterator<RolloutLine>;
  #all: readonly RolloutLine[] | undefined;

  constructor(path: string, source: ForeignSource) {
    this.path = path;
    this.#rest = linesIn(path, source);
    const head: RolloutLine[] = [];
    for (let next = this.#rest.next(); !next.done; next = this.#rest.next()) {
      head.push(next.value);
      // A cut file may have no first line, and before 0.50 the second names the directory.
      const isWhole = next.value.type === "session_meta" && next.value.payload.cwd !== undefined;
      if (isWhole || head.length === maxHead) break;
    }
    this.#head = head;
    this.directory = head.map(directoryIn).find((cwd) => cwd !== undefined);
    this.meta = lineMeta(head.find(({ type }) => type === "session_meta"));
  }

  *lines(): Generator<RolloutLine> {
    if (this.#all !== undefined) {
      yield* this.#all;
      return;
    }
    if (this.isShared) {
      this.#all = [...this.#head, ...this.#remaining()];
      yield* this.#all;
      return;
    }
    yield* this.#head;
    yield* this.#remaining();
  }

  *#remaining(): Generator<RolloutLine> {
    for (let next = this.#rest.next(); !next.done; next = this.#rest.next()) yield next.value;
  }
}

const maxHead = 10;

function* linesIn(path: string, source: ForeignSource): Generator<RolloutLine> {
  let ordinal = 0;
  for (const record of recordsIn(path, source)) {
    const line = recordLine(record, ordinal);
    ordinal = line.ordinal + 1;
    yield line;
  }
}

/** The records of JSON Lines, or those in the first CLI's object. */
function* recordsIn(path: string, source: ForeignSource): Generator<ForeignRecord> {
  if (source.files.find((file) => file.path === path)?.form === "value") {
    yield* itemsOfFirstCli(path, readObject(source.json(path)) ?? {});
    return;
  }
  for (const record of source.records(path)) {
    if (isRecord(record.value.session) && Array.isArray(record.value.items)) {
      yield* itemsOfFirstCli(path, record.value);
    } else yield record;
  }
}

function* itemsOfFirstCli(file: string, { session, items }: ForeignObject): Generator<ForeignRecord> {
  let line = 1;
  const meta = readObject(session);
  if (meta !== undefined) yield { file, line, value: { type: "session_meta", payload: meta } };
  for (const item of toArray(items)) {
    line++;
    const value = readObject(item);
    if (value !== undefined) yield { file, line, value };
  }
}

function recordLine(record: ForeignRecord, next: number): RolloutLine {
  const { value, line, part } = record;
  const { timestamp } = value;
  const { type, payload } = typedPayload(value);
  return {
    type,
    payload,
    metadata: readObject(value.metadata) ?? {},
    // Some writers count seconds.
    timestamp: typeof timestamp === "number" && timestamp < 1e11 ? timestamp * 1000 : timestamp,
    ordinal: readNumber(value.ordinal) ?? next,
    recordId: part === undefined ? String(line) : `${line}.${part}`,
    record,
    annotation: readObject(value.sessile),
  };
}

function typedPayload(value: ForeignObject): { readonly type: string; readonly payload: ForeignObject } {
  const type = readText(value.type);
  const payload = readObject(value.payload);
  if (payload !== undefined) return { type: type ?? "unknown", payload: asItem(type, payload) };
  if (value.record_type !== undefined) return { type: "state", payload: value };
  if (type !== undefined || value.role !== undefined) {
    return { type: "response_item", payload: asItem("response_item", value) };
  }
  const isMeta = typeof value.id === "string" && value.timestamp !== undefined;
  return { type: isMeta ? "session_meta" : "unknown", payload: value };
}

/** An item without a type, of the first CLI, is a message. */
function asItem(type: string | undefined, payload: ForeignObject): ForeignObject {
  return type === "response_item" && payload.type === undefined && payload.role !== undefined
    ? { ...payload, type: "message" }
    : payload;
}

function directoryIn({ type, payload }: RolloutLine): string | undefined {
  return type === "response_item" && payload.role === "user"
    ? textDirectory(contentTexts(payload.content))
    : undefined;
}

function lineMeta(line: RolloutLine | undefined): RolloutMeta | undefined {
  if (line === undefined) return undefined;
  const { payload } = line;
  const base = readObject(payload.history_base);
  const baseThread = readText(base?.thread_id);
  const end = readNumber(base?.end_ordinal_exclusive);
  const spawn = readObject(readObject(readObject(payload.source)?.subagent)?.thread_spawn);
  return {
    id: readText(payload.id) ?? "",
    cwd: readText(payload.cwd),
    timestamp: payload.timestamp ?? line.timestamp,
    version: readText(payload.cli_version),
    provider: readText(payload.model_provider),
    forkedFrom: readText(payload.forked_from_id),
    base: baseThread === undefined || end === undefined ? undefined : { threadId: baseThread, end },
    parentThread: readText(payload.parent_thread_id) ?? readText(spawn?.parent_thread_id),
  };
}
