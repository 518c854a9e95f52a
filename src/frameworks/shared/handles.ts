/**
 * The open sessions of an adapter. Operations on one session run one after the other, and each
 * begins by reading what other processes wrote. After a conflict an append is planned again on the new state.
 */

import { type BlobStore, digest } from "../../blobs/index.js";
import { describe, integerOption } from "../../core/arguments.js";
import { decodeUtf8, encodeUtf8 } from "../../core/bytes.js";
import { Mutex, retry } from "../../core/concurrency.js";
import { SessileError } from "../../core/errors/index.js";
import { nameArgument } from "../../core/ids.js";
import { isRecord } from "../../core/shape.js";
import { type OwnCustomType, ownEntry } from "../../log/internal.js";
import type {
  CustomEntryType,
  EntryDraft,
  Session,
  SessionEntry,
  SessionStore,
  SessionSummary,
} from "../../session/index.js";

/** The session of a key. `nameOf(key)` is its id, unless `id` is given. */
export interface SessionPlace {
  readonly partition: string;
  readonly key: string;
  readonly id?: string;
}

/** The entries to append, made from the state of the session. */
export interface AppendPlan<T> {
  /** A draft whose id the session has is left out: it is an append that succeeded before. */
  readonly drafts: readonly EntryDraft[];
  /** The entry that the first draft follows; null for a root. @default the leaf */
  readonly parent?: string | null;
  /** Makes the result of the operation. */
  readonly done: (session: Session | undefined, written: readonly SessionEntry[]) => T;
}

/** A session of a list, with the key that it was made for. */
interface KeyedSession {
  readonly key: string;
  readonly summary: SessionSummary;
}

/** The adapters whose sessions have an entry with their key. */
type AdapterName = OwnCustomType extends infer T ? (T extends `sessile.${infer N}.key` ? N : never) : never;

const maxAttempts = 20;
const waitMs = [8, 500] as const;

/** A key with an open session, or with operations under way. */
interface Slot {
  readonly mutex: Mutex;
  session: Session | undefined;
  /** Operations that run or wait. */
  users: number;
}

/** The open sessions of one adapter. An operation must not wait for another one of the same handles. */
export class SessionHandles {
  readonly #sessions: SessionStore;
  readonly #maxOpen: number;
  readonly #keyEntry: CustomEntryType<string>;
  /** Least recently used first. */
  readonly #slots = new Map<string, Slot>();
  #open = 0;
  #waiting: (() => void)[] = [];

  /** @param adapter the name in the types of entries: `sessile.<adapter>.key` */
  constructor(adapter: AdapterName, settings: { readonly sessions: SessionStore; readonly maxOpen: number }) {
    this.#sessions = settings.sessions;
    this.#maxOpen = settings.maxOpen;
    this.#keyEntry = ownEntry(`sessile.${adapter}.key`, (data) => {
      if (isRecord(data) && typeof data.key === "string") return data.key;
      throw new TypeError("data: expected a key");
    });
  }

  /** Reads a session; `act` gets undefined if there is none. */
  async read<T>(place: SessionPlace, act: (session: Session | undefined) => Promise<T>): Promise<T> {
    return this.#exclusive(place, (slot) =>
      this.#retried(slot, async () => act(await this.#current(slot, place))),
    );
  }

  /**
   * Appends what `plan` makes of the session, which is undefined if there is none: the first append creates
   * it. After a conflict the plan is made again, up to 20 times.
   */
  async append<T>(
    place: SessionPlace,
    plan: (session: Session | undefined) => Promise<AppendPlan<T>>,
  ): Promise<T> {
    return this.#exclusive(place, (slot) =>
      this.#retried(slot, async () => {
        const found = await this.#current(slot, place);
        const { drafts, parent, done } = await planned(plan(found));
        const fresh = await newDrafts(drafts, found);
        if (fresh.length === 0) return done(found, []);
        const session = found ?? (await this.#create(slot, place));
        if ((await session.tree()).size > 0) return done(session, await this.#write(session, fresh, parent));
        const { customType } = this.#keyEntry;
        const first = { type: "custom", customType, data: { key: place.key } } as const;
        const [, ...written] = await this.#write(session, [first, ...fresh], null);
        return done(session, written);
      }),
    );
  }

  /** Deletes a session. Returns whether it existed. Its blobs go with a later garbage collection. */
  async delete(place: SessionPlace): Promise<boolean> {
    return this.#exclusive(place, async (slot) => {
      await this.#drop(slot);
      return this.#sessions.delete(placeId(place), { partition: place.partition });
    });
  }

  /** The sessions of a partition with their keys, last modified first. Opens those whose name is a digest. */
  async *list(partition: string): AsyncGenerator<KeyedSession, void, undefined> {
    for await (const summary of this.#sessions.list({ partition })) {
      const key =
        keyOfName(summary.id) ??
        (isHashedName(summary.id) ? await this.#storedKey(summary, partition) : undefined);
      if (key !== undefined) yield { key, summary };
    }
  }

  /** Closes the open sessions after the operations under way. A later operation opens its session again. */
  async close(): Promise<void> {
    await Promise.all(
      Array.from(this.#slots, async ([key, slot]) => {
        await this.#use(key, slot, () => this.#drop(slot));
      }),
    );
  }

  async #storedKey(summary: SessionSummary, partition: string): Promise<string | undefined> {
    try {
      const session = await this.#sessions.open(summary, { partition });
      try {
        const [root] = (await session.tree()).children(null);
        const entry = root === undefined ? undefined : await session.entry(root.id);
        return entry === undefined ? undefined : this.#keyEntry.read(entry);
      } finally {
        await session.close();
      }
    } catch (error) {
      if (SessileError.is(error, "SESSION_NOT_FOUND")) return undefined;
      throw error;
    }
  }

  /** Runs an operation after the earlier ones of the same session. */
  async #exclusive<T>(place: SessionPlace, act: (slot: Slot) => Promise<T>): Promise<T> {
    const key = `${place.partition}/${placeId(place)}`;
    const slot = this.#slots.get(key) ?? { mutex: new Mutex(), session: undefined, users: 0 };
    this.#slots.delete(key);
    this.#slots.set(key, slot);
    return this.#use(key, slot, () => act(slot));
  }

  async #use<T>(key: string, slot: Slot, act: () => Promise<T>): Promise<T> {
    slot.users++;
    try {
      return await slot.mutex.run(act);
    } finally {
      slot.users--;
      if (slot.users === 0 && slot.session === undefined) this.#slots.delete(key);
      this.#announceRoom();
    }
  }

  /** Makes an attempt; after a conflict closes the session, waits and makes another. */
  async #retried<T>(slot: Slot, attempt: () => Promise<T>): Promise<T> {
    return retry(attempt, {
      waitMs,
      again: async (error, count) => {
        await this.#drop(slot);
        if (error instanceof PlanFailure) throw error.cause;
        return isConflict(error) && count < maxAttempts;
      },
    });
  }

  /** The session as it is now; undefined if there is none. */
  async #current(slot: Slot, place: SessionPlace): Promise<Session | undefined> {
    if (slot.session !== undefined) {
      const nodes = await slot.session.refresh().catch(async (error: unknown) => {
        if (SessileError.is(error, "SESSION_NOT_FOUND")) return undefined;
        throw error;
      });
      // A handle keeps its own leaf, and would fork the chain of another writer.
      if (nodes?.length === 0) return slot.session;
      await this.#drop(slot);
    }
    const { partition } = place;
    return this.#opened(slot, () => this.#sessions.open(placeId(place), { mode: "write", partition })).catch(
      (error: unknown) => {
        if (SessileError.is(error, "SESSION_NOT_FOUND")) return undefined;
        throw error;
      },
    );
  }

  async #create(slot: Slot, place: SessionPlace): Promise<Session> {
    const { partition } = place;
    return this.#opened(slot, () => this.#sessions.create({ cwd: "/", id: placeId(place), partition }));
  }

  async #opened(slot: Slot, open: () => Promise<Session>): Promise<Session> {
    while (this.#open >= this.#maxOpen) await this.#makeRoom();
    this.#open++;
    try {
      slot.session = await open();
      return slot.session;
    } finally {
      if (slot.session === undefined) this.#closed();
    }
  }

  /** Closes the least recently used session, or waits until one is idle. */
  async #makeRoom(): Promise<void> {
    for (const [key, slot] of this.#slots) {
      if (slot.users > 0 || slot.session === undefined) continue;
      await this.#use(key, slot, () => this.#drop(slot));
      return;
    }
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #closed(): void {
    this.#open--;
    this.#announceRoom();
  }

  #announceRoom(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }

  async #write(
    session: Session,
    drafts: readonly EntryDraft[],
    parent: string | null = session.leafId,
  ): Promise<readonly SessionEntry[]> {
    const { leafId } = session;
    if (parent !== leafId) await session.branch(parent);
    try {
      return await session.append(drafts, { after: parent });
    } catch (error) {
      if (parent !== leafId) await restoreLeaf(session, leafId);
      throw error;
    }
  }

  async #drop(slot: Slot): Promise<void> {
    const { session } = slot;
    if (session === undefined) return;
    slot.session = undefined;
    try {
      await session.close();
    } finally {
      this.#closed();
    }
  }
}

/** A conflict that a plan reports, which another attempt would find again. */
class PlanFailure extends Error {}

async function planned<T>(plan: Promise<T>): Promise<T> {
  try {
    return await plan;
  } catch (error) {
    if (SessileError.is(error, "CONCURRENT_WRITER")) throw new PlanFailure(undefined, { cause: error });
    throw error;
  }
}

/** Errors after which another attempt can succeed: another writer was first, or deleted the session. */
function isConflict(error: unknown): boolean {
  return (
    SessileError.is(error, "CONCURRENT_WRITER") ||
    SessileError.is(error, "SESSION_EXISTS") ||
    SessileError.is(error, "SESSION_NOT_FOUND")
  );
}

/** Moves the leaf to the end of the log, so that closing the session records no moved leaf. */
async function restoreLeaf(session: Session, leafId: string | null): Promise<void> {
  try {
    const last = (await session.refresh()).at(-1);
    if (last === undefined) await session.branch(leafId);
    else await session.branch(last.type === "leaf" ? last.parentId : last.id);
  } catch {
    // The session is gone or unreadable, and the error of the append has the reason.
  }
}

/** The drafts whose ids are new. A known one would move the leaf to the old entry. */
async function newDrafts(
  drafts: readonly EntryDraft[],
  session: Session | undefined,
): Promise<readonly EntryDraft[]> {
  const tree = await session?.tree();
  const seen = new Set<string>();
  return drafts.filter(({ id }) => {
    if (id === undefined) return true;
    if (seen.has(id) || tree?.has(id) === true) return false;
    seen.add(id);
    return true;
  });
}

function placeId({ id, key }: SessionPlace): string {
  return id ?? nameByKey(key);
}

// Names of sessions for the keys of frameworks. A key is any string: a thread id with slashes, an empty text.
// A name is safe as part of a file name, also if the file system ignores case.

const plainName = /^[a-z0-9](?:[a-z0-9.-]{0,98}[a-z0-9])?$/;
/** Prefixes of names that are not the key itself. */
const [escaped, hashed] = ["x.", "k."] as const;
const maxEscapedLength = 120;

/**
 * The name of a key. Injective: two keys never share a name.
 * - The key itself, if it is plain: at most 100 of `a-z 0-9 . -`, with a letter or digit at the ends.
 * - Else `x.` and its UTF-8 bytes, with `_` and two hexadecimal digits for every other byte.
 * - Else `k.` and a SHA-256: of a long key, the empty one, and ill-formed text.
 */
export function nameByKey(key: string): string {
  if (isPlain(key)) return key;
  if (key !== "" && key.isWellFormed()) {
    const name = escaped + escapedBytes(encodeUtf8(key));
    if (name.length <= maxEscapedLength) return name;
  }
  // JSON text escapes lone surrogates, which UTF-8 would replace.
  return hashedName(JSON.stringify(key));
}

/** A name for several keys together, which no key alone has. */
export function joinedName(...keys: readonly string[]): string {
  return hashedName(JSON.stringify(keys));
}

/** The key of a name; undefined if the name is a digest, or {@link nameByKey} never gives it. */
export function keyOfName(name: string): string | undefined {
  if (isPlain(name)) return name;
  const bytes: number[] = [];
  for (let at = escaped.length; at < name.length; at++) {
    if (name[at] !== "_") bytes.push(name.charCodeAt(at));
    else {
      bytes.push(Number.parseInt(name.slice(at + 1, at + 3), 16));
      at += 2;
    }
  }
  const key = decodeUtf8(Uint8Array.from(bytes));
  return key !== undefined && nameByKey(key) === name ? key : undefined;
}

/** Whether a name is a digest, so that only the session itself has the key. */
export function isHashedName(name: string): boolean {
  return name.startsWith(hashed);
}

function isPlain(key: string): boolean {
  return plainName.test(key) && !key.startsWith(escaped) && !key.startsWith(hashed);
}

function hashedName(text: string): string {
  return hashed + digest(encodeUtf8(text)).slice("sha256:".length);
}

function escapedBytes(bytes: Uint8Array): string {
  let name = "";
  for (const [at, byte] of bytes.entries()) {
    const character = String.fromCharCode(byte);
    const isLast = at === bytes.length - 1;
    const isKept = isLast ? /[a-z0-9]/.test(character) : /[a-z0-9.-]/.test(character);
    name += isKept ? character : `_${byte.toString(16).padStart(2, "0")}`;
  }
  return name;
}

// The options that all adapters share.

/** The stores of an adapter, and its bounds. */
export interface AdapterOptions {
  readonly sessions: SessionStore;
  /** The store for large values. @default none: all values stay in the log */
  readonly blobs?: BlobStore;
  /** The partition of the sessions. @default the name of the adapter */
  readonly partition?: string;
  /**
   * Characters from which on a string goes to `blobs`, and 256 at most for a data URL. Minimum: 1.
   * @default 4096
   */
  readonly outOfLine?: number;
  /** Maximum number of open sessions. Minimum: 1. @default 64 */
  readonly maxOpen?: number;
}

/** The options with their defaults. */
interface AdapterSettings {
  readonly sessions: SessionStore;
  readonly blobs: BlobStore | undefined;
  readonly partition: string;
  readonly outOfLine: number;
  readonly maxOpen: number;
}

/**
 * Checks the options of an adapter.
 * @throws TypeError, RangeError for invalid options
 */
export function adapterSettings(adapter: string, options: AdapterOptions): AdapterSettings {
  const { sessions, blobs, partition = adapter, outOfLine, maxOpen } = options ?? {};
  if (typeof sessions?.open !== "function")
    throw new TypeError(`sessions: expected a session store, got ${describe(sessions)}`);
  if (blobs !== undefined && typeof blobs?.put !== "function")
    throw new TypeError(`blobs: expected a blob store, got ${describe(blobs)}`);
  return {
    sessions,
    blobs,
    partition: nameArgument("partition", partition),
    outOfLine: integerOption("outOfLine", outOfLine, 4096, 1),
    maxOpen: integerOption("maxOpen", maxOpen, 64, 1),
  };
}
