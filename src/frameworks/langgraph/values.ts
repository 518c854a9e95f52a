/**
 * Values of channels, content-addressed in the log of a thread. A value is stored once, however many
 * checkpoints and writes name it. A list is the ids of its items; a longer one names the shorter one that it
 * extends.
 */

import { encodeBase64 } from "../../core/base64.js";
import { decodeUtf8, encodeUtf8 } from "../../core/bytes.js";
import { mapConcurrent } from "../../core/concurrency.js";
import { SessileError } from "../../core/errors/index.js";
import { parseJson } from "../../core/json.js";
import { isRecord } from "../../core/shape.js";
import { ownEntry } from "../../log/internal.js";
import type { EntryDraft, Session, SessionTree } from "../../session/index.js";
import { textDigest } from "../shared/ids.js";
import { isParcel, type Parcel, type Parcels } from "../shared/parcels.js";
import { BoundedCache } from "./bounded-cache.js";
import type { Serializer } from "./types.js";

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
  constructor(parcels: Parcels, loadsText: boolean) {
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
   */
  async addDrafts(
    drafts: EntryDraft[],
    session: Session | undefined,
    { pieces }: PlannedValue,
    base: string | undefined,
  ): Promise<void> {
    for (const piece of pieces) {
      if ((await session?.tree())?.has(piece.id) === true) continue;
      const data: StoredValue =
        "items" in piece
          ? await this.#listData(session, piece.items, base)
          : await this.#valueData(piece.value);
      drafts.push({ ...valueEntry.draft(data), id: piece.id });
      if (session !== undefined)
        this.#known.set(
          (await this.#sessionKeys(session))(piece.id),
          "items" in piece ? piece.items : piece.value,
        );
    }
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
    const stored = await this.#stored(session, id);
    if ("list" in stored) return this.#joined(session, await this.#listItems(session, id, stored));
    const value: Serialized =
      "value" in stored
        ? { type: stored.type, text: JSON.stringify(await this.#parcels.open(stored.value)) }
        : { type: stored.type, bytes: (await this.#parcels.open(stored.bytes)) as Uint8Array };
    this.#known.set(key, value);
    return value;
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
