/**
 * The history that the model of a thread sees, and its turns, by entries that have no ids yet. Rollbacks and
 * compactions change both.
 */

import { type ForeignObject, readObject, readText, toArray } from "../shared/values.js";
import type { DraftEntry, EntryBuilder } from "../types.js";
import { contentTexts, initialContextType, objectsIn, plainItem } from "./items.js";

/** A turn that the user began. */
interface Turn {
  /** The entry before it. */
  readonly before: Draft | null;
  /** Items of the history before it. */
  readonly historyCount: number;
}

/** The state after a line. Both arrays only grow, or are replaced. */
interface State {
  readonly ordinal: number;
  readonly cursor: Draft | null;
  readonly turns: readonly Turn[];
  readonly turnCount: number;
  readonly history: readonly HistoryItem[];
  readonly historyCount: number;
}

/** The history and the turns of one thread. */
export class ThreadState {
  #turns: Turn[] = [];
  #history: HistoryItem[] = [];
  readonly dropped = new DroppedEntries();
  readonly #states: State[] | undefined;
  readonly #trims: boolean;
  /** The place before the harness's messages that precede a turn. */
  #opening: Turn | undefined;

  /** `keepsStates`: a file continues from an earlier line. `trims`: rollbacks drop harness messages. */
  constructor({ keepsStates, trims }: { readonly keepsStates: boolean; readonly trims: boolean }) {
    this.#states = keepsStates ? [] : undefined;
    this.#trims = trims;
  }

  get history(): readonly HistoryItem[] {
    return this.#history;
  }

  /** Adds an item that the model sees. */
  see(item: ForeignObject, ...drafts: readonly Draft[]): void {
    this.#history.push({ item, drafts });
  }

  /** Begins a turn after an entry. */
  beginTurn(before: Draft | null): void {
    // Codex never drops the initial context of the first turn.
    const opening = this.#trims && this.#turns.length > 0 ? this.#opening : undefined;
    this.#turns.push(opening ?? { before, historyCount: this.#history.length });
    this.#opening = undefined;
  }

  /** Adds a harness text after an entry. The next turn begins with it. */
  open(before: Draft | null): void {
    this.#opening ??= { before, historyCount: this.#history.length };
  }

  /** The model said something, or a tool. */
  close(): void {
    this.#opening = undefined;
  }

  /** Begins a history with none of the items before. A compaction keeps these entries. */
  restart(kept: ReadonlySet<Draft>): void {
    this.dropped.add(this.#history, kept);
    this.#history = [];
    this.#turns = [];
  }

  /** Drops the last turns. Returns the entry before them; undefined if there is no turn. */
  rollBack(count: number): { readonly before: Draft | null; readonly dropped: number } | undefined {
    const at = Math.max(0, this.#turns.length - count);
    const turn = this.#turns[at];
    if (turn === undefined) return undefined;
    const dropped = this.#turns.length - at;
    this.#turns = this.#turns.slice(0, at);
    this.#history = this.#history.slice(0, turn.historyCount);
    return { before: turn.before, dropped };
  }

  /** Remembers the state after a line. */
  note(ordinal: number, cursor: Draft | null): void {
    this.#states?.push({
      ordinal,
      cursor,
      turns: this.#turns,
      turnCount: this.#turns.length,
      history: this.#history,
      historyCount: this.#history.length,
    });
  }

  /** Goes back to the state before a line. Returns the last entry of that state. */
  revertTo(ordinal: number): Draft | null {
    const state = this.#states?.findLast((each) => each.ordinal < ordinal);
    // They may be on the path that is left.
    this.dropped.clear();
    this.#turns = state?.turns.slice(0, state.turnCount) ?? [];
    this.#history = state?.history.slice(0, state.historyCount) ?? [];
    return state?.cursor ?? null;
  }
}

// Entries before they have ids. Later lines of a rollout change earlier entries: usage, exit codes, aborted
// turns. So the entries are collected first, and added in order at the end.

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** An entry that may still change. */
export interface Draft<T extends DraftEntry = DraftEntry> {
  /** A function is called when all earlier entries have their ids. */
  entry: Mutable<T> | ((draftId: (draft: Draft) => string) => DraftEntry);
  readonly parent: Draft | null;
  readonly recordId: string;
  readonly part: string;
  readonly timestamp: unknown;
  /** The id that this library gave the entry earlier. */
  readonly id: string | undefined;
  /** Left out in the end. */
  isDropped?: boolean;
}

/** The place of a draft: its record, its time. */
export interface DraftPlace {
  readonly recordId: string;
  readonly part?: string | number;
  readonly timestamp?: unknown;
  readonly id?: string | undefined;
}

/** The entries of one session in the order of its lines. */
export class Timeline {
  readonly #drafts: Draft[] = [];
  #cursor: Draft | null = null;

  /** The entry that the next one follows. */
  get cursor(): Draft | null {
    return this.#cursor;
  }

  /** Adds an entry after the cursor. */
  add<T extends DraftEntry>(entry: T | Draft["entry"], place: DraftPlace): Draft<T> {
    const { recordId, part = "", timestamp, id } = place;
    const draft: Draft = {
      entry: entry as Draft["entry"],
      parent: this.#cursor,
      recordId,
      part: String(part),
      timestamp,
      id,
    };
    this.#drafts.push(draft);
    this.#cursor = draft;
    return draft as unknown as Draft<T>;
  }

  /** Moves the leaf to an earlier entry, or before the first. The next entry follows that one. */
  moveTo(target: Draft | null, place: DraftPlace): void {
    if (target === this.#cursor) return;
    this.#cursor = target;
    const { recordId, part = "leaf", timestamp } = place;
    const entry: Draft["entry"] = (readId) => ({
      type: "leaf",
      targetId: target === null ? null : readId(target),
    });
    this.#drafts.push({ entry, parent: target, recordId, part: String(part), timestamp, id: undefined });
  }

  /** Adds all entries to a builder, and sets the leaf. */
  flush(builder: EntryBuilder): void {
    const ids = new Map<Draft, string>();
    const findId = (draft: Draft | null): string | null => {
      let at = draft;
      while (at?.isDropped === true) at = at.parent;
      return at === null ? null : (ids.get(at) ?? null);
    };
    for (const draft of this.#drafts) {
      if (draft.isDropped === true) continue;
      const { entry, recordId, part, timestamp, id } = draft;
      const made = typeof entry === "function" ? entry((other) => findId(other) ?? "") : entry;
      ids.set(draft, builder.add(made, { recordId, part, timestamp, id, parentId: findId(draft.parent) }));
    }
    builder.setLeaf(findId(this.#cursor));
  }
}

// The history after a compaction: which entries stay, and which items are new.

/** An item that the model sees, and its entries. Several items may share the entry of a reply. */
interface HistoryItem {
  readonly item: ForeignObject;
  readonly drafts: readonly Draft[];
}

/** The words in front of a summary that Codex gives to a model, of 0.58 to 0.169 (2026-11-23). */
export const summaryPrefix =
  "Another language model started to solve this problem and produced a summary of its thinking process. " +
  "You also have access to the state of the tools that were used by that language model. " +
  "Use this to build on the work that has already been done and avoid duplicating work. " +
  "Here is the summary produced by the other language model, use the information in this summary to assist " +
  "with your own analysis:";

/** An item of the new history: one of before, or a new one. */
type ReplacedItem =
  | { readonly kind: "kept"; readonly item: ForeignObject; readonly drafts: readonly Draft[] }
  | { readonly kind: "new"; readonly item: ForeignObject };

/** A compaction as its line tells it. */
interface ReadCompaction {
  readonly summary: string;
  /** The new history in order, without the summary and the instructions. */
  readonly items: readonly ReplacedItem[];
  /** Whether the line has no new history: early versions kept all messages of users. */
  readonly isGuessed: boolean;
}

/** Entries that compactions dropped. A later new history may have them again. */
class DroppedEntries {
  readonly #byFirstItem = new Map<string, readonly HistoryItem[]>();

  /** Adds the entries of a history, but for those that a compaction keeps. */
  add(history: readonly HistoryItem[], kept: ReadonlySet<Draft>): void {
    for (let start = 0, end = 0; start < history.length; start = end) {
      const [draft] = history[start]?.drafts ?? [];
      do end++;
      while (draft !== undefined && history[end]?.drafts[0] === draft);
      if (draft === undefined || kept.has(draft)) continue;
      const run = history.slice(start, end);
      this.#byFirstItem.set(readKey((run[0] as HistoryItem).item), run);
    }
  }

  /** Removes and returns the entry with all of its items at a place. The newest of equal entries is found. */
  take(keys: readonly string[], at: number): readonly HistoryItem[] {
    const first = keys[at] as string;
    const run = this.#byFirstItem.get(first);
    if (run?.every(({ item }, each) => readKey(item) === keys[at + each]) !== true) return [];
    this.#byFirstItem.delete(first);
    return run;
  }

  clear(): void {
    this.#byFirstItem.clear();
  }
}

/** Reads the payload of a `compacted` line against the history before it. */
export function readCompacted(
  payload: ForeignObject,
  history: readonly HistoryItem[],
  dropped: DroppedEntries,
): ReadCompaction {
  const message = readText(payload.message) ?? "";
  const summary = withoutPrefix(message);
  if (!Array.isArray(payload.replacement_history)) {
    const users = history.filter(({ item, drafts }) => isUser(item) && drafts.every(isKeptUser));
    return { summary, items: users.map((each) => ({ kind: "kept", ...each })), isGuessed: true };
  }
  const replaced = objectsIn(payload.replacement_history);
  const isSummary = (item: ForeignObject) => {
    if (!isUser(item)) return false;
    const text = contentTexts(item.content);
    return text.startsWith(summaryPrefix) || (message !== "" && text === message);
  };
  const shown = replaced.filter((item) => !isSummary(item) && !isInstruction(item));
  const last = replaced.findLast(isSummary);
  const text = summary === "" && last !== undefined ? withoutPrefix(contentTexts(last.content)) : summary;
  return { summary: text, items: matched(shown, history, dropped), isGuessed: false };
}

function withoutPrefix(message: string): string {
  return message.startsWith(summaryPrefix) ? message.slice(summaryPrefix.length).replace(/^\n/, "") : message;
}

function isUser({ type, role }: ForeignObject): boolean {
  return type === "message" && role === "user";
}

function isInstruction({ type, role }: ForeignObject): boolean {
  return type === "message" && (role === "developer" || role === "system");
}

/** Messages of the harness are kept only if it gives them at the beginning. */
function isKeptUser({ entry }: Draft): boolean {
  if (typeof entry === "function" || entry.type !== "custom_message") return true;
  return entry.customType === initialContextType;
}

/**
 * Finds entries of the old history again: each with all of its items in sequence. Equal entries are
 * tried in order, and a bound on all comparisons keeps the time linear.
 */
function matched(
  items: readonly ForeignObject[],
  history: readonly HistoryItem[],
  dropped: DroppedEntries,
): readonly ReplacedItem[] {
  const oldKeys = history.map(({ item }) => readKey(item));
  const keys = items.map(readKey);
  const starts = new Map<string, number[]>();
  // The earliest are at the end of each list, where removal is cheap.
  for (let at = history.length - 1; at >= 0; at--) {
    const key = oldKeys[at] as string;
    if (at > 0 && history[at]?.drafts[0] === history[at - 1]?.drafts[0]) continue;
    const same = starts.get(key);
    if (same === undefined) starts.set(key, [at]);
    else same.push(at);
  }
  let left = 8 * (items.length + history.length);
  /** The number of items of the entry at a place, if all of them are at `at`. */
  const runAt = (start: number, at: number): number => {
    const draft = history[start]?.drafts[0];
    let length = 0;
    for (; draft !== undefined && history[start + length]?.drafts[0] === draft; length++) {
      if (left-- <= 0 || keys[at + length] !== oldKeys[start + length]) return 0;
    }
    return length;
  };
  const out: ReplacedItem[] = [];
  for (let at = 0; at < items.length; ) {
    const places = starts.get(keys[at] as string) ?? [];
    const which = places.slice(-maxPlaces).findLastIndex((start) => runAt(start, at) > 0);
    const place = Math.max(0, places.length - maxPlaces) + which;
    const start = which < 0 ? undefined : places[place];
    const length = start === undefined ? 0 : runAt(start, at);
    if (start !== undefined && length > 0) places.splice(place, 1);
    const run =
      start === undefined || length === 0 ? dropped.take(keys, at) : history.slice(start, start + length);
    if (run.length === 0) {
      out.push({ kind: "new", item: items[at] as ForeignObject });
      at++;
      continue;
    }
    for (const [each, { drafts }] of run.entries())
      out.push({ kind: "kept", item: items[at + each] as ForeignObject, drafts });
    at += run.length;
  }
  return out;
}

/** Equal entries that are tried for one item. */
const maxPlaces = 8;

/** Equal for an item and its copy in a later line. */
function readKey(item: ForeignObject): string {
  if (item.type === "message") {
    const { content, role } = item;
    const parts = toArray(content).map(
      (part) => readObject(part)?.text ?? readObject(part)?.image_url ?? part,
    );
    return JSON.stringify([role, typeof content === "string" ? [content] : parts]);
  }
  const { id: _id, status: _status, ...rest } = plainItem(item);
  return JSON.stringify(rest);
}
