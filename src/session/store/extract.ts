/** Extraction: the lines of one path as a session of its own. */

import { SessileError } from "../../errors/index.js";
import { concatBytes, encodeUtf8 } from "../../internal/bytes.js";
import { isRecord } from "../../internal/shape.js";
import { formatVersion, type SessionEntry } from "../api/entries.js";
import { cleanLine, decodeHeads, entryKeyOfPart, stripBom } from "../format/decode.js";
import { encodeValidEntry } from "../format/encode.js";
import { entryIdOf, parseEntryPrefix } from "../format/entry-prefix.js";
import { entryTypesWith } from "../format/entry-types.js";
import { appendChecksum, parseLine, removeChecksum } from "../format/line-json.js";
import { defaultLimits } from "../format/line-splitter.js";
import { headerVersion, idToOrdinal, migrateLine } from "../format/migrate.js";
import type { SessionSettings } from "../runtime/loaded-log.js";
import { withLineFeed } from "../runtime/log-lines.js";
import type { LiveSession } from "../runtime/session.js";
import { type EntryNode, entryTableOf } from "../tree/session-tree.js";

const { maxDepth } = defaultLimits;

/** The result of {@link pathLines}. */
export interface PathCopy {
  readonly lines: readonly Uint8Array[];
  /** The last entry copied. */
  readonly leafId: string | null;
  /** Labels that are set on entries of the path. */
  readonly labels: readonly {
    readonly targetId: string;
    readonly label: string;
    readonly timestamp: string;
  }[];
}

/**
 * The entries from the root to a leaf without labels and leaf entries, chained in order. A line whose parent
 * stays is copied; in any other only the parent's id and the checksum change.
 */
export async function pathLines(session: LiveSession, leafId: string): Promise<PathCopy> {
  await session.readOn();
  if (!(await session.tree()).has(leafId)) throw gone(session, leafId);
  const path = (await session.tree()).path(leafId);
  const stated = headerVersion(session.header);
  const rows = entryTableOf(await session.tree());
  const { firstAt, damagedRows } = session.source.reader;
  // Half a line before a whole one would be no entry on a line of its own.
  const isTorn = (row: number) => damagedRows.has(row) && rows.part(row) !== undefined;
  const kept = path.filter(({ id, type }) => !dropped.has(type) && !isTorn(rows.row(id)));
  const standIn = replacements(path, new Set(kept.map(({ id }) => id)));
  const stored = (await session.rawLines(kept.map((node) => node.id))).map((line, index) => {
    const isFirst = rows.line(rows.row(kept[index]?.id ?? ""))?.at === firstAt;
    return line && cleanLine(isFirst ? stripBom(line) : line);
  });
  const lines: Uint8Array[] = [];
  let parentId: string | null = null;
  for (const [index, { id }] of kept.entries()) {
    const raw = stored[index];
    // Lines of version 1 have no id, except before the header: those are read as the current version.
    const version = stated === 1 && raw !== undefined && idOfLine(raw) === id ? formatVersion : stated;
    if (raw !== undefined && version >= formatVersion && idOfLine(raw) !== id) throw gone(session, id);
    if (raw !== undefined && !parseLine(raw, maxDepth).ok) {
      lines.push(withLineFeed(withParentOnly(raw, parentId)));
      parentId = id;
      continue;
    }
    let line = raw === undefined ? undefined : new TextDecoder().decode(raw).trimEnd();
    if (raw !== undefined && version < formatVersion)
      line = migrateLine(raw, version, idToOrdinal(id), maxDepth);
    if (raw === undefined && rows.line(rows.row(id)) !== undefined) {
      throw gone(session, id);
    }
    // A staged entry has no line yet.
    line ??= encodeValidEntry((await session.entry(id)) as SessionEntry, true);
    const changed = rechained(line, parentId, standIn);
    lines.push(
      changed === line && raw !== undefined && version >= formatVersion
        ? withLineFeed(raw)
        : encodeUtf8(`${changed}\n`),
    );
    parentId = id;
  }
  const ids = new Set(kept.map((node) => node.id));
  return {
    lines,
    leafId: parentId,
    labels: [...(await session.tree()).labels()].filter(({ targetId }) => ids.has(targetId)),
  };
}

/** The id in a line: another program may have moved lines since they were read. */
function idOfLine(raw: Uint8Array): string | undefined {
  const [part] = decodeHeads(raw, { version: formatVersion, ordinal: 0, maxDepth });
  const key = part && entryKeyOfPart(part);
  return key === undefined ? undefined : entryIdOf(key);
}

function gone({ id }: LiveSession, entryId: string): SessileError {
  return new SessileError("LOG_CHANGED", `the line of entry ${entryId} is gone from the log`, {
    details: { id },
  });
}

/** Label entries for a path, chained after its last entry. */
export function linesOfLabels(
  labels: PathCopy["labels"],
  leafId: string | null,
  path: readonly EntryNode[],
  settings: Pick<SessionSettings, "newEntryId" | "checksum">,
): readonly Uint8Array[] {
  const used = new Set(path.map((node) => node.id));
  let parentId = leafId;
  return labels.map(({ targetId, label, timestamp }) => {
    let id = settings.newEntryId();
    while (used.has(id)) id = crypto.randomUUID();
    used.add(id);
    const entry = { type: "label", id, parentId, timestamp, targetId, label } as const;
    parentId = id;
    return encodeUtf8(`${encodeValidEntry(entry, settings.checksum)}\n`);
  });
}

const dropped = entryTypesWith("droppedOnExtract");

/** Maps each dropped entry to the next kept one, or null: compactions may begin at a dropped entry. */
function replacements(
  path: readonly { readonly id: string }[],
  kept: ReadonlySet<string>,
): ReadonlyMap<string, string | null> {
  const standIn = new Map<string, string | null>();
  let next: string | null = null;
  for (const node of [...path].reverse()) {
    if (!kept.has(node.id)) standIn.set(node.id, next);
    else next = node.id;
  }
  return standIn;
}

/**
 * The line with another parent, and a compaction's first kept entry corrected; the same text if neither
 * changes.
 */
function rechained(
  line: string,
  parentId: string | null,
  standIn: ReadonlyMap<string, string | null>,
): string {
  const body = removeChecksum(line);
  const value: unknown = JSON.parse(body);
  if (!isRecord(value)) return line;
  const first = value.type === "compaction" ? standIn.get(value.firstKeptEntryId as string) : undefined;
  if (value.parentId === parentId && first === undefined) return line;
  const canonical =
    /^(\{"type":"[^"\\]{0,1000}","id":"[^"\\]{0,1000}","parentId":)(?:null|"[^"\\]{0,1000}")(,"timestamp":)/;
  if (first === undefined && canonical.test(body)) {
    // Spliced instead of printed, so that numbers keep their digits.
    return appendChecksum(
      body.replace(canonical, (_, head: string, tail: string) => head + JSON.stringify(parentId) + tail),
    );
  }
  const { type, id, parentId: _parentId, timestamp, ...rest } = value;
  const fields = first === undefined ? rest : { ...rest, firstKeptEntryId: first ?? id };
  return appendChecksum(JSON.stringify({ type, id, parentId, timestamp, ...fields }));
}

/** A line with a damaged body and another parent: its canonical prefix is all that is known. */
function withParentOnly(raw: Uint8Array, parentId: string | null): Uint8Array {
  const head = parseEntryPrefix(raw);
  if (head === undefined) return raw;
  const stored = head.parentId === null ? null : entryIdOf(head.parentId);
  if (stored === parentId) return raw;
  const start = `{"type":"${head.type}","id":"${entryIdOf(head.id)}","parentId":`;
  const { length } = start + JSON.stringify(stored);
  return concatBytes([encodeUtf8(start + JSON.stringify(parentId)), raw.subarray(length)]);
}
