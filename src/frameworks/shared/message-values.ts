/**
 * Values of a framework as messages of a session. A value is stored as the messages that it means, and beside
 * the first of them the difference between the value that these messages yield and the saved one; none if they
 * are equal. So every reader of sessions has messages, and the framework has exactly its value. A value that
 * means no message, or that the messages would not give back, is an entry of its own with a parcel.
 *
 * What a form renders is a part of the stored format: a difference is one to the value that was rendered then.
 */

import { ingest } from "../../attachments/index.js";
import { type BlobStore, digest } from "../../blobs/index.js";
import type { BlobRef, Message, StoredResource } from "../../content/index.js";
import { decodeBase64, encodeBase64 } from "../../core/base64.js";
import { mapConcurrent } from "../../core/concurrency.js";
import { SessileError } from "../../core/errors/index.js";
import { randomHex8 } from "../../core/ids.js";
import { isRecord } from "../../core/shape.js";
import { jsonProblem, ownEntry, restOfValue, valueDetails } from "../../log/internal.js";
import type { EntryDraft, SessionEntry, UnknownEntry } from "../../session/index.js";
import { applyUpdates, entryUpdates } from "../../session/internal.js";
import { isParcel, type Parcel, type Parcels } from "./parcels.js";

/** Bytes in the blob store, in the place of the text with their base64. */
export class Media {
  readonly blob: BlobRef;
  readonly sha256: string;
  /** The text before the base64, such as `data:image/png;base64,`. */
  readonly head: string;

  constructor({ blob, contentSha256 }: Pick<StoredResource, "blob" | "contentSha256">, head = "") {
    this.blob = blob;
    this.sha256 = contentSha256;
    this.head = head;
  }

  /** Whether a text is the head and the base64 of the bytes. */
  equals(value: unknown): boolean {
    if (value instanceof Media) return value.sha256 === this.sha256 && value.head === this.head;
    if (typeof value !== "string" || !value.startsWith(this.head)) return false;
    const bytes = decodeBase64(value.slice(this.head.length));
    return bytes !== undefined && digest(bytes) === `sha256:${this.sha256}`;
  }
}

/** Stores the bytes of an attachment. undefined without a blob store, and for a text that is no base64. */
export type Attach = (
  source: unknown,
  about?: {
    readonly mediaType?: unknown;
    readonly name?: unknown;
    readonly source?: "upload" | "tool" | "model";
  },
) => Promise<StoredResource | undefined>;

/** How the values of a framework are messages. */
export interface MessageForm {
  /** The entries of a value; undefined if it means no message. Large base64 is a short text but for `isMedia`. */
  drafts(value: unknown, attach: Attach, id: string): Promise<readonly EntryDraft[] | undefined>;
  /**
   * The values that entries yield, with {@link Media} in the place of bytes. Total.
   * @param about the further details of a value that was saved; undefined for other messages of the session
   */
  render(
    entries: readonly PathEntry[],
    about?: Readonly<Record<string, unknown>>,
  ): Promise<readonly unknown[]>;
  /** Whether a member of a value has the base64 of an attachment. */
  isMedia(holder: Readonly<Record<string, unknown>>, key: string): boolean;
}

/** A value that means no message. */
const valueEntry = ownEntry("sessile.value", (data): StoredValue => {
  if (isRecord(data) && typeof data.of === "string" && isParcel(data.value)) return data as never;
  throw new TypeError("data: expected a value");
});

interface StoredValue {
  /** The adapter. */
  readonly of: string;
  readonly value: Parcel;
}

/** An entry of a path. */
export type PathEntry = SessionEntry | UnknownEntry;

/** A value of a path. */
export interface PathValue {
  /** The id of its first entry; undefined for a value that other messages of the session yield. */
  readonly id: string | undefined;
  readonly entries: readonly PathEntry[];
}

/** Keeps the values of one adapter as entries. */
export class MessageValues {
  readonly #of: string;
  readonly #form: MessageForm;
  readonly #parcels: Parcels;
  readonly #blobs: BlobStore | undefined;

  constructor(init: {
    readonly of: string;
    readonly form: MessageForm;
    readonly parcels: Parcels;
    readonly blobs: BlobStore | undefined;
  }) {
    this.#of = init.of;
    this.#form = init.form;
    this.#parcels = init.parcels;
    this.#blobs = init.blobs;
  }

  /**
   * The drafts of a value, with its blobs stored.
   * @param value a copy, as `Parcels.copy` makes it; it may have {@link Media}
   * @param id the id of the first entry, by default of the session; the others have it with a number
   * @param about further details of the value: ids, and digests of its text
   */
  async drafts(
    value: unknown,
    {
      id,
      about = {},
    }: { readonly id?: string | undefined; readonly about?: Readonly<Record<string, unknown>> } = {},
  ): Promise<readonly EntryDraft[]> {
    const start = id ?? `${randomHex8()}${randomHex8()}`;
    const made = await this.#form.drafts(this.#withoutBase64(value), (...of) => this.#attach(...of), start);
    const kept = made && (await this.#kept(value, made, { id: start, about }));
    const [first, ...rest] = kept ?? [
      {
        ...valueEntry.draft({
          of: this.#of,
          ...about,
          value: await this.#parcels.make(await this.open(value), "value"),
        }),
        id: start,
      },
    ];
    if (first === undefined || id !== undefined || rest.length > 0) return kept ?? (first ? [first] : []);
    const { id: _, ...alone } = first;
    return [alone as EntryDraft];
  }

  /** The drafts with the difference; undefined if the log would not give them back as they are. */
  async #kept(
    value: unknown,
    made: readonly EntryDraft[],
    { id, about }: { readonly id: string; readonly about: Readonly<Record<string, unknown>> },
  ): Promise<readonly EntryDraft[] | undefined> {
    const first = made.findIndex(({ type }) => type === "message");
    if (first !== 0 || jsonProblem(made, maxDepth) !== undefined || hasReservedKey(made)) return undefined;
    const drafts = made.map((draft, at) => ({ ...draft, id: at === 0 ? id : `${id}.${at}` }));
    const stored = JSON.parse(JSON.stringify(drafts)) as readonly PathEntry[];
    const placed = stored.map((entry) => ({ ...entry, parentId: null, timestamp: "" }));
    const rendered = await this.#form.render(placed, about);
    const [shown] = rendered;
    if (rendered.length !== 1) return undefined;
    const patch = difference(shown, value);
    // A value is given back exactly, or it is not stored as messages.
    if (!isEqual(patched(shown, patch), value)) return undefined;
    const parcel =
      patch === undefined ? undefined : await this.#parcels.make(await this.open(patch), "value");
    const details = {
      of: this.#of,
      ...(drafts.length === 1 ? {} : { count: drafts.length }),
      ...about,
      ...(parcel === undefined ? {} : { difference: parcel }),
    };
    return drafts.map((draft, at) => (at === 0 ? { ...draft, details } : draft)) as readonly EntryDraft[];
  }

  /** The values of a path, oldest first, with the updates of their messages. */
  values(path: readonly PathEntry[]): readonly PathValue[] {
    const updates = entryUpdates(path);
    const found: { readonly id: string | undefined; readonly entries: PathEntry[]; rest: Set<string> }[] = [];
    for (const entry of path) {
      const last = found.at(-1);
      const own = entry.type === "message" && valueDetails(entry)?.of === this.#of;
      const isValue = valueEntry.read(entry)?.of === this.#of;
      if (own || isValue) {
        const rest = new Set(own ? restOfValue(entry) : []);
        found.push({ id: entry.id, entries: [entry], rest });
      } else if (last?.rest.has(entry.id) === true) last.entries.push(entry);
      else if (entry.type !== "message" && entry.type !== "custom_message") continue;
      else if (last !== undefined && last.id === undefined) last.entries.push(entry);
      else found.push({ id: undefined, entries: [entry], rest: new Set() });
      for (const update of updates.get(entry.id) ?? []) found.at(-1)?.entries.push(update);
    }
    return found.map(({ id, entries }) => ({ id, entries }));
  }

  /**
   * The values of entries, with {@link Media}: one of a saved value, any number of other messages.
   * @throws SessileError BLOB_CORRUPT if a blob of a difference is damaged or missing
   */
  async read({ id, entries }: PathValue): Promise<readonly unknown[]> {
    const [first] = entries;
    if (id === undefined || first === undefined) return this.#form.render(entries);
    const stored = valueEntry.read(first);
    if (stored !== undefined) return [await this.#parcels.open(stored.value)];
    const details = valueDetails(first as SessionEntry) ?? {};
    const rendered = await this.#form.render(entries, details);
    const { difference: parcel } = details as { readonly difference?: unknown };
    const patch = isParcel(parcel) ? await this.#parcels.open(parcel) : undefined;
    // An update can leave more or fewer values than there were.
    return rendered.length === 1 ? [patched(rendered[0], patch)] : rendered;
  }

  /** {@link read}, with the bytes. */
  async load(values: readonly PathValue[]): Promise<unknown[]> {
    const loaded: unknown[] = [];
    for await (const found of mapConcurrent(values, maxConcurrentReads, async (each) =>
      Promise.all((await this.read(each)).map((value) => this.open(value))),
    ))
      for (const value of found) loaded.push(value);
    return loaded;
  }

  /**
   * A value with the bytes of its media as text.
   * @throws SessileError BLOB_CORRUPT if a blob is damaged or missing
   */
  async open(value: unknown): Promise<unknown> {
    if (value instanceof Media) {
      const bytes = await this.#blobs?.get(value.blob);
      if (bytes !== undefined) return value.head + encodeBase64(bytes);
      const details = { expected: value.blob, actual: "missing", size: 0 };
      throw new SessileError("BLOB_CORRUPT", `the blob ${value.blob} is missing`, { details });
    }
    if (Array.isArray(value))
      return hasMedia(value) ? Promise.all(value.map((item) => this.open(item))) : value;
    if (!isRecord(value) || !hasMedia(value)) return value;
    const members: [string, unknown][] = [];
    for (const [key, member] of Object.entries(value)) members.push([key, await this.open(member)]);
    return Object.fromEntries(members);
  }

  async #attach(
    source: unknown,
    { mediaType, name, source: origin = "upload" }: Parameters<Attach>[1] = {},
  ): Promise<StoredResource | undefined> {
    const blobs = this.#blobs;
    const bytes = source instanceof Media ? await blobs?.get(source.blob) : bytesOf(source);
    if (blobs === undefined || bytes === undefined) return undefined;
    return ingest(
      {
        bytes,
        ...(typeof name === "string" ? { name } : {}),
        ...(typeof mediaType === "string" ? { mediaType } : {}),
      },
      // A store of what a framework saves refuses nothing.
      { blobs, maxBytes: Number.MAX_SAFE_INTEGER, mismatch: "file", source: origin },
    );
  }

  /** A copy with a short text in the place of large base64, which no model and no reader has a use for. */
  #withoutBase64(value: unknown): unknown {
    const { isMedia } = this.#form;
    const copied = (member: unknown, holder: unknown, key: string): unknown => {
      if (typeof member === "string") {
        if (member.length < minBase64 || (isRecord(holder) && isMedia(holder, key))) return member;
        const bytes = bytesOf(member);
        return bytes === undefined ? member : `[${bytes.length} bytes]`;
      }
      if (member instanceof Uint8Array) return `[${member.length} bytes]`;
      if (Array.isArray(member)) return member.map((item) => copied(item, undefined, ""));
      if (!isRecord(member) || member instanceof Media) return member;
      return Object.fromEntries(
        Object.entries(member).map(([name, each]) => [name, copied(each, member, name)]),
      );
    };
    return copied(value, undefined, "");
  }
}

/** Other messages of the session, each alone. */
export function eachMessage({ id, entries }: PathValue): readonly PathValue[] {
  if (id !== undefined) return [{ id, entries }];
  const found: { readonly id: undefined; readonly entries: PathEntry[] }[] = [];
  for (const entry of entries) {
    const isUpdate = entry.type === "message_update" || entry.type === "part_update";
    if (isUpdate) found.at(-1)?.entries.push(entry);
    else found.push({ id: undefined, entries: [entry] });
  }
  return found;
}

/** The messages of entries after the updates among them, without those that no one sees. */
export function messagesOf(entries: readonly PathEntry[]): readonly Message[] {
  const updates = entryUpdates(entries);
  return entries.flatMap((entry): readonly Message[] => {
    const shown = applyUpdates(entry, updates);
    if (shown?.type === "message") return [shown.message];
    if (shown?.type !== "custom_message" || !shown.display) return [];
    const { customType, content, display } = shown;
    return [{ role: "custom", customType, content, display, timestamp: 0 }];
  });
}

const maxConcurrentReads = 16;
/** Nesting from which on a value is no message. */
const maxDepth = 100;
const minBase64 = 4096;

/** The bytes of base64, or of a data URL with it. */
function bytesOf(text: unknown): Uint8Array | undefined {
  return typeof text === "string" ? decodeBase64(text.slice(dataUrlHead(text).length)) : undefined;
}

/** `data:…;base64,` at the start of a text; empty if there is none. */
export function dataUrlHead(text: string): string {
  if (!text.startsWith("data:")) return "";
  const head = text.slice(0, text.indexOf(",") + 1);
  return head.endsWith(";base64,") ? head : "";
}

function hasMedia(value: unknown): boolean {
  if (value instanceof Media) return true;
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return false;
  return Object.values(value).some(hasMedia);
}

/** Keys that an entry refuses. */
function hasReservedKey(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(
    ([key, member]) => key === "__proto__" || key === "toJSON" || hasReservedKey(member),
  );
}

// Differences. Each node of a difference is of the value at the same place:
// - [value]: this value
// - []: no member
// - { key: node }: the members that differ; an item of an array by its index, if there are as many
// - [{ key: node }, 1]: these members in this order, 0 for one that does not differ
// - [items, 0]: items of an array: the index of a rendered one, [index, node], or [value]

/** The difference that makes a rendered value the saved one; undefined if they are equal. */
export function difference(shown: unknown, saved: unknown): unknown {
  if (isEqual(shown, saved)) return undefined;
  if (Array.isArray(shown) && Array.isArray(saved)) {
    return shown.length === saved.length ? memberDifference(shown, saved) : itemDifference(shown, saved);
  }
  if (!isPlain(shown) || !isPlain(saved)) return [saved];
  const members = memberDifference(shown, saved);
  const keys = Object.keys(saved);
  const order = Object.keys(shown).filter((key) => Object.hasOwn(saved, key));
  for (const key of keys) if (!Object.hasOwn(shown, key)) order.push(key);
  if (keys.every((key, at) => key === order[at])) return members;
  return [Object.fromEntries(keys.map((key) => [key, Object.hasOwn(members, key) ? members[key] : 0])), 1];
}

function memberDifference(shown: object, saved: object): Readonly<Record<string, unknown>> {
  const members: [string, unknown][] = [];
  const [from, to] = [shown, saved] as Readonly<Record<string, unknown>>[] as [
    Readonly<Record<string, unknown>>,
    Readonly<Record<string, unknown>>,
  ];
  for (const [key, member] of Object.entries(to)) {
    const node = Object.hasOwn(from, key) ? difference(from[key], member) : [member];
    if (node !== undefined) members.push([key, node]);
  }
  for (const key of Object.keys(from)) if (!Object.hasOwn(to, key)) members.push([key, []]);
  return Object.fromEntries(members);
}

/** Items that are compared to find an equal one. */
const maxSkipped = 8;

function itemDifference(shown: readonly unknown[], saved: readonly unknown[]): unknown {
  let next = 0;
  const items = saved.map((item): unknown => {
    for (let at = next; at < Math.min(shown.length, next + maxSkipped); at++) {
      if (!isEqual(shown[at], item)) continue;
      next = at + 1;
      return at;
    }
    const similar = shown[next];
    if (!isPlain(similar) || !isPlain(item) || similar.type !== item.type) return [item];
    return [next++, difference(similar, item)];
  });
  return [items, 0];
}

/** The value after a difference. Total: what a difference has no place for stays out. */
export function patched(shown: unknown, patch: unknown): unknown {
  if (patch === undefined || patch === 0) return shown;
  if (isPlain(patch)) return withMembers(shown, patch);
  if (!Array.isArray(patch) || patch.length === 0) return shown;
  const [node] = patch as readonly unknown[];
  if (patch.length === 1) return node;
  if (Array.isArray(node)) {
    const known = Array.isArray(shown) ? (shown as readonly unknown[]) : [];
    return node.flatMap((item: unknown): readonly unknown[] => {
      if (typeof item === "number") return item < known.length ? [known[item]] : [];
      if (!Array.isArray(item)) return [];
      return item.length === 1 ? item : [patched(known[item[0]], item[1])];
    });
  }
  if (!isPlain(node)) return shown;
  const made = withMembers(shown, node);
  const members = Object.keys(node).filter((key) => isPlain(made) && Object.hasOwn(made, key));
  return Object.fromEntries(members.map((key) => [key, (made as Readonly<Record<string, unknown>>)[key]]));
}

function withMembers(shown: unknown, members: Readonly<Record<string, unknown>>): unknown {
  if (Array.isArray(shown))
    return shown.map((item: unknown, at) => (Object.hasOwn(members, at) ? patched(item, members[at]) : item));
  const known = isPlain(shown) ? shown : {};
  const made = Object.entries(known).flatMap(([key, member]): [string, unknown][] => {
    if (!Object.hasOwn(members, key)) return [[key, member]];
    const node = members[key];
    return Array.isArray(node) && node.length === 0 ? [] : [[key, patched(member, node)]];
  });
  for (const [key, node] of Object.entries(members))
    if (!Object.hasOwn(known, key) && Array.isArray(node) && node.length === 1) made.push([key, node[0]]);
  return Object.fromEntries(made);
}

/** Equal as JSON, undefined members and bytes included, and in the order of the keys. */
function isEqual(shown: unknown, saved: unknown): boolean {
  if (shown === saved) return true;
  if (shown instanceof Media) return shown.equals(saved);
  if (saved instanceof Media) return saved.equals(shown);
  if (Array.isArray(shown) && Array.isArray(saved))
    return shown.length === saved.length && shown.every((item, at) => isEqual(item, saved[at]));
  if (shown instanceof Uint8Array && saved instanceof Uint8Array)
    return shown.length === saved.length && shown.every((byte, at) => byte === saved[at]);
  if (!isPlain(shown) || !isPlain(saved)) return false;
  const [keys, others] = [Object.keys(shown), Object.keys(saved)];
  return (
    keys.length === others.length &&
    keys.every((key, at) => key === others[at] && isEqual(shown[key], saved[key]))
  );
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    isRecord(value) && !Array.isArray(value) && !(value instanceof Media) && !(value instanceof Uint8Array)
  );
}
