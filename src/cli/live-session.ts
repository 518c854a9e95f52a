/** A session that another program writes: read again after its files changed, with the changes by version. */

import { stat } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import { type ChangedSource, type KeyedSource, keyedSources } from "../viewer/internal.js";
import type { NamedSession } from "./named-session.js";
import type { Viewed } from "./viewed.js";

/** How a live session is read. */
export interface LiveSource {
  /** Finds the files of the session. */
  locate(): Promise<NamedSession>;
  read(named: NamedSession): Promise<Viewed>;
  /** Milliseconds since 1970. */
  now(): number;
}

/** A change of one session. */
interface Change {
  readonly version: number;
  /** The entries that stayed. */
  readonly from: number;
}

/** The interval of searches for files of subagents in other folders. */
const locateMs = 5000;

/** The session as it was read last. */
export class LiveSession {
  readonly #source: LiveSource;
  #named: NamedSession | undefined;
  #located = Number.NEGATIVE_INFINITY;
  #viewed: Viewed | undefined;
  #files = "";
  #sessions: readonly KeyedSource[] = [];
  /** By key. Rising in both members: a change covers all earlier ones that kept as much or more. */
  readonly #changes = new Map<string, Change[]>();
  #version = 0;
  #reading: Promise<void> = Promise.resolve();

  constructor(source: LiveSource) {
    this.#source = source;
  }

  /** Grows with each change. */
  get version(): number {
    return this.#version;
  }

  /** Reads the session again if its files changed. Calls wait for each other. */
  async read(): Promise<Viewed> {
    const reading = this.#reading.then(() => this.#refresh());
    this.#reading = reading.catch(() => {});
    await reading;
    return this.#viewed as Viewed;
  }

  /** The sessions that changed after a version, each with the number of entries that stayed. */
  changes(after: number): readonly ChangedSource[] {
    return this.#sessions.flatMap((keyed) => {
      const since = this.#changes.get(keyed.key)?.filter(({ version }) => version > after) ?? [];
      const from = since.reduce((least, change) => Math.min(least, change.from), Number.POSITIVE_INFINITY);
      return since.length === 0 ? [] : [{ ...keyed, from }];
    });
  }

  async #refresh(): Promise<void> {
    const named = await this.#locate();
    const files = await this.#state(named);
    if (this.#viewed !== undefined && files === this.#files) return;
    const before = this.#viewed?.files;
    const viewed = await this.#source.read(named);
    this.#viewed = viewed;
    // A file that grew meanwhile differs from the state before, so that it is read again; so is a new list.
    this.#files = isDeepStrictEqual(viewed.files, before) ? files : "";
    this.#compare(keyedSources(viewed.source));
  }

  async #locate(): Promise<NamedSession> {
    const isDue = this.#viewed?.lacksChildren === true && this.#source.now() > this.#located + locateMs;
    if (this.#named === undefined || isDue) {
      this.#named = await this.#source.locate();
      this.#located = this.#source.now();
    }
    return this.#named;
  }

  async #state({ currentFiles, path }: NamedSession): Promise<string> {
    const names = (await currentFiles?.()) ?? this.#viewed?.files ?? [path];
    const stats = await Promise.all(names.map((each) => stat(each).catch(() => undefined)));
    return names.map((name, at) => `${name} ${stats[at]?.size} ${stats[at]?.mtimeMs}`).join();
  }

  #compare(sessions: readonly KeyedSource[]): void {
    const before = new Map(this.#sessions.map((keyed) => [keyed.key, keyed.source]));
    this.#sessions = sessions;
    const version = this.#version + 1;
    for (const { key, source } of sessions) {
      const known = before.get(key);
      const from = known === undefined ? 0 : commonLength(known.entries, source.entries);
      const isSame =
        known !== undefined &&
        from === known.entries.length &&
        from === source.entries.length &&
        known.leafId === source.leafId;
      if (isSame) continue;
      this.#version = version;
      const changes = this.#changes.get(key) ?? [];
      while ((changes.at(-1)?.from ?? -1) >= from) changes.pop();
      changes.push({ version, from });
      this.#changes.set(key, changes);
    }
  }
}

/** The number of entries at the start that are equal: an agent may complete or rewrite the last ones. */
function commonLength(before: readonly unknown[], now: readonly unknown[]): number {
  const most = Math.min(before.length, now.length);
  for (let at = 0; at < most; at++) if (!isDeepStrictEqual(before[at], now[at])) return at;
  return most;
}
