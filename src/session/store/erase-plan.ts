/** The plan of an erasure in one log: the lines that change, and the entries that derive from erased ones. */

import type { BlobRef } from "../../content/index.js";
import { toolCalls } from "../../content/index.js";
import { isRecord } from "../../internal/shape.js";
import type { LineReplacement, SessionLog } from "../api/backend.js";
import { type Erasure, formatVersion, type SessionEntry } from "../api/entries.js";
import { decodeLine, stripBom } from "../format/decode.js";
import { entryIdOf, parseEntryPrefix } from "../format/entry-prefix.js";
import { defaultLimits } from "../format/line-splitter.js";
import { type ErasedPart, erasureOf, tombstoneLine } from "../format/tombstone.js";
import { storedLines, withLineFeed } from "../runtime/log-lines.js";
import { type EntryTable, noRow } from "../tree/entry-table.js";
import { blobRefsInLine } from "./blob-roots.js";

/** An entry that was made from an erased one and is not erased itself. */
export interface DerivedEntry {
  readonly entryId: string;
  /**
   * A summary that covers it, a value of a memory block written after it, the result of an erased tool call,
   * an observation about its attachment, a revert to it, or a part of the file that it was imported from.
   */
  readonly kind:
    | "compaction"
    | "branch_summary"
    | "memory"
    | "tool_result"
    | "observation"
    | "revert"
    | "import";
  /** The erased entries that it may have content of. */
  readonly from: readonly string[];
}

/** The erasure of one entry: its record, and the parts of the body that it is of. */
export interface EntryErasure {
  readonly erasure: Erasure;
  readonly part: ErasedPart;
}

/** The changes of an erasure to one log. */
export interface ErasurePlan {
  readonly changes: readonly LineReplacement[];
  /** Ids of the entries whose bodies are erased: also those that edit, label or name the requested ones. */
  readonly erased: readonly string[];
  readonly derived: readonly DerivedEntry[];
  /** The blobs that the old lines name. */
  readonly refs: ReadonlySet<BlobRef>;
  /** The number of lines without a readable id, which stay as they are. */
  readonly unread: number;
  /** Whether an entry was erased before: the blobs that it named are no longer known. */
  readonly isRepeated: boolean;
  /** Whether memory blocks that sessions share may have content too: their texts are elsewhere. */
  readonly isShared: boolean;
}

const { maxDepth } = defaultLimits;

/**
 * Plans an erasure. Reads the log twice, and keeps only bodies of other types than messages.
 *
 * @param rows the tree of the log
 * @param requested the entries, each with its erasure
 */
export async function planErasure(
  rows: EntryTable,
  log: Pick<SessionLog, "read" | "readAt">,
  requested: ReadonlyMap<string, EntryErasure>,
): Promise<ErasurePlan> {
  const facts = await readFacts(log, requested);
  const records = new Map(requested);
  for (const entry of facts.entries) {
    const erasure = requested.get(copiedFrom(entry) ?? "")?.erasure;
    if (erasure !== undefined && !records.has(entry.id)) records.set(entry.id, { erasure, part: "body" });
  }
  const first = firstErased(rows, requested);
  for (const entry of facts.entries) {
    if (first === undefined || entry.type !== "session_info" || records.has(entry.id)) continue;
    const { name, title, slug } = entry;
    if (name !== undefined || title !== undefined || slug !== undefined)
      records.set(entry.id, { erasure: first, part: "names" });
  }
  const changes: LineReplacement[] = [];
  const refs = new Set<BlobRef>();
  let unread = 0;
  let isRepeated = false;
  let isFirst = true;
  for await (const { bytes: stored, at } of storedLines(log as SessionLog)) {
    const bytes = isFirst ? stripBom(stored) : stored;
    isFirst = false;
    const id = idOfLine(bytes);
    if (id === undefined) unread++;
    const record = id ? records.get(id) : undefined;
    const line = record && tombstoneLine(bytes, record.erasure, record.part);
    if (record !== undefined && line === undefined) isRepeated = true;
    if (line === undefined) continue;
    for (const ref of blobRefsInLine(bytes)) refs.add(ref);
    changes.push({ at, length: stored.length, line: withLineFeed(line) });
  }
  const erased = [...records.keys()].sort((a, b) => rows.row(a) - rows.row(b));
  const derived = derivedEntries(rows, facts, new Set(erased));
  const reached = new Set([...erased, ...derived.map(({ entryId }) => entryId)]);
  const isShared = facts.entries.some((entry) => reached.has(entry.id) && isSharedValue(entry));
  return { changes, erased, derived, refs, unread, isRepeated, isShared };
}

/** The bodies that a plan needs. */
interface Facts {
  /** All readable entries but messages, and the results of tools. */
  readonly entries: readonly SessionEntry[];
  /** Resources that the requested entries have, each with the entry. */
  readonly resources: ReadonlyMap<string, string>;
  /** Calls in the requested entries, each with the entry. */
  readonly calls: ReadonlyMap<string, string>;
}

async function readFacts(
  log: Pick<SessionLog, "read" | "readAt">,
  requested: ReadonlyMap<string, EntryErasure>,
): Promise<Facts> {
  const entries: SessionEntry[] = [];
  const resources = new Map<string, string>();
  const calls = new Map<string, string>();
  let isFirst = true;
  for await (const { bytes, tooLong } of storedLines(log as SessionLog)) {
    const line = isFirst ? stripBom(bytes) : bytes;
    isFirst = false;
    if (tooLong) continue;
    const head = parseEntryPrefix(line);
    const isRequested = head !== undefined && requested.has(entryIdOf(head.id));
    if (head?.type === "message" && head.role !== "toolResult" && !isRequested) continue;
    const entry = entryOfLine(line);
    if (entry === undefined) continue;
    const { id } = entry;
    if (requested.has(id)) {
      for (const resourceId of resourceIdsIn(entry)) resources.set(resourceId, id);
      if (entry.type === "message" && entry.message.role === "assistant")
        for (const call of toolCalls(entry.message)) calls.set(call.id, id);
    }
    if (entry.type !== "message") entries.push(entry);
    else if (entry.message.role === "toolResult")
      entries.push({ ...entry, message: { ...entry.message, content: [], details: undefined } });
  }
  return { entries, resources, calls };
}

function entryOfLine(line: Uint8Array): SessionEntry | undefined {
  const decoded = decodeLine(line, { version: formatVersion, ordinal: 0, maxDepth }, { unchecked: true });
  if (decoded.kind !== "entry" || decoded.entry === undefined || decoded.entry.type === "unknown")
    return undefined;
  return decoded.entry;
}

const torn = /^\{"type":"[^"\\]*","id":"([^"\\]*)"/;

/** The id of an entry's line, also of a damaged or torn one; "" for lines that have none. */
function idOfLine(line: Uint8Array): string | undefined {
  const head = parseEntryPrefix(line);
  if (head !== undefined) return entryIdOf(head.id);
  const decoded = decodeLine(line, { version: formatVersion, ordinal: 0, maxDepth }, { unchecked: true });
  if (decoded.kind === "entry") return entryIdOf(decoded.head.id);
  if (decoded.kind !== "bad") return "";
  return torn.exec(new TextDecoder().decode(line.subarray(0, 1024)))?.[1];
}

function* resourceIdsIn(value: unknown): Generator<string> {
  if (Array.isArray(value)) for (const item of value) yield* resourceIdsIn(item);
  if (!isRecord(value)) return;
  if (typeof value.resourceId === "string") yield value.resourceId;
  for (const member of Object.values(value)) yield* resourceIdsIn(member);
}

/** The entry that another one has content of, or describes: it is erased with it. */
function copiedFrom(entry: SessionEntry): string | undefined {
  switch (entry.type) {
    case "context_edit":
      return entry.replacement === null ? undefined : entry.targetId;
    case "label":
      return entry.label === undefined || entry.label === "" ? undefined : entry.targetId;
    case "message_update":
    case "part_update":
      return entry.targetId;
    default:
      return undefined;
  }
}

/** Whether an entry is a write of a memory block whose text is kept by a source of the caller. */
function isSharedValue(entry: SessionEntry): boolean {
  if (entry.type !== "custom" || entry.customType !== "sessile.memory") return false;
  return isRecord(entry.data) && typeof entry.data.version === "string";
}

/** The erasure of the user's first message, from which names of the session are made. */
function firstErased(rows: EntryTable, requested: ReadonlyMap<string, EntryErasure>): Erasure | undefined {
  for (const [id, { erasure }] of requested) {
    const row = rows.row(id);
    if (row === noRow || rows.kind(row) !== "message/user") continue;
    let above = rows.parent(row);
    while (above !== noRow && rows.kind(above) !== "message/user") above = rows.parent(above);
    if (above === noRow) return erasure;
  }
  return undefined;
}

function derivedEntries(rows: EntryTable, facts: Facts, erased: ReadonlySet<string>): DerivedEntry[] {
  const isErased = new Set([...erased].map((id) => rows.row(id)));
  const all = [...erased];
  const found: DerivedEntry[] = [];
  for (const entry of facts.entries) {
    const row = rows.row(entry.id);
    if (row === noRow || erased.has(entry.id) || erasureOf(entry) !== undefined) continue;
    // All of them have one list: an import may have as many entries as it has lines.
    if (entry.type === "custom" && importTypes.has(entry.customType)) {
      if (all.length > 0) found.push({ entryId: entry.id, kind: "import", from: all });
      continue;
    }
    const derived = derivation(entry, row, rows, facts, isErased);
    if (derived === undefined || derived.from.length === 0) continue;
    found.push({ entryId: entry.id, kind: derived.kind, from: derived.from });
  }
  return found;
}

/**
 * Entries of an import that repeat other entries: the original files, whose blobs have every text of it,
 * lines of them, a message in a queue, an event with the text of a message.
 */
const importTypes: ReadonlySet<string> = new Set([
  ...["sessile.foreign", "sessile.foreign_line", "sessile.queued", "sessile.user_event"],
]);

function derivation(
  entry: SessionEntry,
  row: number,
  rows: EntryTable,
  { resources, calls }: Facts,
  isErased: ReadonlySet<number>,
): Pick<DerivedEntry, "kind" | "from"> | undefined {
  const idsAmong = (path: Iterable<number>) =>
    Array.from(path)
      .filter((each) => isErased.has(each))
      .map((each) => rows.id(each));
  switch (entry.type) {
    case "compaction": {
      const path = rows.path(row).subarray(0, -1);
      const kept = path.indexOf(rows.row(entry.firstKeptEntryId));
      const covered = kept < 0 ? path : path.subarray(0, kept);
      const system = path.filter((each) => rows.kind(each) === "message/system");
      return { kind: "compaction", from: [...new Set(idsAmong([...covered, ...system]))] };
    }
    case "branch_summary":
      return { kind: "branch_summary", from: idsAmong(abandoned(entry.fromId, row, rows, isErased)) };
    case "custom":
      if (!/^sessile\.memory(?:\.|$)/.test(entry.customType)) return undefined;
      return { kind: "memory", from: idsAmong(rows.path(row)) };
    case "resource_observation":
      return { kind: "observation", from: [resources.get(entry.resourceId) ?? []].flat() };
    case "revert":
      return { kind: "revert", from: idsAmong([rows.row(entry.targetId)]) };
    case "message":
      if (entry.message.role !== "toolResult") return undefined;
      return { kind: "tool_result", from: [calls.get(entry.message.toolCallId) ?? []].flat() };
    default:
      return undefined;
  }
}

/** The rows that a branch summary may cover: those of the branch that was left. */
function abandoned(fromId: string, row: number, rows: EntryTable, isErased: ReadonlySet<number>): number[] {
  const path = new Set(rows.path(row));
  const left = rows.row(fromId);
  if (left !== noRow && !path.has(left)) return [...rows.path(left)].filter((each) => !path.has(each));
  // pi writes the target of the branch: then it is unknown which branch was left.
  return [...isErased].filter(
    (each) => !path.has(each) && (left === noRow || [...rows.path(each)].includes(left)),
  );
}
