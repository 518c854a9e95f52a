/**
 * Sessions of OpenAI Agents as entries: items are appended, images are blobs.
 *
 * @module openai-agents
 */

import { stringArgument } from "../../core/arguments.js";
import { mapConcurrent } from "../../core/concurrency.js";
import { SessileError } from "../../core/errors/index.js";
import { isRecord } from "../../core/shape.js";
import { ownEntry } from "../../log/internal.js";
import type { EntryDraft, Session } from "../../session/index.js";
import { type AdapterOptions, type AppendPlan, adapterSettings, SessionHandles } from "../shared/handles.js";
import { canonicalText, isParcel, type Parcel, Parcels, textDigest, valueDigest } from "../shared/parcels.js";

// A session of OpenAI Agents: its items are entries on the path to the leaf.

/** Options of {@link openaiAgentsSession}. */
interface OpenAiAgentsOptions extends AdapterOptions {
  /** The key of the session: any string that is not empty. */
  readonly sessionId: string;
}

/** An item with its place in the tree. */
interface StoredItem {
  readonly id: string;
  readonly parentId: string | null;
  readonly parcel: Parcel;
}

const adapter = "openai-agents";
const clearPrefix = "clear.";
const maxConcurrentReads = 16;

const itemEntry = ownEntry(`sessile.${adapter}.item`, (data): { readonly item: Parcel } => {
  if (isRecord(data) && isParcel(data.item)) return { item: data.item };
  throw new TypeError("data: expected an item");
});

/** Its id begins with `clear.`, so that the tree alone shows where the history begins. */
const clearEntry = ownEntry(`sessile.${adapter}.clear`, (data) => data);

const operationEntry = ownEntry(`sessile.${adapter}.operation`, (data): { readonly digest: string } => {
  if (isRecord(data) && typeof data.digest === "string") return { digest: data.digest };
  throw new TypeError("data: expected an operation");
});

/**
 * A session for OpenAI Agents: `run(agent, input, { session })`.
 *
 * Items are appended, never rewritten; images and other large values go to `blobs`. Transactions are made
 * once, also across processes and crashes.
 * @throws TypeError, RangeError for invalid options
 */
export function openaiAgentsSession<Item extends object>(
  options: OpenAiAgentsOptions,
): OpenAiAgentsSession<Item> {
  const settings = adapterSettings(adapter, options);
  const key = stringArgument("sessionId", options.sessionId);
  const place = { partition: settings.partition, key };
  const parcels = new Parcels(settings);
  const handles = new SessionHandles(adapter, settings);

  /**
   * Copies and checks items at the call. The result stores their blobs once: a plan calls it, so that appends
   * with and without blobs keep the order of the calls.
   */
  const copied = (items: readonly unknown[], name: string): (() => Promise<readonly Parcel[]>) => {
    const packed = items.map((item, at) => parcels.pack(item, `${name}[${at}]`));
    let stored: readonly Parcel[] | undefined;
    return async () => {
      if (stored !== undefined) return stored;
      const made: Parcel[] = [];
      for (const each of packed) made.push(await parcels.store(each));
      stored = made;
      return made;
    };
  };
  /** The same for a transaction, whose errors show none of its content. */
  const copiedContent: typeof copied = (items, name) => {
    try {
      return copied(items, name);
    } catch (error) {
      if (SessileError.is(error, "INVALID_ENTRY"))
        throw unsupported(`transaction.${name}`, "JSON values, undefined and Uint8Array");
      throw error;
    }
  };
  const open = async (items: readonly StoredItem[]): Promise<Item[]> => {
    const opened: Item[] = [];
    for await (const item of mapConcurrent(items, maxConcurrentReads, ({ parcel }) => parcels.open(parcel)))
      opened.push(item as Item);
    return opened;
  };
  const change = (plan: (session: Session | undefined) => Promise<Change>): Promise<void> =>
    handles.append(place, async (session): Promise<AppendPlan<void>> => {
      return { done: () => undefined, ...(await plan(session)) };
    });

  return {
    async getSessionId() {
      return key;
    },

    async getItems(limit) {
      if (limit !== undefined && limit <= 0) return [];
      return handles.read(place, async (session) => {
        if (session === undefined) return [];
        return open(limit === undefined ? await allItems(session) : await newestItems(session, limit));
      });
    },

    async addItems(items) {
      if (items.length === 0) return;
      const made = copied(items, "items");
      await change(async () => ({ drafts: drafts(await made()) }));
    },

    async popItem() {
      return handles.append(place, async (session): Promise<AppendPlan<Item | undefined>> => {
        const [last] = session === undefined ? [] : await newestItems(session, 1);
        if (last === undefined) return { drafts: [], done: () => undefined };
        const [item] = await open([last]);
        return { drafts: [{ type: "leaf", targetId: last.parentId }], done: () => item };
      });
    },

    async clearSession() {
      await change(async (session) => ({ drafts: (await isFresh(session)) ? [] : [clear()] }));
    },

    async replaceHistoryWithCompaction(items) {
      const made = copied(items, "items");
      await change(async (session) => ({
        drafts: [...((await isFresh(session)) ? [] : [clear()]), ...drafts(await made())],
      }));
    },

    async applyHistoryMutations({ mutations }) {
      const known = mutations.filter(({ type }) => type === "replace_function_call");
      if (known.length === 0) return;
      const callIds = known.map(({ callId }) => callId);
      const replacements = copied(
        known.map(({ replacement }: HistoryMutation<Item>) => replacement),
        "replacements",
      );
      await change(async (session) => {
        if (session === undefined) return { drafts: [] };
        const items = await allItems(session);
        const calls = (await open(items)).map(readCallId);
        return readBranch(items, await mutated(items, calls, callIds, await replacements()));
      });

      /** The parcels after the mutations, each of which sees the ones before it. */
      async function mutated(
        items: readonly StoredItem[],
        calls: readonly (string | undefined)[],
        ids: readonly string[],
        made: readonly Parcel[],
      ): Promise<readonly Parcel[]> {
        let list = items.map(({ parcel }, at) => ({ parcel, call: calls[at] }));
        for (const [at, id] of ids.entries()) {
          const first = list.findIndex(({ call }) => call === id);
          const parcel = made[at] as Parcel;
          const call = readCallId(await parcels.open(parcel));
          list = list.flatMap((item, index) => {
            if (index === first) return [{ parcel, call }];
            return item.call === id ? [] : [item];
          });
        }
        return list.map(({ parcel }) => parcel);
      }
    },

    async applyHistoryTransaction(args) {
      const { operationId, transaction } = copyTransaction(args);
      const added = transaction.type === "append_items" ? transaction.items : transaction.replacement;
      const made = copiedContent(added, transaction.type === "append_items" ? "items" : "replacement");
      const digest = valueDigest(transaction);
      await change(async (session) => {
        const id = `op.${textDigest(JSON.stringify([session === undefined ? null : await lastClear(session), operationId]))}`;
        if (session !== undefined && (await session.tree()).has(id)) {
          await assertSameOperation(session, id, digest);
          return { drafts: [] };
        }
        const parent = await suffixParent(session, transaction);
        return { drafts: [{ ...operationEntry.draft({ digest }), id }, ...drafts(await made())], ...parent };
      });
    },

    async close() {
      await handles.close();
    },
  };

  /** The entry that a replacement follows. Throws CONCURRENT_WRITER if the history has another end. */
  async function suffixParent(
    session: Session | undefined,
    transaction: TransactionCopy,
  ): Promise<{ readonly parent?: string | null }> {
    if (transaction.type === "append_items") return {};
    const { expectedSuffix } = transaction;
    if (expectedSuffix.length === 0) return {};
    const items = session === undefined ? [] : await newestItems(session, expectedSuffix.length);
    const actual = canonicalText(await open(items));
    if (actual === canonicalText(expectedSuffix)) return { parent: items[0]?.parentId ?? null };
    const message = "Session history suffix no longer matches the transaction precondition.";
    const details = { expected: `${expectedSuffix.length} items`, actual: session?.leafId ?? "none" };
    throw new SessileError("CONCURRENT_WRITER", `${message} Nothing was written`, { details });
  }
}

type Change = Omit<AppendPlan<void>, "done">;

function drafts(parcels: readonly Parcel[]): readonly EntryDraft[] {
  return parcels.map((item) => itemEntry.draft({ item }));
}

function clear(): EntryDraft {
  return { ...clearEntry.draft({}), id: `${clearPrefix}${crypto.randomUUID()}` };
}

/** Drafts that make the list, after the items that stay. */
function readBranch(items: readonly StoredItem[], wanted: readonly Parcel[]): Change {
  const same = ({ parcel }: StoredItem, at: number) => JSON.stringify(parcel) === JSON.stringify(wanted[at]);
  const first = items.findIndex((item, at) => !same(item, at));
  const changed = items[first];
  if (changed === undefined) return { drafts: [] };
  const added = drafts(wanted.slice(first));
  // Without a new item only the leaf moves.
  if (added.length === 0) return { drafts: [{ type: "leaf", targetId: changed.parentId }] };
  return { drafts: added, parent: changed.parentId };
}

async function assertSameOperation(session: Session, id: string, digest: string): Promise<void> {
  const entry = await session.entry(id);
  const known = entry && operationEntry.read(entry);
  if (known?.digest === digest) return;
  const message = "Session history operation was already applied with a different transaction.";
  throw new SessileError("DUPLICATE_ID", `${message} Nothing was written`, { details: { entryId: id } });
}

/** The id of the last clear above the leaf; null if there is none. */
async function lastClear(session: Session): Promise<string | null> {
  const tree = await session.tree();
  let at = session.leafId;
  while (at !== null && !at.startsWith(clearPrefix)) at = tree.node(at)?.parentId ?? null;
  return at;
}

/** Whether there is nothing to clear: no branch has an entry after the key or the last clear. */
async function isFresh(session: Session | undefined): Promise<boolean> {
  const leaf = session?.leafId ?? null;
  if (session === undefined || leaf === null) return true;
  const tree = await session.tree();
  const isStart = leaf.startsWith(clearPrefix) || tree.node(leaf)?.parentId === null;
  return isStart && tree.children(leaf).length === 0;
}

/** All items of the history, oldest first. */
async function allItems(session: Session): Promise<readonly StoredItem[]> {
  const entries = new Map((await session.path()).map((entry) => [entry.id, entry]));
  const nodes = (await session.tree()).path(session.leafId);
  const start = nodes.findLastIndex(({ id }) => id.startsWith(clearPrefix)) + 1;
  return nodes.slice(start).flatMap(({ id, parentId }): readonly StoredItem[] => {
    const entry = entries.get(id) ?? damaged(id);
    const stored = itemEntry.read(entry);
    return stored === undefined ? [] : [{ id, parentId, parcel: stored.item }];
  });
}

/** Items that are read one by one. More of them are read in one batch with all others. */
const maxSingleReads = 16;

/** The newest items, oldest first. */
async function newestItems(session: Session, limit: number): Promise<readonly StoredItem[]> {
  if (!(limit <= maxSingleReads)) {
    const all = await allItems(session);
    return all.slice(Math.max(all.length - limit, 0));
  }
  const items: StoredItem[] = [];
  let at = session.leafId;
  while (at !== null && items.length < limit && !at.startsWith(clearPrefix)) {
    const node = (await session.tree()).node(at);
    const stored = itemEntry.read((await session.entry(at)) ?? damaged(at));
    const parentId = node?.parentId ?? null;
    if (stored !== undefined) items.push({ id: at, parentId, parcel: stored.item });
    at = parentId;
  }
  return items.reverse();
}

function readCallId(item: unknown): string | undefined {
  if (!isRecord(item) || item.type !== "function_call") return undefined;
  return typeof item.callId === "string" ? item.callId : undefined;
}

function damaged(entryId: string): never {
  const message = `the entry ${JSON.stringify(entryId)} is damaged`;
  throw new SessileError("ENTRY_NOT_FOUND", message, { details: { entryId } });
}

// Checked copies of transactions. Each value of the arguments is read once.

/** A transaction that no caller can change any more. */
type TransactionCopy =
  | { readonly type: "append_items"; readonly items: readonly object[] }
  | {
      readonly type: "replace_suffix";
      readonly expectedSuffix: readonly object[];
      readonly replacement: readonly object[];
    };

/** The fields of each type besides `type`. */
const readFields: Readonly<Record<string, readonly string[]>> = {
  append_items: ["items"],
  replace_suffix: ["expectedSuffix", "replacement"],
};

/**
 * Copies the arguments of a transaction.
 * @throws SessileError INVALID_ENTRY for other fields, and for values that cannot be copied exactly:
 *   accessors, symbols, sparse arrays, dates, cycles, typed arrays except Uint8Array
 */
function copyTransaction(args: unknown): {
  readonly operationId: string;
  readonly transaction: TransactionCopy;
} {
  const [operationId, transaction] = readArguments(args);
  if (typeof operationId !== "string" || operationId.trim() === "")
    throw invalid("operationId", "a non-empty string", "operationId must be a non-empty string");
  if (typeof transaction !== "object" || transaction === null)
    throw invalid("transaction", "an object", "must be an object");
  const copy = copied(transaction) as Readonly<Record<string, unknown>>;
  const type = String(copy.type);
  const fields = Object.hasOwn(readFields, type) ? readFields[type] : undefined;
  if (fields === undefined)
    throw invalid(
      "transaction.type",
      "a known type",
      undefined,
      "Unsupported session history transaction type.",
    );
  const isWhole =
    Object.keys(copy).length === fields.length + 1 && fields.every((field) => Array.isArray(copy[field]));
  const name = type === "append_items" ? "append" : "suffix";
  if (!isWhole) {
    const message = `Session history ${name} transaction fields are invalid.`;
    throw invalid("transaction", `type and ${fields.join(" and ")} alone`, undefined, message);
  }
  for (const field of fields) for (const item of copy[field] as unknown[]) assertItem(item, field);
  return { operationId, transaction: copy as unknown as TransactionCopy };
}

function readArguments(args: unknown): readonly [operationId: unknown, transaction: unknown] {
  try {
    if (typeof args === "object" && args !== null)
      return [Reflect.get(args, "operationId"), Reflect.get(args, "transaction")];
  } catch {
    // An accessor threw.
  }
  throw invalid("args", "an object", "arguments are invalid");
}

function assertItem(item: unknown, field: string): void {
  if (typeof item !== "object" || item === null || Array.isArray(item) || item instanceof Uint8Array)
    throw unsupported(`transaction.${field}`, "items that are objects");
}

function copied(transaction: object): object {
  let copy: unknown;
  try {
    copy = copyValue(transaction, "transaction", new Set());
    // Refuses values that cannot be copied at all, such as a proxy.
    structuredClone(transaction);
  } catch (error) {
    if (SessileError.is(error, "INVALID_ENTRY")) throw error;
    throw unsupported("transaction", "values that can be copied");
  }
  return copy as object;
}

function copyValue(value: unknown, path: string, above: Set<object>): unknown {
  if (value === null || value === undefined) return value;
  if (typeof value === "string" || typeof value === "boolean" || typeof value === "number") return value;
  if (typeof value !== "object") throw unsupported(path, "JSON values, undefined and Uint8Array");
  if (value instanceof Uint8Array) return copyBytes(value, path);
  if (above.has(value)) throw unsupported(path, "no cycle");
  above.add(value);
  const copy = Array.isArray(value) ? copyArray(value, path, above) : copyObject(value, path, above);
  above.delete(value);
  return copy;
}

function copyBytes(value: Uint8Array, path: string): Uint8Array {
  if (Reflect.ownKeys(value).length !== value.length) throw unsupported(path, "bytes without other members");
  return Uint8Array.from(value);
}

function copyArray(value: readonly unknown[], path: string, above: Set<object>): unknown[] {
  const { length } = value;
  // The length is a key too.
  if (Reflect.ownKeys(value).length !== length + 1) throw unsupported(path, "arrays without holes");
  return Array.from({ length }, (_, at) =>
    copyValue(readMember(value, String(at), path), placeByPath(path, at), above),
  );
}

function copyObject(value: object, path: string, above: Set<object>): object {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) throw unsupported(path, "plain objects");
  const members = Reflect.ownKeys(value).map((key) => {
    if (typeof key !== "string") throw unsupported(path, "no symbols as keys");
    return [key, copyValue(readMember(value, key, path), placeByPath(path, key), above)] as const;
  });
  return Object.fromEntries(members);
}

/** The field or the item that a member is in. Keys of items are content, which an error must not show. */
function placeByPath(path: string, key: string | number): string {
  if (typeof key === "number") return path.endsWith("]") ? path : `${path}[${key}]`;
  const isField = path === "transaction" && Object.values(readFields).flat().includes(key);
  return isField ? `${path}.${key}` : path;
}

/** A member that is data: an accessor could give another value to the next reader. */
function readMember(value: object, key: string, path: string): unknown {
  const descriptor = Object.getOwnPropertyDescriptor(value, key);
  if (descriptor?.enumerable === true && "value" in descriptor) return descriptor.value;
  throw unsupported(path, "enumerable members without accessors");
}

/** The error of values that cannot be copied, or not be stored. It shows nothing of them. */
function unsupported(path: string, expected: string): SessileError<"INVALID_ENTRY"> {
  return invalid(path, expected, "items contain invalid or unsupported data");
}

/** The message is that of the SDK's own session, which its users may match. */
function invalid(
  path: string,
  expected: string,
  problem = "",
  message = `Session history transaction ${problem}.`,
): SessileError<"INVALID_ENTRY"> {
  return new SessileError("INVALID_ENTRY", message, { details: { path, expected } });
}

// Structural types of OpenAI Agents for the session. A test compares them with the official ones.

/** Replaces a call in the history; further items of the same call are removed. */
interface HistoryMutation<Item> {
  readonly type: "replace_function_call";
  readonly callId: string;
  readonly replacement: Extract<Item, { type: "function_call" }>;
}

/** A change of the history that is made once, however often it is tried. */
type HistoryTransaction<Item> =
  | { readonly type: "append_items"; readonly items: Item[] }
  | { readonly type: "replace_suffix"; readonly expectedSuffix: Item[]; readonly replacement: Item[] };

/** A session of OpenAI Agents, for `run(agent, input, { session })`. */
export interface OpenAiAgentsSession<Item> {
  /** The `sessionId` of the options. */
  getSessionId(): Promise<string>;
  /**
   * The items, oldest first, as new objects; with a limit the newest ones.
   * @throws SessileError BLOB_CORRUPT, ENTRY_NOT_FOUND if an item is damaged
   */
  getItems(limit?: number): Promise<Item[]>;
  /**
   * Appends copies of the items, all or none.
   * @throws SessileError INVALID_ENTRY naming the member that cannot be stored; nothing was written
   */
  addItems(items: Item[]): Promise<void>;
  /** Removes the newest item from the history, and returns it. It stays in the log. */
  popItem(): Promise<Item | undefined>;
  /** Begins an empty history. Earlier items stay in the log; `sessions.delete` erases them. */
  clearSession(): Promise<void>;
  /** Clears the history and adds items, in one append. */
  replaceHistoryWithCompaction(items: Item[]): Promise<void>;
  /** Replaces items, on a branch that begins before the first one that changes. */
  applyHistoryMutations(args: { readonly mutations: HistoryMutation<Item>[] }): Promise<void>;
  /**
   * Makes a change once: another call with the same id and transaction does nothing.
   * @throws SessileError INVALID_ENTRY for arguments that cannot be stored; DUPLICATE_ID if the id belongs to
   *   another transaction; CONCURRENT_WRITER if the history does not end with the expected items. Nothing was
   *   written
   */
  applyHistoryTransaction(args: {
    readonly operationId: string;
    readonly transaction: HistoryTransaction<Item>;
  }): Promise<void>;
  /** Releases the open session. A later call opens it again. */
  close(): Promise<void>;
}
