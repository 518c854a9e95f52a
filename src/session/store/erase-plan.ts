/** The plan of an erasure in one log: the lines that change, and the entries that derive from erased ones. */

import type { BlobRef } from "../../content/index.js";
import type { LineReplacement, SessionLog } from "../api/backend.js";
import { type DerivedEntry, formatVersion, type SessionEntry } from "../api/entries.js";
import { decodeLine, stripBom } from "../format/decode.js";
import { entryIdOf, parseEntryPrefix } from "../format/entry-prefix.js";
import { defaultLimits } from "../format/line-splitter.js";
import { tombstoneLine } from "../format/tombstone.js";
import { type StoredLine, storedLines, withLineFeed } from "../runtime/log-lines.js";
import { type EntryTable, noRow } from "../tree/entry-table.js";
import { blobRefsInLine } from "./blob-roots.js";
import { type DamagedLine, eraseInDamaged, piecesOf } from "./erase-damaged.js";
import { type EntryErasure, ErasureLinks } from "./erase-links.js";

/** The changes of an erasure to one log. */
export interface ErasurePlan {
  readonly changes: readonly LineReplacement[];
  /** Ids of the entries whose bodies are erased: also those that edit, label or name the requested ones. */
  readonly erased: readonly string[];
  readonly derived: readonly DerivedEntry[];
  /** The blobs that the old lines name. */
  readonly refs: ReadonlySet<BlobRef>;
  /** Pieces of damaged lines that no entry owns and that have no erased text: they stay as they are. */
  readonly unread: number;
  /** Sessions that erased tool calls started. */
  readonly sessions: readonly string[];
  /** Whether an entry was erased before: the blobs that it named are no longer known. */
  readonly isRepeated: boolean;
  /** Whether memory blocks that sessions share may have content too: their texts are elsewhere. */
  readonly isShared: boolean;
}

const { maxDepth } = defaultLimits;

/**
 * Plans an erasure. Reads the log twice, and keeps no bodies.
 *
 * @param rows the tree of the log
 * @param requested the entries, each with its erasure
 */
export async function planErasure(
  rows: EntryTable,
  log: Pick<SessionLog, "read" | "readAt">,
  requested: ReadonlyMap<string, EntryErasure>,
): Promise<ErasurePlan> {
  const { records, derived, sessions, isShared } = (await readLinks(rows, log, requested)).close(requested);
  const changes: LineReplacement[] = [];
  const damaged: DamagedLine[] = [];
  const refs = new Set<BlobRef>();
  let isRepeated = false;
  for await (const { bytes, stored, at } of linesWithoutBom(log)) {
    const [piece, ...others] = piecesOf(bytes);
    if (piece === undefined) continue;
    if (others.length > 0 || piece.id === undefined || !piece.isWhole) {
      damaged.push({ bytes: stored.slice(), at });
      continue;
    }
    const record = records.get(piece.id);
    const line = record && tombstoneLine(bytes, record.erasure, record.part);
    if (record !== undefined && line === undefined) isRepeated = true;
    if (line === undefined) continue;
    for (const ref of blobRefsInLine(bytes)) refs.add(ref);
    changes.push({ at, length: stored.length, line: withLineFeed(line) });
  }
  const { lines, also, unread } = await eraseInDamaged(log, rows, damaged, records, changes);
  for (const { at, before, after } of lines) {
    for (const ref of blobRefsInLine(before)) refs.add(ref);
    changes.push({ at, length: before.length, line: withLineFeed(after) });
  }
  changes.sort((a, b) => a.at - b.at);
  const erased = [...new Set([...records.keys(), ...also.keys()])].sort((a, b) => rows.row(a) - rows.row(b));
  return { changes, erased, derived, sessions, refs, unread, isRepeated, isShared };
}

/** The lines of a log, those that are too long included; the first one without its byte order mark. */
async function* linesWithoutBom(
  log: Pick<SessionLog, "read" | "readAt">,
): AsyncGenerator<StoredLine & { readonly stored: Uint8Array }> {
  let isFirst = true;
  for await (const line of storedLines(log as SessionLog)) {
    yield { ...line, bytes: isFirst ? stripBom(line.bytes) : line.bytes, stored: line.bytes };
    isFirst = false;
  }
}

/** Bodies that are read at once. */
const chunkSize = 64;

async function readLinks(
  rows: EntryTable,
  log: Pick<SessionLog, "read" | "readAt">,
  requested: ReadonlyMap<string, EntryErasure>,
): Promise<ErasureLinks> {
  const links = new ErasureLinks(rows);
  const found = [...requested.keys()].map((id) => rows.row(id)).filter((row) => row !== noRow);
  for (let at = 0; at < found.length; at += chunkSize)
    for (const line of await rows.read(log, found.slice(at, at + chunkSize))) {
      const entry = line && entryOfLine(line);
      if (entry !== undefined) links.addTexts(entry);
    }
  for await (const { bytes, tooLong } of linesWithoutBom(log)) {
    if (tooLong) continue;
    for (const { start, end } of piecesOf(bytes)) {
      const line = bytes.subarray(start, end);
      const head = parseEntryPrefix(line);
      const isRequested = head !== undefined && requested.has(entryIdOf(head.id));
      if (head?.type === "message" && head.role !== "toolResult" && !isRequested) continue;
      const entry = entryOfLine(line);
      if (entry !== undefined) links.add(entry);
    }
  }
  return links;
}

function entryOfLine(line: Uint8Array): SessionEntry | undefined {
  const decoded = decodeLine(line, { version: formatVersion, ordinal: 0, maxDepth }, { unchecked: true });
  if (decoded.kind !== "entry" || decoded.entry === undefined || decoded.entry.type === "unknown")
    return undefined;
  return decoded.entry;
}
