/**
 * The thread of a checkpointer in the log of a session: LangGraph's types, the entries of checkpoints and
 * writes, their index, and the values of channels.
 */

import type { BlobStore } from "../../blobs/index.js";
import { encodeBase64 } from "../../core/base64.js";
import { decodeUtf8, encodeUtf8 } from "../../core/bytes.js";
import { mapConcurrent } from "../../core/concurrency.js";
import { SessileError } from "../../core/errors/index.js";
import { parseJson } from "../../core/json.js";
import { isRecord } from "../../core/shape.js";
import { ownEntry } from "../../log/internal.js";
import type { EntryDraft, Session, SessionTree } from "../../session/index.js";
import { MessageValues } from "../shared/message-values.js";
import { entryId, entryIdParts, isParcel, type Parcel, type Parcels, textDigest } from "../shared/parcels.js";
import { langchainForm, printedMessage } from "./messages.js";

/** Converts values of channels to bytes and back. */
export interface Serializer {
  /** The bytes of a value, and the name of their format. */
  dumpsTyped(data: unknown): Promise<[string, Uint8Array]>;
  /** The value of bytes in a format. */
  loadsTyped(type: string, data: Uint8Array | string): Promise<unknown>;
}

/**
 * The parts of `@langchain/langgraph-checkpoint` that are needed. Pass the module, so that there is one copy
 * of its classes.
 */
export interface CheckpointModule {
  readonly BaseCheckpointSaver: abstract new (serde?: never) => object;
  readonly WRITES_IDX_MAP: Readonly<Record<string, number>>;
  readonly TASKS: string;
  /** A copy of a checkpoint. */
  copyCheckpoint(checkpoint: never): unknown;
  /** The latest of some versions. */
  maxChannelVersion(...versions: never[]): unknown;
  /** The id of the checkpoint that a config names. */
  getCheckpointId(config: never): string;
}

/** A config of a run, of which `configurable` names the checkpoint. */
export interface RunConfig {
  readonly configurable?: Readonly<Record<string, unknown>>;
}

/** A checkpoint of LangGraph. */
export interface GraphCheckpoint {
  v: number;
  id: string;
  ts: string;
  channel_values: Record<string, unknown>;
  channel_versions: Record<string, number | string>;
  versions_seen: Record<string, Record<string, number | string>>;
}

/** A write of a task: the task, the channel, the value. */
export type PendingWrite = [taskId: string, channel: string, value: unknown];

/** A checkpoint with its config, metadata, parent and writes. */
export interface CheckpointTuple {
  readonly config: RunConfig;
  readonly checkpoint: GraphCheckpoint;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly pendingWrites: PendingWrite[];
  parentConfig?: RunConfig;
}

/** Options of a list. */
export interface CheckpointQuery {
  readonly limit?: number;
  readonly before?: RunConfig;
  readonly filter?: Readonly<Record<string, unknown>>;
}

/** The members of the base class that the checkpointer uses. */
export interface BaseSaver {
  serde: Serializer;
  getNextVersion(current: undefined): number | string;
}

/** {@link CheckpointModule} with the types that its functions really have. */
export interface TypedModule {
  readonly BaseCheckpointSaver: abstract new (serde?: Serializer) => BaseSaver;
  readonly WRITES_IDX_MAP: Readonly<Record<string, number>>;
  readonly TASKS: string;
  copyCheckpoint(checkpoint: GraphCheckpoint): GraphCheckpoint;
  maxChannelVersion(...versions: (number | string)[]): number | string;
  getCheckpointId(config: RunConfig): string;
}

// The entries of checkpoints and writes. All values are ids of value entries.

/** The data of a checkpoint's entry. All values are ids of value entries. */
export interface StoredCheckpoint {
  /** The checkpoint without its channel values. */
  readonly head: string;
  readonly metadata: string;
  readonly values: readonly (readonly [channel: string, value: string])[];
  /** The id of the parent checkpoint. */
  readonly parent?: string;
}

/** The data of a write's entry. */
interface StoredWrite {
  readonly channel: string;
  readonly value: string;
  /** The path of the task. */
  readonly path?: string;
}

export const checkpointEntry = ownEntry("sessile.langgraph.checkpoint", (data): StoredCheckpoint => {
  const valid =
    isRecord(data) &&
    typeof data.head === "string" &&
    typeof data.metadata === "string" &&
    isPairs(data.values);
  if (valid) return data as unknown as StoredCheckpoint;
  throw new TypeError("data: expected a checkpoint");
});

export const writeEntry = ownEntry("sessile.langgraph.write", (data): StoredWrite => {
  if (isRecord(data) && typeof data.channel === "string" && typeof data.value === "string")
    return data as unknown as StoredWrite;
  throw new TypeError("data: expected a write");
});

/**
 * The stored checkpoint of an entry.
 * @throws SessileError ENTRY_NOT_FOUND if it is damaged
 */
export async function readCheckpoint(session: Session, id: string): Promise<StoredCheckpoint> {
  const entry = await session.entry(id);
  return (entry && checkpointEntry.read(entry)) ?? damaged(id);
}

/**
 * The stored write of an entry.
 * @throws SessileError ENTRY_NOT_FOUND if it is damaged
 */
export async function readWrite(session: Session, { entryId }: IndexedWrite): Promise<StoredWrite> {
  const entry = await session.entry(entryId);
  return (entry && writeEntry.read(entry)) ?? damaged(entryId);
}

function damaged(entryId: string): never {
  const message = `the entry ${JSON.stringify(entryId)} is damaged`;
  throw new SessileError("ENTRY_NOT_FOUND", message, { details: { entryId } });
}

/** Orders texts by code point. UTF-16 order would put characters beyond the basic plane before U+E000. */
export function compareByCodePoint(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  // The first difference can be the second half of a pair, whose first half is equal.
  if (at > 0 && isHighSurrogate(a.charCodeAt(at - 1))) at--;
  return (a.codePointAt(at) ?? -1) - (b.codePointAt(at) ?? -1);
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00;
}
function isPairs(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.every(
      (pair) => Array.isArray(pair) && pair.length === 2 && pair.every((text) => typeof text === "string"),
    )
  );
}

// The index of a thread: its checkpoints and writes by the ids of their entries, without one body. The tree
// of the session is the tree of the thread: the nearest checkpoint above a checkpoint is its parent.

/** Prefixes of entry ids. */
const [checkpointKind, writeKind] = ["c", "w"] as const;
/** Of an edit that omits a message which a checkpoint no longer has. */
export const omittedKind = "x";
/** Between the id of a message and the number of its copy on another branch. */
const copyMark = "~";

/** An entry, and how often its key was put. */
interface Latest {
  readonly entryId: string;
  readonly count: number;
}

/** A write of a checkpoint. */
interface IndexedWrite extends Latest {
  readonly taskId: string;
  readonly index: number;
}

/** The checkpoints and writes of a thread in a session. */
export class ThreadIndex {
  /** By namespace and checkpoint id. Of entries with the same key the highest count is in force. */
  readonly #checkpoints = new Map<string, Map<string, Latest>>();
  /** By checkpoint, then by task and index. */
  readonly #writes = new Map<string, Map<string, IndexedWrite>>();
  /** The entry of the checkpoint that the leaf is, or whose writes and values lead to the leaf. */
  #leafCheckpoint: string | undefined;

  constructor(tree?: SessionTree, leafId: string | null = null) {
    if (tree === undefined) return;
    for (const { node } of tree.walk()) this.#index(node.id);
    let at = leafId;
    while (at !== null && !isCheckpoint(at)) at = tree.node(at)?.parentId ?? null;
    this.#leafCheckpoint = at ?? undefined;
  }

  /** Adds entries that were appended after `parent`. */
  add(ids: readonly string[], parent: string | undefined): void {
    if (parent !== undefined) this.#leafCheckpoint = isCheckpoint(parent) ? parent : undefined;
    for (const id of ids) {
      this.#index(id);
      if (isCheckpoint(id)) this.#leafCheckpoint = id;
    }
  }

  /** The namespaces, in the order of their first checkpoints. */
  get namespaces(): readonly string[] {
    return [...this.#checkpoints.keys()];
  }

  /** The checkpoint ids of a namespace, newest first: they sort by time. */
  ids(namespace: string): readonly string[] {
    return [...(this.#checkpoints.get(namespace)?.keys() ?? [])].sort().reverse();
  }

  /** The newest checkpoint id of a namespace. */
  newest(namespace: string): string | undefined {
    let newest: string | undefined;
    for (const id of this.#checkpoints.get(namespace)?.keys() ?? [])
      if (newest === undefined || id > newest) newest = id;
    return newest;
  }

  /** The entry of a checkpoint. */
  checkpoint(namespace: string, id: string): string | undefined {
    return this.#checkpoints.get(namespace)?.get(id)?.entryId;
  }

  /** The writes of a checkpoint, which may come before the checkpoint. */
  writes(namespace: string, id: string): readonly IndexedWrite[] {
    return [...(this.#writes.get(entryId(namespace, id))?.values() ?? [])];
  }

  /** The write in force at an index of a task. */
  write(namespace: string, id: string, taskId: string, index: number): IndexedWrite | undefined {
    return this.#writes.get(entryId(namespace, id))?.get(entryId(taskId, index));
  }

  /** The id for another entry of a checkpoint. */
  nextCheckpoint(namespace: string, id: string): string {
    const last = this.#checkpoints.get(namespace)?.get(id);
    return entryId(checkpointKind, namespace, id, ...nextCount(last));
  }

  /** The id for another entry of a write. */
  nextWrite(namespace: string, id: string, taskId: string, index: number): string {
    return entryId(
      writeKind,
      namespace,
      id,
      taskId,
      index,
      ...nextCount(this.write(namespace, id, taskId, index)),
    );
  }

  /** The entry to append after, so that `checkpoint` is the nearest one above; undefined for the leaf. */
  parentFor(checkpoint: string): string | undefined {
    return checkpoint === this.#leafCheckpoint ? undefined : checkpoint;
  }

  #index(id: string): void {
    const [kind, namespace, checkpointId, ...rest] = entryIdParts(id);
    if (namespace === undefined || checkpointId === undefined) return;
    if (kind === checkpointKind) {
      const latest = { entryId: id, count: Number(rest[0] ?? 1) };
      keepLatest(mapIn(this.#checkpoints, namespace), checkpointId, latest);
    } else if (kind === writeKind) {
      const [taskId = "", index = "", count = 1] = rest;
      const write = { entryId: id, count: Number(count), taskId, index: Number(index) };
      keepLatest(mapIn(this.#writes, entryId(namespace, checkpointId)), entryId(taskId, index), write);
    }
  }
}

function isCheckpoint(id: string): boolean {
  return id.startsWith(`${checkpointKind}/`);
}

function nextCount(last: Latest | undefined): readonly number[] {
  return last === undefined ? [] : [last.count + 1];
}

function keepLatest<L extends Latest>(map: Map<string, L>, key: string, latest: L): void {
  if (latest.count > (map.get(key)?.count ?? 0)) map.set(key, latest);
}

function mapIn<V>(map: Map<string, Map<string, V>>, key: string): Map<string, V> {
  const found = map.get(key) ?? new Map<string, V>();
  map.set(key, found);
  return found;
}

// Values of channels, content-addressed in the log of a thread. A value is stored once, however many
// checkpoints and writes name it. A list is the ids of its items; a longer one names the shorter one that it
// extends.

/** The output of a serializer: exact JSON as text, anything else as bytes. */
export type Serialized =
  | { readonly type: string; readonly text: string }
  | { readonly type: string; readonly bytes: Uint8Array };

/** A value to store: itself, or a list of the ids of others. */
type Piece =
  | { readonly id: string; readonly value: Serialized }
  | { readonly id: string; readonly items: readonly string[] };

/** The pieces of a value, items first. The last one is the value itself. */
export interface PlannedValue {
  readonly id: string;
  readonly pieces: readonly Piece[];
}

/** The data of a value's entry. */
type StoredValue =
  | { readonly type: string; readonly value: Parcel }
  | { readonly type: string; readonly bytes: Parcel }
  | { readonly list: readonly string[]; readonly extends?: string; readonly depth?: number };

/** A list as last serialized. Its successor usually begins with the same text. */
interface RecentList {
  readonly id: string;
  readonly text: string;
  readonly items: readonly string[];
}

const maxExtensions = 64;
const maxCachedCharacters = 2 ** 25;
const maxConcurrentReads = 16;
/** Digits of a digest: as many as git has. */
const digits = 40;

const valueEntry = ownEntry("sessile.langgraph.value", (data): StoredValue => {
  const valid =
    isRecord(data) &&
    (Array.isArray(data.list)
      ? data.list.every((id) => typeof id === "string")
      : typeof data.type === "string" && isParcel(data.value ?? data.bytes));
  if (valid) return data as StoredValue;
  throw new TypeError("data: expected a value");
});

/** The values of all threads. */
export class Values {
  readonly #messages: MessageValues;
  readonly #parcels: Parcels;
  /** Values, and resolved lists, by {@link Values.#keysOf}. */
  readonly #known = new BoundedCache<Serialized | readonly string[]>(maxCachedCharacters, (value) =>
    "length" in value ? value.length * digits : "text" in value ? value.text.length : value.bytes.length,
  );
  readonly #recent = new BoundedCache<RecentList>(maxCachedCharacters, ({ text }) => text.length);

  /** Numbers of trees: a log that an erasure replaced has another tree, and its values count no more. */
  readonly #trees = new WeakMap<SessionTree, number>();
  #treeCount = 0;
  readonly #loadsText: boolean;

  /** @param loadsText whether the serializer takes JSON as text; bytes, as it gave them, are right for all */
  constructor(parcels: Parcels, blobs: BlobStore | undefined, loadsText: boolean) {
    this.#messages = new MessageValues({ of: "langgraph", form: langchainForm, parcels, blobs });
    this.#parcels = parcels;
    this.#loadsText = loadsText;
  }

  /** Serializes a value at the call. */
  async dump(serde: Serializer, value: unknown): Promise<Serialized> {
    const [type, dumped]: [string, Uint8Array | string] = await serde.dumpsTyped(value);
    const data = typeof dumped === "string" ? encodeUtf8(dumped) : dumped;
    const text = type === "json" ? decodeUtf8(data) : undefined;
    // The bytes can be the caller's own, which it may change.
    return text === undefined ? { type, bytes: new Uint8Array(data) } : { type, text };
  }

  /** Gives stored values to the serializer: as one list if it takes text, since each call has a cost. */
  async load(serde: Serializer, session: Session, ids: readonly string[]): Promise<readonly unknown[]> {
    const values: Serialized[] = [];
    for (const id of ids) values.push(await this.#read(session, id));
    const texts = values.map((value) => (value.type === "json" ? readText(value) : undefined));
    if (this.#loadsText && ids.length > 0 && !texts.includes(undefined))
      return (await serde.loadsTyped("json", `[${texts.join()}]`)) as readonly unknown[];
    return Promise.all(
      values.map((value) =>
        serde.loadsTyped(value.type, "text" in value ? encodeUtf8(value.text) : new Uint8Array(value.bytes)),
      ),
    );
  }

  /**
   * The ids and pieces of a value.
   * @param place the thread, namespace and channel of the value, to compare a list with the one before
   */
  async plan(value: Serialized, session?: Session, place?: string): Promise<PlannedValue> {
    if (!("text" in value)) return single(value);
    const { text } = value;
    if (!text.startsWith("[")) return isExact(text) ? single(value) : single(asBytes(value));
    const recent = place === undefined ? undefined : this.#recent.get(place);
    // A thread that was deleted, or an append that failed, does not have the items of the list.
    const tree = recent === undefined ? undefined : await session?.tree();
    const before = recent !== undefined && tree?.has(recent.id) === true ? recent : undefined;
    if (before?.text === text) return { id: before.id, pieces: [{ id: before.id, items: before.items }] };
    const known = before !== undefined && extendsList(text, before.text) ? before : emptyList;
    const added = textItems(`[${text.slice(known.text.length - (known.items.length === 0 ? 1 : 0))}`);
    if (added === undefined) return isExact(text) ? single(value) : single(asBytes(value));
    const pieces = added.map((item) => single({ type: value.type, text: item }));
    const items = [...known.items, ...pieces.map(({ id }) => id)];
    const id = kindId("list", items.join());
    if (place !== undefined) this.#recent.set(place, { id, text, items });
    return { id, pieces: [...pieces.flatMap((planned) => planned.pieces), { id, items }] };
  }

  /**
   * Adds the drafts of the pieces that the session lacks, with their blobs stored.
   * @param base the value of the same channel in the parent, which a list may extend
   * @param isWrite whether it is the write of a task: a reducer may give a message another id
   */
  async addDrafts(
    drafts: EntryDraft[],
    session: Session | undefined,
    { pieces }: PlannedValue,
    base: string | undefined,
    isWrite = false,
  ): Promise<void> {
    for (const piece of pieces) {
      if ((await session?.tree())?.has(piece.id) === true) continue;
      if ("items" in piece)
        drafts.push({ ...valueEntry.draft(await this.#listData(session, piece.items, base)), id: piece.id });
      else {
        const message = await this.#messageDraft(piece, isWrite);
        drafts.push(message ?? { ...valueEntry.draft(await this.#valueData(piece.value)), id: piece.id });
      }
      if (session !== undefined)
        this.#known.set(
          (await this.#sessionKeys(session))(piece.id),
          "items" in piece ? piece.items : piece.value,
        );
    }
  }

  /**
   * Makes the messages on the path of a checkpoint those of its lists: copies of messages that are on another
   * branch or were omitted, and edits that omit those of the parent which a list has no more.
   *
   * @param drafts those of the checkpoint so far, in which a copy stands before the messages that follow it
   * @param lists values of channels, each with that of the parent
   * @param omissionId the id of an edit of a message
   */
  async addShown(
    drafts: EntryDraft[],
    session: Session,
    from: string | null,
    lists: readonly (readonly [PlannedValue, string | undefined])[],
    omissionId: (target: string) => string,
  ): Promise<void> {
    const tree = await session.tree();
    let shown: Map<string, string> | undefined;
    for (const [{ pieces, id }, base] of lists) {
      const last = pieces.at(-1);
      if (last === undefined || !("items" in last) || id === base) continue;
      const before = base === undefined ? [] : await this.#itemsOf(session, base);
      const isLonger = before.every((item, at) => item === last.items[at]);
      const added = (isLonger ? last.items.slice(before.length) : last.items).filter(
        (item) => tree.node(item)?.type === "message",
      );
      // A list that only grows by new messages needs no look at the path.
      if (isLonger && added.length === 0) continue;
      shown ??= shownMessages(tree, from);
      const wanted = new Set(last.items);
      for (const item of before) {
        const entry = wanted.has(item) ? undefined : shown.get(item);
        if (entry === undefined) continue;
        drafts.push({ type: "context_edit", targetId: entry, replacement: null, id: omissionId(entry) });
        shown.delete(item);
      }
      for (const item of added) {
        const entry = shown.has(item) ? undefined : await session.entry(item);
        if (entry?.type !== "message") continue;
        let count = 2;
        while (tree.has(`${item}${copyMark}${count}`)) count++;
        const { message, details } = entry;
        const later = new Set(last.items.slice(last.items.indexOf(item) + 1));
        const at = drafts.findIndex(({ id }) => id !== undefined && later.has(id));
        const copy = { type: "message", message, details, id: `${item}${copyMark}${count}` } as const;
        drafts.splice(at < 0 ? drafts.length : at, 0, copy);
        shown.set(item, item);
      }
    }
  }

  async #itemsOf(session: Session, id: string): Promise<readonly string[]> {
    const entry = await session.entry(id);
    const stored = entry && valueEntry.read(entry);
    return stored !== undefined && "list" in stored ? this.#listItems(session, id, stored) : [];
  }

  /** A value that is a message as an entry that is one; undefined for any other value. */
  async #messageDraft(
    { id, value }: { readonly id: string; readonly value: Serialized },
    isWrite: boolean,
  ): Promise<EntryDraft | undefined> {
    if (!("text" in value) || value.type !== "json" || !value.text.startsWith('{"lc":1,')) return undefined;
    const parsed = parseJson(value.text);
    const printed = printedMessage(parsed);
    if (printed === undefined || (isWrite && typeof printed.kwargs.id !== "string")) return undefined;
    const [draft, ...rest] = await this.#messages.drafts(parsed, { id });
    return draft?.type === "message" && rest.length === 0 ? draft : undefined;
  }

  async #valueData(value: Serialized): Promise<StoredValue> {
    if (!("text" in value))
      return { type: value.type, bytes: await this.#parcels.make(value.bytes, "value") };
    return { type: value.type, value: await this.#parcels.make(JSON.parse(value.text), "value") };
  }

  /** A list in full, or the items that it adds to the base. */
  async #listData(
    session: Session | undefined,
    items: readonly string[],
    base: string | undefined,
  ): Promise<StoredValue> {
    if (session === undefined || base === undefined) return { list: items };
    const entry = await session.entry(base);
    const stored = entry && valueEntry.read(entry);
    if (stored === undefined || !("list" in stored)) return { list: items };
    const { depth = 0 } = stored;
    const start = await this.#listItems(session, base, stored);
    const isLonger =
      start.length > 0 && start.length < items.length && start.every((id, at) => id === items[at]);
    if (!isLonger || depth >= maxExtensions) return { list: items };
    return { list: items.slice(start.length), extends: base, depth: depth + 1 };
  }

  /** The keys of values in a session's log. */
  async #sessionKeys(session: Session): Promise<(id: string) => string> {
    const tree = await session.tree();
    const number = this.#trees.get(tree) ?? this.#treeCount++;
    this.#trees.set(tree, number);
    return (id) => `${number} ${id}`;
  }

  async #read(session: Session, id: string): Promise<Serialized> {
    const key = (await this.#sessionKeys(session))(id);
    const known = this.#known.get(key);
    if (known !== undefined) return "length" in known ? this.#joined(session, known) : known;
    const message = await this.#message(session, id);
    if (message !== undefined) {
      this.#known.set(key, message);
      return message;
    }
    const stored = await this.#stored(session, id);
    if ("list" in stored) return this.#joined(session, await this.#listItems(session, id, stored));
    const value: Serialized =
      "value" in stored
        ? { type: stored.type, text: JSON.stringify(await this.#parcels.open(stored.value)) }
        : { type: stored.type, bytes: (await this.#parcels.open(stored.bytes)) as Uint8Array };
    this.#known.set(key, value);
    return value;
  }

  /** A value that is stored as a message; undefined for any other one. */
  async #message(session: Session, id: string): Promise<Serialized | undefined> {
    const entry = await session.entry(id);
    if (entry?.type !== "message") return undefined;
    const [value] = await this.#messages.load(this.#messages.values([entry]));
    return value === undefined ? undefined : { type: "json", text: JSON.stringify(value) };
  }

  async #joined(session: Session, items: readonly string[]): Promise<Serialized> {
    const readKey = await this.#sessionKeys(session);
    const texts = items.map((id) => readText(this.#known.get(readKey(id))));
    // Items that are cached are not awaited, which matters in a history of long lists.
    const missing = items.flatMap((id, at) => (texts[at] === undefined ? [{ id, at }] : []));
    const read = mapConcurrent(missing, maxConcurrentReads, async ({ id, at }) => {
      texts[at] = readText(await this.#read(session, id));
    });
    for await (const _ of read);
    return { type: "json", text: `[${texts.join()}]` };
  }

  async #listItems(session: Session, id: string, stored: StoredValue): Promise<readonly string[]> {
    const key = (await this.#sessionKeys(session))(id);
    const known = this.#known.get(key);
    if (known !== undefined && "length" in known) return known;
    let items: readonly string[] = [];
    for (let next: StoredValue | undefined = stored; next !== undefined && "list" in next; ) {
      items = [...next.list, ...items];
      next = next.extends === undefined ? undefined : await this.#stored(session, next.extends);
    }
    this.#known.set(key, items);
    return items;
  }

  async #stored(session: Session, id: string): Promise<StoredValue> {
    const entry = await session.entry(id);
    const stored = entry && valueEntry.read(entry);
    if (stored !== undefined) return stored;
    const message = `the value ${JSON.stringify(id)} is missing or damaged`;
    throw new SessileError("ENTRY_NOT_FOUND", message, { details: { entryId: id } });
  }
}

/** The messages that contexts of a path have, by their ids without the number of a copy. */
function shownMessages(tree: SessionTree, from: string | null): Map<string, string> {
  const shown = new Map<string, string>();
  for (const { id, type } of tree.path(from)) {
    if (type === "message") shown.set(id.split(copyMark)[0] as string, id);
    else if (type === "context_edit" && id.startsWith(`${omittedKind}/`))
      shown.delete((entryIdParts(id)[3] ?? "").split(copyMark)[0] as string);
  }
  return shown;
}

function single(value: Serialized): PlannedValue {
  const id =
    "text" in value
      ? kindId("value", value.type, value.text)
      : kindId("bytes", value.type, encodeBase64(value.bytes));
  return { id, pieces: [{ id, value }] };
}

function kindId(kind: string, ...parts: readonly string[]): string {
  return `v${textDigest(`${kind}\n${parts.join("\n")}`).slice(0, digits)}`;
}

const emptyList = { text: "[]", items: [] } as const;

/** The text of a value that can be an item. */
function readText(value: Serialized | readonly string[] | undefined): string | undefined {
  return value !== undefined && "text" in value ? value.text : undefined;
}

/** Whether a longer list begins with the items of a shorter one. Both are JSON of one serializer. */
function extendsList(text: string, start: string): boolean {
  if (text.length <= start.length || !text.startsWith(start.slice(0, -1))) return false;
  return start === "[]" || text[start.length - 1] === ",";
}

/** The JSON of each item of a list of objects; undefined for another list, or if the text is not exact. */
function textItems(text: string): readonly string[] | undefined {
  const list = parseJson(text);
  if (!Array.isArray(list) || !list.every(isRecord)) return undefined;
  const items = list.map((item) => JSON.stringify(item));
  return `[${items.join()}]` === text ? items : undefined;
}

/** Whether JSON.parse and JSON.stringify give the same text again. */
function isExact(text: string): boolean {
  const value = parseJson(text);
  return value !== undefined && JSON.stringify(value) === text;
}

function asBytes({ type, text }: { readonly type: string; readonly text: string }): Serialized {
  return { type, bytes: encodeUtf8(text) };
}

/** A cache with a bound on the sum of its sizes. The least recently used values are removed first. */
class BoundedCache<V> {
  readonly #maxSize: number;
  readonly #readSize: (value: V) => number;
  readonly #values = new Map<string, V>();
  #size = 0;

  constructor(maxSize: number, readSize: (value: V) => number) {
    this.#maxSize = maxSize;
    this.#readSize = readSize;
  }

  /** A value, which becomes the most recently used one. */
  get(key: string): V | undefined {
    const value = this.#values.get(key);
    if (value === undefined) return undefined;
    this.#values.delete(key);
    this.#values.set(key, value);
    return value;
  }

  /** Adds or replaces a value. One that exceeds the bound alone is not kept. */
  set(key: string, value: V): void {
    const before = this.#values.get(key);
    if (before !== undefined) {
      this.#size -= this.#readSize(before);
      this.#values.delete(key);
    }
    const size = this.#readSize(value);
    if (size > this.#maxSize) return;
    this.#values.set(key, value);
    this.#size += size;
    for (const [oldest, removed] of this.#values) {
      if (this.#size <= this.#maxSize) break;
      this.#values.delete(oldest);
      this.#size -= this.#readSize(removed);
    }
  }
}
