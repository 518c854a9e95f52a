import type { Context, ContextItem } from "../../content/index.js";
import type { SessionEntry, UnknownEntry } from "../api/entries.js";
import { entryTypesWith, kindsInContext } from "../format/entry-types.js";
import { type EntryTable, noRow } from "../tree/entry-table.js";
import { entryTableOf, rowOf, type SessionTree } from "../tree/session-tree.js";
import {
  assembleItems,
  hasLostCall,
  hasStrayResult,
  latestEdits,
  resultsLost,
  updated,
  updatesOf,
} from "./context-items.js";

/** What a step asks for: the bodies of these rows. It is resumed with a look-up of them. */
export type EntryRequests<T> = Generator<
  readonly number[],
  T,
  (row: number) => SessionEntry | UnknownEntry | undefined
>;

/**
 * Builds the context at a row, or the empty one. A coroutine that asks for the bodies it needs, so that one text serves
 * bodies in memory and bodies in a file: first the latest compaction, since it says what is kept; then all the rest at
 * once. Structure is followed over the whole path, bodies are read for what is in context only, besides pins.
 */
export function* contextAt(rows: EntryTable, leaf: number): EntryRequests<Context> {
  return (yield* buildContext(rows, leaf)).context;
}

/** A context, and what there is to know to go on from it. */
export interface BuiltContext {
  readonly context: Context;
  readonly rows: EntryTable;
  readonly leaf: number;
  /** The rows whose bodies it shows. */
  readonly shown: readonly number[];
  /** Nothing on the path says anything of entries that come later, as an edit or a pin may. */
  readonly extensible: boolean;
}

/** {@link contextAt} with what {@link extendedSteps} needs. */
export function* buildContext(rows: EntryTable, leaf: number): EntryRequests<BuiltContext> {
  const path = leaf === noRow ? new Int32Array() : rows.path(leaf);
  const { compaction, compactionAt } = yield* latestCompaction(rows, path);
  const range = keptRange(rows, path, compaction, compactionAt);
  const isRetained = new Set(range.retained);
  const kinds = kindCodes(rows);
  const needed: number[] = [];
  let beforeCompaction = 0;
  const pinRows: number[] = [];
  const viewRows: number[] = [];
  /** For each view, how many needed rows stand before it. */
  const viewsAfter: number[] = [];
  const observationRows: number[] = [];
  const observationsAfter: number[] = [];
  const editRows: number[] = [];
  /** The same for each edit. */
  const editsAfter: number[] = [];
  for (let i = 0; i < path.length; i++) {
    const row = path[i] as number;
    const kind = rows.kindAt(row);
    if (kinds.shown[kind]) {
      if (i < range.start && !isRetained.has(i)) continue;
      needed.push(row);
      if (i < compactionAt) beforeCompaction++;
    } else if (kind === kinds.pin) pinRows.push(row);
    else if (kinds.edits[kind] && i > range.earliest) {
      editRows.push(row);
      editsAfter.push(needed.length);
    } else if (kind === kinds.view && i >= range.start) {
      viewRows.push(row);
      viewsAfter.push(needed.length);
    } else if (kind === kinds.observation) {
      observationRows.push(row);
      observationsAfter.push(i < range.start ? -1 : needed.length);
    }
  }
  const settings = yield* foldSettings(rows, path);
  const others = [...editRows, ...pinRows, ...viewRows, ...observationRows];
  const bodyOf = yield others.length === 0 ? needed : [...needed, ...others];
  const edits = editRows.map(bodyOf);
  const retained = new Set(range.retained.map((at) => rows.id(path[at] as number)));
  const updates = updatesOf(edits);
  const bodies = needed.map((row) => updated(bodyOf(row), updates));
  const lost = hasStrayResult({ needed: bodies, beforeCompaction })
    ? yield* lostBefore(rows, path, needed.slice(0, beforeCompaction))
    : nothing;
  const items = assembleItems({ needed: bodies, beforeCompaction, retained, edits, compaction, lost });
  // One whose body cannot be read changes nothing. One from before the compaction has no more before it than that has.
  const lastEdit = edits.findLastIndex((entry) => entry !== undefined && editTypes.has(entry.type));
  const changedAfter = Math.max(beforeCompaction, editsAfter[lastEdit] ?? 0);
  const isChanged = compaction !== undefined || lastEdit >= 0;
  const isPlaced = isChanged || viewRows.length > 0 || observationRows.length > 0;
  const placeOf = isPlaced ? placesAfter(items, needed.map(rows.id, rows), retained) : undefined;
  const observations = observationRows.flatMap((row, at) => {
    const entry = bodyOf(row);
    if (entry?.type !== "resource_observation") return [];
    const item = placeOf?.[observationsAfter[at] as number] ?? 0;
    return [{ entryId: entry.id, resourceId: entry.resourceId, item, text: entry.text }];
  });
  const context: Context = {
    items,
    views: viewRows.flatMap((row, at) => {
      const entry = bodyOf(row);
      if (entry?.type !== "resource_view") return [];
      const item = placeOf?.[viewsAfter[at] as number] ?? 0;
      return [{ entryId: entry.id, resourceId: entry.resourceId, item }];
    }),
    ...(observations.length === 0 ? {} : { observations }),
    pins: pinsOf(rows, path, pinRows.map(bodyOf)),
    ...settings,
    usageSince: isChanged ? (placeOf?.[changedAfter] ?? 0) : 0,
  };
  const spoken = [...edits, ...pinRows.map(bodyOf)];
  const extensible =
    !rows.hasUnlinkedParents &&
    targetsPathOnly(rows, path, spoken) &&
    (edits.length === 0 || !hasLostCall(bodies, items));
  return { context, rows, leaf, shown: needed, extensible };
}

/** Whether edits and pins are of entries on the path, or of none that can come: an entry never follows what names it later. */
function targetsPathOnly(
  rows: EntryTable,
  path: Int32Array,
  spoken: readonly (SessionEntry | UnknownEntry | undefined)[],
): boolean {
  if (spoken.length === 0) return true;
  const onPath = new Set(path);
  return spoken.every(
    (entry) =>
      entry === undefined ||
      !(editTypes.has(entry.type) || entry.type === "context_pin") ||
      onPath.has(rows.row((entry as SessionEntry & { readonly type: "context_edit" }).targetId)),
  );
}

/** Entries that change what contexts show of another one. */
const editTypes = entryTypesWith("edits");

const nothing: ReadonlySet<string> = new Set();

/**
 * Results before the compaction whose call an edit took out of a message that the compaction covers: they stay out, though they
 * are kept. Asked where a result has no call alone, since it reads every edit of the path.
 */
function* lostBefore(
  rows: EntryTable,
  path: Int32Array,
  kept: readonly number[],
): EntryRequests<ReadonlySet<string>> {
  const { edits: isEdit } = kindCodes(rows);
  const assistant = rows.kindCode("message/assistant");
  const editRows = Array.from(path).filter((row) => isEdit[rows.kindAt(row)]);
  if (editRows.length === 0) return nothing;
  const changes = editRows.map(yield editRows);
  const edits = latestEdits(changes);
  const updates = updatesOf(changes);
  const shown = new Set(kept);
  const asked = Array.from(path).filter(
    (row) => shown.has(row) || (rows.kindAt(row) === assistant && edits.has(rows.id(row))),
  );
  const bodyOf = yield asked;
  const bodies = asked.map((row) => updated(bodyOf(row), updates));
  return resultsLost(bodies, edits, (id) => shown.has(rows.row(id)));
}

/**
 * How many items stand before whatever follows the first n needed entries, for each n; where that is in the kept range
 * or after it, so that what was retained stands before it in any case.
 */
function placesAfter(
  items: readonly ContextItem[],
  needed: readonly string[],
  retained: ReadonlySet<string>,
): readonly number[] {
  const shown = new Set(items.map(({ entryId }) => entryId));
  const isInTail = needed.map((id) => shown.has(id) && !retained.has(id));
  let item = items.length - isInTail.filter(Boolean).length;
  return [item, ...isInTail.map((is) => (is ? ++item : item))];
}

interface KindCodes {
  readonly pin: number;
  /** By kind code. */
  readonly edits: readonly boolean[];
  readonly view: number;
  readonly observation: number;
  /** By kind code. */
  readonly shown: readonly boolean[];
}

function kindCodes(rows: EntryTable): KindCodes {
  const codes = (kinds: Iterable<string>) => {
    const among: boolean[] = new Array(rows.kindCount).fill(false);
    for (const kind of kinds) if (rows.kindCode(kind) >= 0) among[rows.kindCode(kind)] = true;
    return among;
  };
  return {
    pin: rows.kindCode("context_pin"),
    edits: codes(editTypes),
    view: rows.kindCode("resource_view"),
    observation: rows.kindCode("resource_observation"),
    shown: codes(kindsInContext),
  };
}

interface Compaction {
  readonly compaction: (SessionEntry & { readonly type: "compaction" }) | undefined;
  /** Index in the path, or -1. */
  readonly compactionAt: number;
}

/** The latest compaction whose body can be read. */
export function* latestCompaction(rows: EntryTable, path: Int32Array): EntryRequests<Compaction> {
  const code = rows.kindCode("compaction");
  for (let at = path.length - 1; at >= 0 && code >= 0; at--) {
    const row = path[at] as number;
    if (rows.kindAt(row) !== code) continue;
    const bodyOf = yield [row];
    const entry = bodyOf(row);
    if (entry?.type === "compaction") return { compaction: entry, compactionAt: at };
  }
  return { compaction: undefined, compactionAt: -1 };
}

interface KeptRange {
  /** Index in the path from which everything is in context. */
  readonly start: number;
  /** Indexes before the compaction that it lists, in its order. They are in context too, in front of the others. */
  readonly retained: readonly number[];
  /** The first index that is in context. */
  readonly earliest: number;
}

/** Which part of the path a compaction leaves in context. */
export function keptRange(
  rows: EntryTable,
  path: Int32Array,
  compaction: Compaction["compaction"],
  compactionAt: number,
): KeptRange {
  if (compaction === undefined) return { start: 0, retained: [], earliest: 0 };
  const before = path.subarray(0, compactionAt);
  const firstKept = before.indexOf(rows.row(compaction.firstKeptEntryId));
  const start = firstKept < 0 ? compactionAt : firstKept;
  const retained = placesOf(before, new Set(compaction.retain?.map((id) => rows.row(id))));
  return { start, retained, earliest: retained.reduce((first, at) => Math.min(first, at), start) };
}

/** Where in a path the wanted rows are, in the order in which they are wanted. */
function placesOf(path: Int32Array, wanted: ReadonlySet<number>): readonly number[] {
  const places = new Map<number, number>();
  for (let at = 0; at < path.length && places.size < wanted.size; at++) {
    const row = path[at] as number;
    if (wanted.has(row)) places.set(row, at);
  }
  return Array.from(wanted).flatMap((row) => places.get(row) ?? []);
}

/** Model and thinking level over the whole path, from its end: the latest that says one wins. */
function* foldSettings(
  rows: EntryTable,
  path: Int32Array,
): EntryRequests<Pick<Context, "model" | "thinkingLevel">> {
  const modelChange = rows.kindCode("model_change");
  const assistant = rows.kindCode("message/assistant");
  const thinking = rows.kindCode("thinking_level_change");
  let model: Context["model"] | undefined;
  let thinkingLevel: string | undefined;
  for (let at = path.length - 1; at >= 0 && (model === undefined || thinkingLevel === undefined); at--) {
    const row = path[at] as number;
    const kind = rows.kindAt(row);
    const saysModel = kind === modelChange || kind === assistant;
    if (!(saysModel && model === undefined) && !(kind === thinking && thinkingLevel === undefined)) continue;
    const bodyOf = yield [row];
    const entry = bodyOf(row);
    if (entry?.type === "model_change") model = { provider: entry.provider, modelId: entry.modelId };
    else if (entry?.type === "thinking_level_change") thinkingLevel = entry.thinkingLevel;
    else if (entry?.type === "message" && entry.message.role === "assistant") {
      model = { provider: entry.message.provider, modelId: entry.message.model };
    }
  }
  return { model: model ?? null, thinkingLevel: thinkingLevel ?? "off" };
}

function pinsOf(
  rows: EntryTable,
  path: Int32Array,
  entries: readonly (SessionEntry | UnknownEntry | undefined)[],
): string[] {
  if (entries.length === 0) return [];
  const pinned = new Set<number>();
  for (const entry of entries) {
    if (entry?.type !== "context_pin") continue;
    const row = rows.row(entry.targetId);
    if (entry.pinned) pinned.add(row);
    else pinned.delete(row);
  }
  return Array.from(path).flatMap((row) => (pinned.has(row) ? [rows.id(row)] : []));
}

/** Runs steps over bodies that are in memory. */
export function runInMemory<T>(
  steps: EntryRequests<T>,
  bodyOf: (row: number) => SessionEntry | UnknownEntry | undefined,
): T {
  let step = steps.next();
  while (!step.done) step = steps.next(bodyOf);
  return step.value;
}

/** What {@link buildSessionContext} needs of a session: its tree, its leaf, and its entries in memory. */
export interface ContextSource {
  readonly tree: SessionTree;
  readonly leafId: string | null;
  /** The entry with this id, or undefined. */
  entry(id: string): SessionEntry | UnknownEntry | undefined;
}

/**
 * What a model is to see next, from the root to a leaf: the latest compaction's system message and summary, what it
 * retained, the messages from its first kept entry on, branch summaries and custom messages among them, each as the
 * latest context edit on the path leaves it. Model and thinking level are those in force at the leaf. An entry whose
 * body cannot be read is left out.
 *
 * @param leafId where to end; the session's leaf if absent, and an empty context for null
 * @throws SessileError ENTRY_NOT_FOUND
 * @example
 * ```ts
 * const { items, model } = buildSessionContext(parseSession(bytes));
 * ```
 */
export function buildSessionContext(session: ContextSource, leafId: string | null = session.leafId): Context {
  const rows = entryTableOf(session.tree);
  const leaf = leafId === null ? noRow : rowOf(rows, leafId);
  return runInMemory(contextAt(rows, leaf), (row) => session.entry(rows.id(row)));
}
