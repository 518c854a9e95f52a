/** A store of sessions on a backend. */

import { assertHas, assertOptions } from "../../core/arguments.js";
import { SessileError } from "../../core/errors/index.js";
import { canonicalPath, nameArgument, sideKinds, uuidv7 } from "../../core/ids.js";
import { observed, observedItems } from "../../core/operations.js";
import {
  formatVersion,
  headerVersion,
  missingHeaderError,
  type SessionInfoFields,
} from "../../log/internal.js";
import type { LogPosition, SessionBackend, SessionLog } from "../api/backend.js";
import { Events } from "../api/events.js";
import type { RecentOptions, RecentPage, Session } from "../api/session.js";
import type {
  AdoptableSession,
  AdoptOptions,
  ForkOptions,
  SearchHit,
  SearchQuery,
  SessionQuery,
  SessionRef,
  SessionStore,
  SessionStoreEventMap,
  SessionSummary,
} from "../api/store.js";
import { type SessionSettings, type SessionStoreOptions, settingsFrom } from "../runtime/loaded-log.js";
import { headerLine } from "../runtime/log-lines.js";
import { recentOfLog } from "../runtime/recent.js";
import { checkRecordingOptions, type RecordingOptions } from "../runtime/recording.js";
import { LiveSession } from "../runtime/session.js";
import { type SessionState, sessionState } from "../runtime/session-state.js";
import { deleteSideLogs } from "../runtime/side-log.js";
import {
  type CreateOptions,
  cwdArgument,
  type Mutable,
  newHeader,
  notFoundError,
  type OpenOptions,
  partitionKey,
  readPartition,
  refArgument,
} from "./arguments.js";
import { clockErrorMs, listSessions } from "./list.js";

/**
 * Creates a store on a backend.
 * @param backend stores the lines; see {@link SessionBackend}
 * @throws RangeError for an option out of range
 */
export function sessionStore(backend: SessionBackend, options: SessionStoreOptions = {}): SessionStore {
  assertHas("backend", backend, ["open", "create", "list"], "a backend of sessions");
  return new BackedStore(backend, options);
}

/** A session on a log. */
export async function openLog(
  backend: SessionBackend,
  log: SessionLog,
  options: SessionStoreOptions & { readonly mode?: "read" | "write" },
  whole = true,
): Promise<LiveSession> {
  try {
    const store = new BackedStore(backend, options);
    return await store.openLog(log, options.mode ?? "read", "", undefined, whole);
  } catch (error) {
    await log.close();
    throw error;
  }
}

/** The number of sessions whose titles a fork does not repeat, newest first: a fork must not read a whole store. */
const maxTitles = 256;

/** The lines of a new session after its header. */
type NewLines = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** A new session that is not open. */
interface Created {
  readonly state: SessionState;
  readonly partition: string;
}

class BackedStore implements SessionStore {
  readonly backend: SessionBackend;
  readonly #settings: SessionSettings;
  readonly #newSessionId: (now: number) => string;
  readonly #events = new Events<SessionStoreEventMap & { error: unknown }>();
  /** The number of forks under way, and their titles. */
  #forks = 0;
  readonly #forkTitles = new Set<string>();
  /** Open sessions by partition and id, to notify of a deletion. */
  readonly #open = new Map<string, Set<SessionState>>();

  constructor(backend: SessionBackend, options: SessionStoreOptions) {
    this.backend = backend;
    this.#newSessionId = options.newSessionId ?? uuidv7;
    this.#settings = settingsFrom(options);
  }

  async create(options: CreateOptions): Promise<Session> {
    return this.#observed("create", async () => {
      assertOptions(options, "{ cwd }");
      const cwd = await this.#directory(options.cwd);
      const { state, partition } = await this.#createState({ ...options, cwd });
      return this.#live(state, partition);
    });
  }

  async open(session: SessionRef, options: OpenOptions = {}): Promise<Session> {
    return this.#observed("open", () =>
      this.#openSession(session, options, this.#settingsFor(options), false),
    );
  }

  async #openSession(
    session: SessionRef,
    options: OpenOptions,
    settings = this.#settingsFor(options),
    whole = true,
  ): Promise<LiveSession> {
    const { id, location } = refArgument(session);
    const { mode = "read" } = options;
    if (mode !== "read" && mode !== "write")
      throw new TypeError(`mode: expected "read" or "write", got ${String(mode)}`);
    const partition = readPartition(options.partition);
    const log = await this.backend.open(id, { partition, mode, location });
    if (log === undefined) throw notFoundError(id, location);
    try {
      return await this.openLog(log, mode, partition, settings, whole);
    } catch (error) {
      await log.close();
      throw error;
    }
  }

  /** Opens a session on an existing log. @param whole whether all entries will be asked for */
  async openLog(
    log: SessionLog,
    mode: "read" | "write",
    partition: string,
    settings = this.#settings,
    whole = true,
  ): Promise<LiveSession> {
    let state = sessionState(log, settings, mode);
    await state.load(whole);
    const { header, lines } = state.reader;
    if (header === undefined) throw missingHeaderError(log.location ?? "", lines);
    if (state.writable) {
      // Only now, because a file that is not a session, or is of a newer version, must stay untouched.
      await log.prepare?.(state.endsOpen);
      if (state.endsOpen) {
        state = sessionState(log, settings, mode);
        await state.load(whole);
      }
    }
    const session = this.#live(state, partition);
    if (state.writable && headerVersion(header) < formatVersion && log.replace !== undefined) {
      state.requireMigration(async () => (await import("./copy.js")).migrate(session, state));
      // A lock does not prevent opening: the migration then precedes the first write.
      await state.migrate?.().catch((error: unknown) => {
        if (!SessileError.is(error, "SESSION_LOCKED")) throw error;
      });
    }
    return session;
  }

  async recent(
    session: SessionRef,
    options: RecentOptions & { readonly partition?: string } = {},
  ): Promise<RecentPage> {
    const { id, location } = refArgument(session);
    const partition = readPartition(options.partition);
    const settings: SessionSettings = { ...this.#settings, onOperation: undefined };
    return this.#observed("recent", async () => {
      const log = await this.backend.open(id, { partition, mode: "read", location });
      if (log === undefined) throw notFoundError(id, location);
      return recentOfLog(log, options, settings.maxDepth, () =>
        this.openLog(log, "read", partition, settings),
      );
    });
  }

  async *list(query: SessionQuery = {}): AsyncIterable<SessionSummary> {
    const { onOperation } = this.#settings;
    const listed = this.#list(query);
    yield* onOperation === undefined ? listed : observedItems(onOperation, "list", listed);
  }

  async *#list(query: SessionQuery): AsyncIterable<SessionSummary> {
    const partition = readPartition(query.partition);
    yield* listSessions(this.backend, query, {
      partition,
      skipped: (location, error) => this.#events.emit("skipped", { location, error }),
      open: (summary) => this.#openSession(summary, { partition }),
    });
  }

  async *search(query: SearchQuery): AsyncIterable<SearchHit> {
    assertOptions(query, "{ text }");
    const settings: SessionSettings = { ...this.#settings, onOperation: undefined };
    const partition = readPartition(query.partition);
    const { searchSessions } = await import("./search.js");
    const found = searchSessions(this.backend, query, {
      partition,
      skipped: (location, error) => this.#events.emit("skipped", { location, error }),
      open: (log) => this.openLog(log, "read", partition, settings),
    });
    const { onOperation } = this.#settings;
    yield* onOperation === undefined ? found : observedItems(onOperation, "search", found);
  }

  async *partitions(): AsyncIterable<string> {
    if (this.backend.partitions === undefined)
      throw new TypeError("partitions: this backend does not list its partitions");
    yield* this.backend.partitions();
  }

  async latest(query: Omit<SessionQuery, "limit" | "after"> = {}): Promise<SessionSummary | undefined> {
    // A session of a clock that was wrong would be the newest until its time comes.
    const latest = this.#settings.now() + clockErrorMs;
    let ahead: SessionSummary | undefined;
    for await (const summary of this.list({ archived: false, ...query })) {
      if (Date.parse(summary.modified) <= latest) return summary;
      ahead ??= summary;
    }
    return ahead;
  }

  async fork(session: SessionRef, options: ForkOptions = {}): Promise<Session> {
    return this.#observed("fork", () => this.#fork(session, options));
  }

  async #fork(session: SessionRef, options: ForkOptions): Promise<Session> {
    const { partition, toPartition = partition } = options;
    const { checkForkOptions, planFork } = await import("./copy.js");
    checkForkOptions(options);
    readPartition(toPartition, "toPartition");
    const source = await this.#openSession(session, { partition: readPartition(partition) });
    this.#forks++;
    try {
      const { lines, info, inBytes } = await planFork(
        source,
        options,
        () => this.#newestTitles(readPartition(toPartition), options.cwd ?? source.header.cwd),
        this.#forkTitles,
      );
      return await this.#copy(source, lines, { ...options, partition: toPartition }, info, inBytes);
    } finally {
      // A fork that began before this one ended may have listed the titles without its.
      if (--this.#forks === 0) this.#forkTitles.clear();
      await source.close();
    }
  }

  /** The titles and names of the sessions of a project that changed last. */
  async #newestTitles(partition: string, cwd: string): Promise<readonly string[]> {
    const titles: string[] = [];
    const source = {
      partition,
      skipped: () => undefined,
      open: () => Promise.reject(new Error("no counts")),
    };
    for await (const { title, name } of listSessions(this.backend, { cwd, limit: maxTitles }, source)) {
      if (title !== undefined) titles.push(title);
      if (name !== undefined) titles.push(name);
    }
    return titles;
  }

  async adopt(session: AdoptableSession, options: AdoptOptions = {}): Promise<Session> {
    return this.#observed("adopt", async () => {
      const writing = { ...options, partition: readPartition(options.partition), mode: "write" } as const;
      // The parts of an adoption are no operations of their own.
      const settings: Mutable<SessionSettings> = { ...this.#settingsFor(options), onOperation: undefined };
      const { adoptSession } = await import("./copy.js");
      const opened = await adoptSession(session, options, {
        create: async (header, lines) => void (await this.#write({ ...writing, ...header }, lines)),
        open: (id) => this.#openSession(id, writing, settings),
      });
      settings.onOperation = this.#settings.onOperation;
      return opened;
    });
  }

  async delete(session: SessionRef, options: { readonly partition?: string } = {}): Promise<boolean> {
    return this.#observed("delete", () => this.#delete(session, options));
  }

  async #delete(session: SessionRef, options: { readonly partition?: string }): Promise<boolean> {
    const { id, location } = refArgument(session);
    const partition = readPartition(options.partition);
    const deleted = await this.backend.delete(id, { partition, location });
    // Also of a session that is gone: an earlier call may have come this far.
    await deleteSideLogs(this.backend, id, { partition, location }, sideKinds);
    if (!deleted) return false;
    for (const state of this.#open.get(partitionKey(partition, id)) ?? []) {
      if (location === undefined || state.log.location === location) state.events.emit("deleted", { id });
    }
    this.#events.emit("deleted", { id });
    return true;
  }

  async archive(
    session: SessionRef,
    options: { readonly archived?: boolean; readonly partition?: string } = {},
  ): Promise<Session["info"]> {
    return this.#observed("archive", async () => {
      const writing = { mode: "write", partition: readPartition(options.partition) } as const;
      const opened = await this.#openSession(session, writing, { ...this.#settings, onOperation: undefined });
      try {
        const archivedAt = (options.archived ?? true) ? new Date(this.#settings.now()).toISOString() : null;
        return await opened.updateInfo({ archivedAt });
      } finally {
        await opened.close();
      }
    });
  }

  on<E extends keyof SessionStoreEventMap>(
    event: E,
    listener: (payload: SessionStoreEventMap[E]) => void,
  ): () => void {
    return this.#events.on(event, listener as (payload: unknown) => void);
  }

  #settingsFor(options: RecordingOptions): SessionSettings {
    const { blobs, inline, truncate } = options;
    if (blobs === undefined && inline === undefined && truncate === undefined) return this.#settings;
    return { ...this.#settings, recording: checkRecordingOptions(options, this.#settings.recording) };
  }

  #observed<T>(name: string, act: () => Promise<T>): Promise<T> {
    const { onOperation } = this.#settings;
    return onOperation === undefined ? act() : observed(onOperation, name, act);
  }

  async #createState(options: CreateOptions): Promise<Created> {
    const now = this.#settings.now();
    const id = nameArgument("id", options.id ?? this.#newSessionId(now));
    const partition = readPartition(options.partition);
    const settings = this.#settingsFor(options);
    const header = newHeader(id, { timestamp: new Date(now).toISOString(), ...options });
    const { log, position } = await this.backend.create({
      id,
      partition,
      cwd: header.cwd,
      timestamp: header.timestamp,
    });
    const state = sessionState(log, settings, "write", { header, position });
    return { state, partition };
  }

  /** The directory of a new session, without links: the one that it works in, if a link changes later too. */
  async #directory(cwd: unknown): Promise<string> {
    const given = cwdArgument(cwd);
    const resolved = (await this.backend.resolveDirectory?.(given)) ?? given;
    return canonicalPath(resolved) === canonicalPath(given) ? given : resolved;
  }

  #live(state: SessionState, partition: string): LiveSession {
    const session = new LiveSession(state, { backend: this.backend, partition }, (source, leafId, options) =>
      this.#extract(source, leafId, options, partition),
    );
    const { id } = state.header;
    const key = partitionKey(partition, id);
    const open = this.#open.get(key) ?? new Set<SessionState>();
    this.#open.set(key, open.add(state));
    state.events.on("created", () => {
      this.#events.emit("created", { id });
      // Entries that were staged for the first message.
      if (Object.keys(state.reader.info).length > 0) this.#events.emit("updated", { id, info: state.info });
    });
    state.events.on("updated", ({ info }) => {
      if (state.exists) this.#events.emit("updated", { id, info });
    });
    state.events.on("closed", () => {
      open.delete(state);
      if (open.size === 0 && this.#open.get(key) === open) this.#open.delete(key);
    });
    return session;
  }

  async #extract(
    source: LiveSession,
    leafId: string,
    options: { readonly cwd?: string; readonly id?: string },
    partition: string,
  ): Promise<Session> {
    const { pathLines } = await import("./copy.js");
    const lines = await pathLines(source, leafId, this.#settings);
    const { recording } = source.source.settings;
    return this.#copy(source, lines, { ...options, ...recording, partition });
  }

  /** Creates a session with these lines, copied as bytes if possible. */
  async #copy(
    source: LiveSession,
    lines: NewLines,
    options: Partial<CreateOptions>,
    info?: SessionInfoFields,
    inBytes?: (log: SessionLog, first: Uint8Array) => Promise<boolean>,
  ): Promise<Session> {
    const { cwd, id } = options;
    const created = {
      // The directory of the source, which another program wrote, may be invalid.
      cwd: cwd === undefined ? source.header.cwd : await this.#directory(cwd),
      id,
      partition: options.partition,
      parentSession: source.location ?? source.id,
      ...checkRecordingOptions(options),
    };
    const { state, partition } = await this.#write(created, () => lines, inBytes);
    // Its title is a part of the copy, and no operation of its own.
    const settings: Mutable<SessionSettings> = { ...state.settings, onOperation: undefined };
    const copy = { id: state.header.id, location: state.log.location };
    const session = await this.#openSession(copy, { mode: "write", partition }, settings);
    if (info !== undefined) await session.updateInfo(info);
    settings.onOperation = state.settings.onOperation;
    return session;
  }

  /** Creates a session and writes its first lines. It is opened from the store, so that it shows what is written. */
  async #write(
    options: CreateOptions,
    stateLines: (state: SessionState) => NewLines | Promise<NewLines>,
    inBytes?: (log: SessionLog, first: Uint8Array) => Promise<boolean>,
  ): Promise<Created> {
    const created = await this.#createState(options);
    const { log, header, position } = created.state;
    try {
      const batch = [headerLine(header, created.state)] as [Uint8Array, ...Uint8Array[]];
      if (!(await inBytes?.(log, batch[0]))) {
        for await (const line of await stateLines(created.state)) batch.push(line);
        await log.append(batch, position as LogPosition);
      }
    } finally {
      await log.close();
    }
    this.#events.emit("created", { id: header.id });
    return created;
  }
}
