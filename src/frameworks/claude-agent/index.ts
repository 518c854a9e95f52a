/**
 * The Claude Agent SDK without Node's modules: a session as its user messages, and its store, in which a
 * transcript is a session, and each of its lines a message, or a value beside them.
 */

import { toolCalls } from "../../content/index.js";
import type { LimitProfile } from "../../content/limits/index.js";
import { anthropic as anthropicLimits } from "../../content/limits/internal.js";
import { describe, oneOfOption } from "../../core/arguments.js";
import { mapConcurrent, retry } from "../../core/concurrency.js";
import { SessileError } from "../../core/errors/index.js";
import { isRecord } from "../../core/shape.js";
import { entryErasure, ownEntry } from "../../log/internal.js";
import type { Target } from "../../providers/index.js";
import {
  type ClaudeShownBlock,
  claudeMedia,
  claudeShownBlock,
  textCallRules,
  toTranscript,
} from "../../providers/internal.js";
import type { EntryDraft, Session, SessionEntry, UnknownEntry } from "../../session/index.js";
import {
  type AdapterOptions,
  adapterSettings,
  joinedName,
  nameByKey,
  SessionHandles,
  type SessionPlace,
} from "../shared/handles.js";
import { eachMessage, MessageValues, type PathValue } from "../shared/message-values.js";
import { entryId, isParcel, type Parcel, Parcels } from "../shared/parcels.js";
import { type LinePlace, lineForm, linkedLine, placeAfter } from "./lines.js";

// The target of user messages for the Claude Agent SDK.

/**
 * A user message of the Claude Agent SDK. Assignable to `SDKUserMessage` of @anthropic-ai/claude-agent-sdk.
 */
export interface ClaudeAgentMessage {
  type: "user";
  message: { role: "user"; content: ClaudeShownBlock[] };
  parent_tool_use_id: null;
  session_id: string;
}

/** Options of {@link claudeAgentMessages}. */
export interface ClaudeAgentMessagesOptions {
  /** The agent's session id. Default "", as the SDK itself sends it if the prompt is a string. */
  readonly sessionId?: string;
  /**
   * `latest`: the user's content since the model's last message, for a session that the agent itself has.
   * `transcript`: the whole conversation as text, for a new session. Default `latest`.
   */
  readonly history?: "latest" | "transcript";
  /** Default `limitProfiles.anthropic`. */
  readonly profile?: LimitProfile;
  /** One of the profile's; default its first, Anthropic's own API. */
  readonly transport?: string;
  /** Tokens; without it limits of models with a small one count. */
  readonly contextWindow?: number;
}

/**
 * Projects a turn for the Claude Agent SDK: one message with text, images and documents. The agent keeps its
 * own history and instructions. Earlier turns are repeated only if a transcript is asked for.
 *
 * @throws TypeError if `sessionId` is no string or `history` is not one of the two.
 * @example
 * ```ts
 * const target = claudeAgentMessages({ sessionId: "5f0c" });
 * const { value } = await project(contextFrom([userMessage("hi")]), target);
 * const prompt = (async function* () { yield* value; })();
 * // for await (const event of query({ prompt })) …
 * value.length; // 1
 * ```
 * @see sdk.d.ts of @anthropic-ai/claude-agent-sdk (stored copy read 2026-11-21)
 */
export function claudeAgentMessages(options: ClaudeAgentMessagesOptions = {}): Target<ClaudeAgentMessage[]> {
  const { sessionId = "", profile = anthropicLimits, contextWindow } = options;
  const { transport = profile.transports[0] } = options;
  if (typeof sessionId !== "string") {
    throw new TypeError(`sessionId: expected a string, got ${describe(sessionId)}`);
  }
  const history = oneOfOption("history", options.history, ["latest", "transcript"]);
  return {
    name: "claude-agent",
    model: { provider: "claude-agent", model: "none" },
    accepts: { user: claudeMedia, toolResult: claudeMedia },
    rules: { ...(history === "latest" ? { history } : {}), ...textCallRules },
    limits: { profile, transport, ...(contextWindow === undefined ? {} : { contextWindow }) },
    embedsBase64: true,
    // No trace: the API counts the turns of the agent's own history, so its error paths do not refer to these
    // messages.
    render: (request) => {
      const pieces = toTranscript(request, history === "transcript");
      const content = pieces.map(({ text, part }): ClaudeShownBlock => {
        return text === undefined ? claudeShownBlock(part) : { type: "text", text };
      });
      const message = { role: "user" as const, content };
      return [{ type: "user", message, parent_tool_use_id: null, session_id: sessionId }];
    },
  };
}

// The types of the Claude Agent SDK that the store needs, structurally. A test compares them with the
// official ones.

/** The key of a transcript. */
type ClaudeSessionKey = {
  projectKey: string;
  sessionId: string;
  /** The transcript of a subagent; absent for the main transcript. */
  subpath?: string;
};

/** A line of a transcript. */
export type ClaudeEntry = {
  type: string;
  /** An entry with the uuid of a stored one is ignored. */
  uuid?: string;
  timestamp?: string;
  [key: string]: unknown;
};

/** The summary of a main transcript, for lists. Its data belong to the SDK. */
type ClaudeSummary = {
  sessionId: string;
  /** Milliseconds since 1970. */
  mtime: number;
  data: Record<string, unknown>;
};

/** The SDK's `foldSessionSummary`. */
type FoldSessionSummary = (
  previous: ClaudeSummary | undefined,
  key: ClaudeSessionKey,
  entries: ClaudeEntry[],
  options?: { mtime?: number },
) => ClaudeSummary;

/** A `sessionStore` for `query` and the SDK's functions on sessions. */
export interface ClaudeAgentStore {
  /**
   * Appends entries, all or none; no entries make no transcript. A repeated append adds only the entries
   * without a uuid again.
   * @throws SessileError INVALID_ENTRY naming the member that cannot be stored; SESSION_LOCKED after 20 s;
   *   nothing was written
   */
  append(key: ClaudeSessionKey, entries: ClaudeEntry[]): Promise<void>;
  /**
   * The entries in the order of their appends, as new objects; null without any.
   * @throws SessileError BLOB_CORRUPT, ENTRY_NOT_FOUND if an entry is damaged
   */
  load(key: ClaudeSessionKey): Promise<ClaudeEntry[] | null>;
  /** The main transcripts of a project, last modified first. */
  listSessions(projectKey: string): Promise<{ sessionId: string; mtime: number }[]>;
  /**
   * The summaries of a project's main transcripts. Absent without `fold`: the SDK then loads every
   * transcript.
   */
  listSessionSummaries?(projectKey: string): Promise<ClaudeSummary[]>;
  /** The subpaths of a session. */
  listSubkeys(key: { projectKey: string; sessionId: string }): Promise<string[]>;
  /**
   * Deletes a transcript; a main transcript after those of its subagents. Blobs go with a later collection.
   */
  delete(key: ClaudeSessionKey): Promise<void>;
  /** Releases the open sessions. A later call opens them again. */
  close(): Promise<void>;
}

// The store of the Claude Agent SDK: a transcript is a session, and each of its lines is an entry.

/** Options of {@link claudeAgentStore}. */
interface ClaudeAgentStoreOptions extends Omit<AdapterOptions, "partition"> {
  /**
   * The SDK's `foldSessionSummary`. With it the SDK lists sessions without loading them. @default none: no
   * summaries
   */
  readonly fold?: FoldSessionSummary;
}

const adapter = "claude-agent";
/** The SDK gives up an append after 60 s, and drops the batch after three failures. */
const maxLockedMs = 20_000;

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
      const copies = entries.map((entry, at): Line => {
        return { id: readId(entry), value: parcels.copy(entry, `entries[${at}]`) };
      });
      const stored = new Map<Line, readonly EntryDraft[]>();
      await whileLocked(() =>
        handles.append(place, async (session) => {
          // In the plan, so that appends with and without blobs keep the order of the calls.
          const fresh = await newLines(copies, session);
          const values = valuesWith(await toolNames(fresh, session));
          const drafts: EntryDraft[] = [];
          for (const line of fresh) {
            const made = stored.get(line) ?? (await values.drafts(line.value, { id: line.id }));
            stored.set(line, made);
            for (const draft of made) drafts.push(draft);
          }
          const summary = key.subpath === undefined ? await summaryDraft(session, key, fresh) : [];
          return { drafts: [...drafts, ...summary], done: () => undefined };
        }),
      );
    },

    async load(key) {
      return handles.read(placeByKey(key), async (session) => {
        if (session === undefined) return null;
        const entries = await storedLines(session, key);
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

  function valuesWith(names: ReadonlyMap<string, string>): MessageValues {
    return new MessageValues({ of: adapter, form: lineForm(names), parcels, blobs: settings.blobs });
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
    const earlier = session === undefined || known !== undefined ? [] : await storedLines(session, key);
    const added = [...earlier, ...(structuredClone(fresh.map(({ value }) => value)) as ClaudeEntry[])];
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
      return fold(undefined, key, await storedLines(session, key), { mtime: Date.now() }).data;
    const stored = entry && summaryEntry.read(entry);
    return stored && ((await parcels.open(stored.summary)) as Record<string, unknown>);
  }

  /** The lines of a transcript, oldest first. Throws ENTRY_NOT_FOUND if one is damaged. */
  async function storedLines(session: Session, { sessionId }: ClaudeSessionKey): Promise<ClaudeEntry[]> {
    const path = await session.path();
    const known = new Set(path.flatMap(({ id, type }) => (type === "unknown" ? [] : [id])));
    for (const { id } of (await session.tree()).path(session.leafId)) {
      if (known.has(id)) continue;
      const message = `the entry ${JSON.stringify(id)} is damaged`;
      throw new SessileError("ENTRY_NOT_FOUND", message, { details: { entryId: id } });
    }
    const values = valuesWith(new Map());
    const lines: ClaudeEntry[] = [];
    let place: LinePlace = { sessionId, cwd: session.header.cwd, parentUuid: null };
    const read = async (value: PathValue) => {
      const other = value.id === undefined ? value.entries[0] : undefined;
      return { other, own: await values.load([value]) };
    };
    for await (const { other, own } of mapConcurrent(eachLine(values.values(path)), maxConcurrentReads, read))
      for (const line of own) {
        const linked = other === undefined ? line : linkedLine(line, other, place);
        lines.push(linked as ClaudeEntry);
        place = placeAfter(linked, place);
      }
    return lines;
  }
}

function isErasedSummary(entry: SessionEntry | UnknownEntry): boolean {
  const isSummary = entry.type === "custom" && entry.customType === summaryEntry.customType;
  return isSummary && entryErasure(entry) !== undefined;
}

/** A line of a transcript, a copy. */
interface Line {
  readonly id: string | undefined;
  readonly value: unknown;
}

const maxConcurrentReads = 16;

/** The values of lines: other messages each alone, but for the results of one reply, which are one line. */
function eachLine(values: readonly PathValue[]): readonly PathValue[] {
  const found: PathValue[] = [];
  for (const value of values.flatMap(eachMessage)) {
    const last = found.at(-1);
    if (last === undefined || !isOtherResult(last) || !isOtherResult(value)) found.push(value);
    else found[found.length - 1] = { id: undefined, entries: [...last.entries, ...value.entries] };
  }
  return found;
}

function isOtherResult({ id, entries: [first] }: PathValue): boolean {
  return id === undefined && first?.type === "message" && first.message.role === "toolResult";
}

/** Entries above a line in which the calls of its results are looked for. */
const maxEntriesToCall = 200;

/** The names of the tools whose results lines have: of calls in the lines, and in the entries before them. */
async function toolNames(
  lines: readonly Line[],
  session: Session | undefined,
): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>();
  const wanted = new Set<string>();
  for (const { value } of lines) {
    const message = isRecord(value) ? value.message : undefined;
    for (const block of isRecord(message) && Array.isArray(message.content) ? message.content : []) {
      if (!isRecord(block)) continue;
      const { type, id, name, tool_use_id: callId } = block;
      if (type === "tool_use" && typeof name === "string") names.set(String(id), name);
      else if (type === "tool_result" && !names.has(String(callId))) wanted.add(String(callId));
    }
  }
  const tree = await session?.tree();
  let at = session?.leafId ?? null;
  for (let read = 0; at !== null && wanted.size > 0 && read < maxEntriesToCall; read++) {
    const node = tree?.node(at);
    const entry = node?.role === "assistant" ? await session?.entry(at) : undefined;
    if (entry?.type === "message" && entry.message.role === "assistant")
      for (const { id, name } of toolCalls(entry.message)) {
        if (wanted.delete(id)) names.set(id, name);
      }
    at = node?.parentId ?? null;
  }
  return names;
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
