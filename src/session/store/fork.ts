import { SessileError } from "../../errors/index.js";
import { concatBytes, encodeUtf8 } from "../../internal/bytes.js";
import { isRecord } from "../../internal/shape.js";
import type { LogPosition, SessionLog } from "../api/backend.js";
import { formatVersion, type SessionEntry, type SessionHeader } from "../api/entries.js";
import type { ForkOptions, RewriteEntry } from "../api/types.js";
import { type DecodedLine, decodeHead, LineDecoder, stripBom } from "../format/decode.js";
import {
  assertValidEntry,
  encodeHeader,
  encodeValidEntry,
  printHeader,
  spliceJson,
} from "../format/encode.js";
import { entryIdOf, parseEntryPrefix } from "../format/entry-prefix.js";
import { entryTypesWith } from "../format/entry-types.js";
import { appendChecksum, parseLine, removeChecksum } from "../format/line-json.js";
import { defaultLimits } from "../format/line-splitter.js";
import { headerVersion, idToOrdinal, migrateLine } from "../format/migrate.js";
import type { LiveSession } from "../runtime/session.js";
import type { SessionCore, SessionSettings } from "../runtime/session-state.js";
import { type EntryNode, entryTableOf } from "../tree/session-tree.js";
import { FreshResources } from "./fresh-resources.js";
import { storedLines } from "./stored-lines.js";

/** The line of a header with its line feed, padded if its log can be copied by bytes. */
export function headerLine(header: SessionHeader, core?: Pick<SessionCore, "log" | "settings">): Uint8Array {
  const line = encodeHeader(header);
  return core === undefined ? encodeUtf8(`${line}\n`) : lineWithRoom(header, line, core);
}

function lineWithRoom(
  header: SessionHeader,
  line: string,
  core: Pick<SessionCore, "log" | "settings">,
): Uint8Array {
  return encodeUtf8(`${line}${" ".repeat(roomBehind(header, line, core))}\n`);
}

const spareBytes = 64;

/**
 * Spaces after a header, so that the header of a copy fits in its place and the bytes after it can be cloned.
 * A copy adds `parentSession`, and its directory or id may be longer. Bounded by the maximum length of a
 * line.
 */
function roomBehind(
  header: SessionHeader,
  line: string,
  { log, settings }: Pick<SessionCore, "log" | "settings">,
): number {
  if (log.copy === undefined) return 0;
  const parent = header.parentSession === undefined ? `,"parentSession":${JSON.stringify(log.location)}` : "";
  const room = encodeUtf8(parent).length + spareBytes;
  return Math.max(0, Math.min(room, settings.maxLineBytes - encodeUtf8(line).length));
}

const { maxDepth } = defaultLimits;
const maxMigrations = 4;

/**
 * The lines of a session up to and including an entry, with line feeds, without headers. Lines are copied
 * byte for byte, damaged ones too, so that a fork loses nothing; lines of an older version are migrated.
 */
export async function* linesUpTo(
  session: LiveSession,
  upTo?: string,
  rewrite?: RewriteEntry,
): AsyncGenerator<Uint8Array> {
  const decoder = new LineDecoder(maxDepth);
  const rows = entryTableOf(session.tree);
  // By offset: the line may be damaged, and other lines may repeat its id.
  const last = upTo === undefined ? undefined : rows.line(rows.row(upTo))?.at;
  for await (const { bytes: stored, at, tooLong } of storedLines(session.source.log)) {
    if (tooLong) {
      decoder.skip();
      yield withLineFeed(stored);
      continue;
    }
    const { isFirst = false, version = formatVersion, ordinal, previousId } = decoder.context;
    const decoded = decoder.decode(stored);
    // In the copy the header precedes it: it is no longer the first line.
    const bytes = isFirst ? stripBom(stored) : stored;
    if (decoded.kind !== "header") {
      const migrated =
        version < formatVersion ? migrateLine(bytes, version, ordinal, maxDepth, previousId) : undefined;
      const rewritten = rewrite && (await rewrittenLine(decoded, migrated ?? bytes, rewrite));
      const line = rewritten ?? migrated;
      yield line === undefined ? withLineFeed(bytes) : encodeUtf8(`${appendChecksum(line)}\n`);
    }
    if (at === last) return;
  }
}

/** A rewrite that applies the caller's, then gives the resources of the copy fresh ids. */
export async function freshResources(
  session: LiveSession,
  { upTo, rewrite = (entry) => entry }: ForkOptions,
): Promise<RewriteEntry> {
  const fresh = new FreshResources();
  const lines = linesUpTo(session, upTo, (entry) => {
    fresh.note(entry);
    return entry;
  });
  for await (const _ of lines);
  return async (entry) => fresh.rewrite(await rewrite(entry));
}

const looksNeeded = ["BEFORE_HEADER", "EXTRA_HEADER", "LINE_TOO_LONG"] as const;

/**
 * Copies the bytes of a session up to and including an entry below another header, if {@link linesUpTo}
 * yields the same bytes. Returns false if the lines have to be decoded, or if the logs cannot copy.
 */
export async function copyBytes(
  session: LiveSession,
  log: SessionLog,
  first: Uint8Array,
  upTo?: string,
): Promise<boolean> {
  const { source, diagnostics, header, tree } = session;
  // These need lines: a migration, a missing last line feed (a line that is too long may lack it), several
  // headers.
  if (headerVersion(header) < formatVersion || source.endsOpen || source.position === undefined) return false;
  if (looksNeeded.some((code) => diagnostics.counts[code] !== undefined)) return false;
  const rows = entryTableOf(tree);
  const last = upTo === undefined ? undefined : rows.line(rows.row(upTo));
  return (await log.copy?.(source.log, first, source.position, last)) ?? false;
}

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
  const path = session.tree.path(leafId);
  const stated = headerVersion(session.header);
  const kept = path.filter((node) => !dropped.has(node.type));
  const standIn = standIns(path);
  const rows = entryTableOf(session.tree);
  const { firstAt } = session.source.reader;
  const stored = (await session.rawLines(kept.map((node) => node.id))).map((line, index) =>
    line !== undefined && rows.line(rows.row(kept[index]?.id ?? ""))?.at === firstAt ? stripBom(line) : line,
  );
  const lines: Uint8Array[] = [];
  let parentId: string | null = null;
  for (const [index, { id }] of kept.entries()) {
    const raw = stored[index];
    // Lines of version 1 have no id, except before the header: those are read as the current version.
    const version = stated === 1 && raw !== undefined && idOfLine(raw) === id ? formatVersion : stated;
    if (raw !== undefined && version >= formatVersion && idOfLine(raw) !== id) throw gone(session, id);
    if (raw !== undefined && !parseLine(raw, maxDepth).ok) {
      lines.push(withLineFeed(damagedBehind(raw, parentId)));
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
    labels: [...session.tree.labels()].filter(({ targetId }) => ids.has(targetId)),
  };
}

/** The id in a line: another program may have moved lines since they were read. */
function idOfLine(raw: Uint8Array): string | undefined {
  const decoded = decodeHead(raw, { version: formatVersion, ordinal: 0, maxDepth });
  const head = decoded.kind === "entry" ? decoded.head : parseEntryPrefix(raw);
  return head && entryIdOf(head.id);
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

/**
 * Rewrites a session of an older version as the current one, keeps the original in a sidecar file, and
 * reloads. Retries after a concurrent migration or append, whose lines are read first.
 */
export async function migrate(session: LiveSession, core: SessionCore): Promise<void> {
  async function* lines(): AsyncGenerator<Uint8Array> {
    const header = { ...core.header, version: formatVersion };
    yield lineWithRoom(header, printHeader(header), core);
    yield* linesUpTo(session);
  }
  for (let attempt = 1; headerVersion(core.header) < formatVersion; attempt++) {
    try {
      await core.log.replace?.(lines(), core.position as LogPosition);
      await core.reload();
    } catch (error) {
      if (!SessileError.is(error, "CONCURRENT_WRITER") || attempt >= maxMigrations) throw error;
      await core.readNew();
    }
  }
  core.migrate = undefined;
}

/**
 * The line of a rewritten entry, without a checksum; undefined if the rewrite returned the same object.
 * Unchanged parts keep the text of the stored line.
 */
async function rewrittenLine(
  decoded: DecodedLine,
  line: string | Uint8Array,
  rewrite: RewriteEntry,
): Promise<string | undefined> {
  if (decoded.kind !== "entry" || decoded.entry === undefined || decoded.entry.type === "unknown")
    return undefined;
  const { entry } = decoded;
  const changed = await rewrite(entry);
  if (changed === entry) return undefined;
  const { type, id, parentId, timestamp } = entry;
  const placed = { ...changed, type, id, parentId, timestamp } as SessionEntry;
  assertValidEntry(placed);
  const text = typeof line === "string" ? line : new TextDecoder().decode(line);
  return spliceJson(text, entry, placed);
}

const dropped = entryTypesWith("droppedOnExtract");

/** Maps each dropped entry to the next kept one, or null: compactions may begin at a dropped entry. */
function standIns(
  path: readonly { readonly id: string; readonly type: string }[],
): ReadonlyMap<string, string | null> {
  const standIn = new Map<string, string | null>();
  let next: string | null = null;
  for (const node of [...path].reverse()) {
    if (dropped.has(node.type)) standIn.set(node.id, next);
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
  const canonical = /^(\{"type":"[^"\\]*","id":"[^"\\]*","parentId":)(?:null|"[^"\\]*")(,"timestamp":)/;
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
function damagedBehind(raw: Uint8Array, parentId: string | null): Uint8Array {
  const head = parseEntryPrefix(raw);
  if (head === undefined) return raw;
  const stored = head.parentId === null ? null : entryIdOf(head.parentId);
  if (stored === parentId) return raw;
  const start = `{"type":"${head.type}","id":"${entryIdOf(head.id)}","parentId":`;
  const { length } = start + JSON.stringify(stored);
  return concatBytes([encodeUtf8(start + JSON.stringify(parentId)), raw.subarray(length)]);
}

function withLineFeed(bytes: Uint8Array): Uint8Array {
  const out = new Uint8Array(bytes.length + 1);
  out.set(bytes);
  out[bytes.length] = 10;
  return out;
}
