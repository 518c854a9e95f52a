/** The store of the Claude Agent SDK: a transcript is a session, and each of its lines is an entry. */

import { describe } from "../../core/arguments.js";
import { mapConcurrent, retry } from "../../core/concurrency.js";
import { SessileError } from "../../core/errors/index.js";
import { isRecord } from "../../core/shape.js";
import { entryErasure, ownEntry } from "../../log/internal.js";
import type { EntryDraft, Session, SessionEntry, UnknownEntry } from "../../session/index.js";
import { SessionHandles, type SessionPlace } from "../shared/handles.js";
import { entryId } from "../shared/ids.js";
import { joinedName, nameByKey } from "../shared/names.js";
import { type AdapterOptions, adapterSettings } from "../shared/options.js";
import { isParcel, type PackedValue, type Parcel, Parcels } from "../shared/parcels.js";
import type {
  ClaudeAgentStore,
  ClaudeEntry,
  ClaudeSessionKey,
  ClaudeSummary,
  FoldSessionSummary,
} from "./types.js";

/** Options of {@link claudeAgentStore}. */
export interface ClaudeAgentStoreOptions extends Omit<AdapterOptions, "partition"> {
  /**
   * The SDK's `foldSessionSummary`. With it the SDK lists sessions without loading them. @default none: no
   * summaries
   */
  readonly fold?: FoldSessionSummary;
}

const adapter = "claude-agent";
const maxConcurrentReads = 16;
/** The SDK gives up an append after 60 s, and drops the batch after three failures. */
const maxLockedMs = 20_000;

const lineEntry = ownEntry(`sessile.${adapter}.entry`, (data): { readonly entry: Parcel } => {
  if (isRecord(data) && isParcel(data.entry)) return { entry: data.entry };
  throw new TypeError("data: expected an entry");
});

const summaryEntry = ownEntry(`sessile.${adapter}.summary`, (data): { readonly summary: Parcel } => {
  if (isRecord(data) && isParcel(data.summary)) return { summary: data.summary };
  throw new TypeError("data: expected a summary");
});

/**
 * A `sessionStore` for the Claude Agent SDK: `query({ prompt, options: { sessionStore } })`.
 *
 * A project is a partition, a transcript is a session. Images and other large values go to `blobs`, each
 * once, also if a line has an image twice.
 * @throws TypeError, RangeError for invalid options
 * @example
 * ```ts
 * const sessionStore = claudeAgentStore({ sessions, blobs }); // with `fold: foldSessionSummary` of the SDK
 * // query({ prompt: "Fix the test", options: { sessionStore } })
 * const entries = await sessionStore.load({ projectKey: "-work", sessionId: "6867ccc7" }); // or null
 * ```
 */
export function claudeAgentStore(options: ClaudeAgentStoreOptions): ClaudeAgentStore {
  const settings = adapterSettings(adapter, options);
  const parcels = new Parcels(settings);
  const handles = new SessionHandles(adapter, settings);
  const { fold } = options;
  if (fold !== undefined && typeof fold !== "function")
    throw new TypeError(`fold: expected a function, got ${describe(fold)}`);

  const store: ClaudeAgentStore = {
    async append(key, entries) {
      const place = placeByKey(key);
      if (entries.length === 0) return;
      // The caller may change its entries after the call.
      const copies = entries.map((entry, at) => {
        return { id: readId(entry), packed: parcels.pack(entry, `entries[${at}]`) };
      });
      let lines: readonly Line[] | undefined;
      await whileLocked(() =>
        handles.append(place, async (session) => {
          // In the plan, so that appends with and without blobs keep the order of the calls.
          lines ??= await storeLines(copies);
          const fresh = await newLines(lines, session);
          const drafts = fresh.map(({ id, parcel }): EntryDraft => {
            const draft = lineEntry.draft({ entry: parcel });
            return id === undefined ? draft : { ...draft, id };
          });
          const summary = key.subpath === undefined ? await summaryDraft(session, key, fresh) : [];
          return { drafts: [...drafts, ...summary], done: () => undefined };
        }),
      );
    },

    async load(key) {
      return handles.read(placeByKey(key), async (session) => {
        if (session === undefined) return null;
        const entries = await openLines(await storedLines(session));
        return entries.length === 0 ? null : entries;
      });
    },

    async listSessions(projectKey) {
      const found: { sessionId: string; mtime: number }[] = [];
      for await (const { key, summary } of handles.list(projectPartition(projectKey)))
        found.push({ sessionId: key, mtime: Date.parse(summary.modified) });
      return found;
    },

    async listSubkeys(key) {
      const found: string[] = [];
      for await (const { key: subpath } of handles.list(subagentPartition(key))) found.push(subpath);
      return found;
    },

    async delete(key) {
      const place = placeByKey(key);
      if (key.subpath === undefined) {
        for (const subpath of await store.listSubkeys(key))
          await handles.delete(placeByKey({ ...key, subpath }));
      }
      await handles.delete(place);
    },

    async close() {
      await handles.close();
    },
  };
  if (fold !== undefined) {
    store.listSessionSummaries = async (projectKey) => {
      const summaries: ClaudeSummary[] = [];
      for (const { sessionId, mtime } of await store.listSessions(projectKey)) {
        const data = await handles.read(placeByKey({ projectKey, sessionId }), async (session) =>
          session === undefined ? undefined : lastSummary(session, { projectKey, sessionId }),
        );
        if (data !== undefined) summaries.push({ sessionId, mtime, data });
      }
      return summaries;
    };
  }
  return store;

  /** Stores the blobs of copied entries. */
  async function storeLines(
    copies: readonly { readonly id: string | undefined; readonly packed: PackedValue }[],
  ): Promise<readonly Line[]> {
    const lines: Line[] = [];
    for (const { id, packed } of copies) lines.push({ id, parcel: await parcels.store(packed) });
    return lines;
  }

  /** The summary after these lines, as an entry after them; none if every line was known. */
  async function summaryDraft(
    session: Session | undefined,
    key: ClaudeSessionKey,
    fresh: readonly Line[],
  ): Promise<readonly EntryDraft[]> {
    if (fold === undefined || fresh.length === 0) return [];
    const { sessionId } = key;
    const known = session === undefined ? undefined : await lastSummary(session, key);
    // A transcript of a store without `fold` has no summary: it is folded from its start.
    const earlier = session === undefined || known !== undefined ? [] : await storedLines(session);
    const added = await openLines([...earlier, ...fresh.map(({ parcel }) => parcel)]);
    const previous = known === undefined ? undefined : { sessionId, mtime: 0, data: known };
    const { data } = fold(previous, key, added, { mtime: Date.now() });
    return [summaryEntry.draft({ summary: await parcels.make(data, "summary") })];
  }

  /** The data of the newest summary: the leaf, unless a store without `fold` appended after it. */
  async function lastSummary(
    session: Session,
    key: ClaudeSessionKey,
  ): Promise<Record<string, unknown> | undefined> {
    const { leafId } = session;
    const entry = leafId === null ? undefined : await session.entry(leafId);
    if (fold !== undefined && entry !== undefined && isErasedSummary(entry))
      return fold(undefined, key, await openLines(await storedLines(session)), { mtime: Date.now() }).data;
    const stored = entry && summaryEntry.read(entry);
    return stored && ((await parcels.open(stored.summary)) as Record<string, unknown>);
  }

  async function openLines(lines: readonly Parcel[]): Promise<ClaudeEntry[]> {
    const opened: ClaudeEntry[] = [];
    for await (const entry of mapConcurrent(lines, maxConcurrentReads, (parcel) => parcels.open(parcel)))
      opened.push(entry as ClaudeEntry);
    return opened;
  }
}

function isErasedSummary(entry: SessionEntry | UnknownEntry): boolean {
  const isSummary = entry.type === "custom" && entry.customType === summaryEntry.customType;
  return isSummary && entryErasure(entry) !== undefined;
}

/** A line of a transcript, ready to append. */
interface Line {
  readonly id: string | undefined;
  readonly parcel: Parcel;
}

/** The id of an entry with a uuid, so that it is stored once. */
function readId(entry: ClaudeEntry | undefined): string | undefined {
  const uuid: unknown = entry?.uuid;
  return typeof uuid === "string" && uuid !== "" ? entryId("u", uuid) : undefined;
}

/** The lines whose ids are new. */
async function newLines(lines: readonly Line[], session: Session | undefined): Promise<readonly Line[]> {
  const tree = await session?.tree();
  const seen = new Set<string>();
  return lines.filter(({ id }) => {
    if (id === undefined) return true;
    if (seen.has(id) || tree?.has(id) === true) return false;
    seen.add(id);
    return true;
  });
}

/** The parcels of a transcript, oldest first. */
async function storedLines(session: Session): Promise<readonly Parcel[]> {
  const entries = new Map((await session.path()).map((entry) => [entry.id, entry]));
  return (await session.tree()).path(session.leafId).flatMap(({ id }): readonly Parcel[] => {
    const entry = entries.get(id);
    if (entry === undefined) {
      const message = `the entry ${JSON.stringify(id)} is damaged`;
      throw new SessileError("ENTRY_NOT_FOUND", message, { details: { entryId: id } });
    }
    const stored = lineEntry.read(entry);
    return stored === undefined ? [] : [stored.entry];
  });
}

/** Repeats an append while another process holds the lock. */
function whileLocked<T>(append: () => Promise<T>): Promise<T> {
  return retry(append, {
    waitMs: [150, 150],
    timeoutMs: maxLockedMs,
    again: (error) => SessileError.is(error, "SESSION_LOCKED"),
  });
}

function placeByKey(key: ClaudeSessionKey): SessionPlace {
  const { subpath } = key;
  const sessionId = keyArgument("sessionId", key.sessionId);
  if (subpath === undefined) return { partition: projectPartition(key.projectKey), key: sessionId };
  if (keyArgument("subpath", subpath) === "")
    throw new TypeError("subpath: expected a string that is not empty, got an empty one");
  return { partition: subagentPartition(key), key: subpath };
}

function projectPartition(projectKey: string): string {
  return nameByKey(`${adapter}/${keyArgument("projectKey", projectKey)}`);
}

/** Subagents are in no list of sessions: each session has a partition for them. */
function subagentPartition({ projectKey, sessionId }: ClaudeSessionKey): string {
  return joinedName(adapter, keyArgument("projectKey", projectKey), keyArgument("sessionId", sessionId));
}

/** Any string, also an empty one. */
function keyArgument(name: string, value: unknown): string {
  if (typeof value === "string") return value;
  throw new TypeError(`${name}: expected a string, got ${describe(value)}`);
}
