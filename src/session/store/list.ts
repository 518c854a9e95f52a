/** Lists of sessions: the page, the filters, and the summary of a session from the lines of its ends. */

import { blockResource } from "../../content/index.js";
import { integerOption } from "../../core/arguments.js";
import { encodeUtf8 } from "../../core/bytes.js";
import { SessileError } from "../../core/errors/index.js";
import { directoryTest, isSideLogId } from "../../core/ids.js";
import { collapsed, spaced } from "../../core/text.js";
import {
  decodeHeads,
  defaultLimits,
  type EntryKey,
  formatVersion,
  headerVersion,
  LineDecoder,
  missingHeaderError,
  nextParentKey,
  type SessionEntry,
  type SessionHeader,
  type SessionInfoFields,
  type UnknownEntry,
} from "../../log/internal.js";
import type { SessionBackend, StoredSession } from "../api/backend.js";
import type { Session } from "../api/session.js";
import type { SessionQuery, SessionStore, SessionSummary } from "../api/store.js";
import { slugBySessionId } from "../runtime/session-info.js";

/** How many lines a list reads for the header and the first message. */
export const maxHeadLines = 1000;

/** The parts of a store that {@link listSessions} uses. */
interface ListSource {
  readonly partition: string;
  /** Called for a skipped possible session. */
  readonly skipped: (location: string, error: SessileError) => void;
  /** Opens a listed session to count its entries. */
  readonly open: (summary: SessionSummary) => Promise<Session>;
}

/** Yields the sessions of a backend that match a query, newest first. */
export async function* listSessions(
  backend: SessionBackend,
  query: SessionQuery,
  { partition, skipped, open }: ListSource,
): AsyncGenerator<SessionSummary, void, undefined> {
  const limit = integerOption("limit", query.limit, Number.MAX_SAFE_INTEGER, 1);
  const { cwd, signal } = query;
  const matches = await summaryTest(query, backend);
  let count = 0;
  const found = backend.list({
    partition,
    ...(query.after === undefined ? {} : { after: parseCursor(query.after) }),
    ...(cwd === undefined ? {} : { cwd }),
    ...(signal === undefined ? {} : { signal }),
    skipped,
  });
  for await (const stored of found) {
    signal?.throwIfAborted();
    // The list is sorted by time, so that no older session can match.
    if (query.since !== undefined && stored.modifiedAt < query.since.getTime()) return;
    if (isSideLogId(stored.id)) continue;
    const summary = storedSummary(stored);
    if (summary === undefined) {
      const { id, location = id, head, size } = stored;
      skipped(location, missingHeaderError(location, size === 0 ? 0 : Math.max(1, head.length)));
    }
    if (summary === undefined || !matches(summary)) continue;
    const { counts } = stored;
    const listed =
      query.stats !== true
        ? summary
        : counts === undefined
          ? await withCounts(summary, () => open(summary))
          : { ...summary, counts };
    if (listed === undefined) continue;
    yield listed;
    if (++count >= limit) return;
  }
}

/** A time that is further ahead than this is a wrong one, in milliseconds: a day. */
export const clockErrorMs = 86_400_000;

/** Milliseconds that a change may be older than a list that lacks it: clocks differ, and a write takes time. */
export const listSlack = 60_000;

/** Lists of the newest sessions in a row that show changes and no new session. */
const maxRepeats = 8;

/**
 * Yields every session of a partition once. A change moves a session to the start of a list, past the place
 * that a list in pages has come to: the newest ones are listed again until none is new or changed. Sessions
 * that are created meanwhile do not prolong that, or a busy store would be listed for ever.
 */
export async function* everySession(
  store: Pick<SessionStore, "list">,
  partition: string,
): AsyncGenerator<SessionSummary, void, undefined> {
  /** Times of change, as numbers: strings would take as much memory as the keys. */
  const seen = new Map<string, number>();
  const createdUntil = Date.now() + listSlack;
  let newest: number | undefined;
  for (let repeats = 0; repeats <= maxRepeats; ) {
    let [isNew, isChanged] = [false, false];
    const since = newest === undefined ? {} : { since: new Date(newest - listSlack) };
    for await (const summary of store.list({ partition, ...since })) {
      const modified = Date.parse(summary.modified);
      newest = Math.max(newest ?? Number.NEGATIVE_INFINITY, modified);
      const key = `${summary.id}\0${summary.location ?? ""}`;
      const known = seen.get(key);
      seen.set(key, modified);
      if (known !== undefined && known !== modified) isChanged = true;
      if (known !== undefined) continue;
      if (Date.parse(summary.created) < createdUntil) isNew = true;
      yield summary;
    }
    if (!isNew && !isChanged) return;
    repeats = isNew ? 0 : repeats + 1;
  }
}

/** Summarises a session from its first and last lines; undefined without a header among them. */
export function storedSummary(stored: StoredSession): SessionSummary | undefined {
  const { header, firstMessage } = logHead(stored.head);
  if (header === undefined) return undefined;
  const version = headerVersion(header);
  // An entry that is joined to the header is in no tail.
  const { info = {} } =
    lastInfo(stored.tail, version) ?? lastInfo(stored.head.slice(0, 1), version, true) ?? {};
  const { name, title, slug, archivedAt, stats } = info;
  return {
    id: header.id,
    cwd: header.cwd,
    slug: slug || slugBySessionId(header.id),
    ...defined({ name: name || undefined, title, archivedAt, stats, firstMessage }),
    ...defined({ parentSession: header.parentSession, location: stored.location }),
    created: header.timestamp,
    modified: new Date(stored.modifiedAt).toISOString(),
    size: stored.size,
    cursor: printCursor(stored),
  };
}

/** A test whether a summary matches a query, apart from the cursor. */
export async function summaryTest(
  { cwd, archived, since, until }: SessionQuery,
  backend: Pick<SessionBackend, "resolveDirectory">,
): Promise<(summary: SessionSummary) => boolean> {
  const isThere = await cwdTest(cwd, backend);
  return (summary) => {
    if (!isThere(summary.cwd)) return false;
    if (archived !== undefined && (summary.archivedAt !== undefined) !== archived) return false;
    const modified = Date.parse(summary.modified);
    if (since !== undefined && modified < since.getTime()) return false;
    return until === undefined || modified < until.getTime();
  };
}

/** A test whether the directory of a session is that of a query: as paths, and as the query's without links. */
export async function cwdTest(
  cwd: string | undefined,
  backend: Pick<SessionBackend, "resolveDirectory">,
): Promise<(other: string) => boolean> {
  if (cwd === undefined) return () => true;
  const resolved = await backend.resolveDirectory?.(cwd);
  return directoryTest(resolved === undefined ? [cwd] : [cwd, resolved]);
}

/** The opaque cursor of a session in a list. */
export function printCursor({
  modifiedAt,
  id,
  key = id,
}: Pick<StoredSession, "modifiedAt" | "id" | "key">): string {
  return `${modifiedAt}_${key}`;
}

/** The inverse of {@link printCursor}. Throws a TypeError for anything else. */
export function parseCursor(cursor: string): { readonly modifiedAt: number; readonly id: string } {
  const [, time, id] = /^(-?\d{1,20}(?:\.\d{1,20})?)_(.{1,1000})$/s.exec(cursor) ?? [];
  if (time === undefined || id === undefined)
    throw new TypeError(`after: expected a cursor of a list, got ${SessileError.printable(cursor)}`);
  return { modifiedAt: Number(time), id };
}

/** The header and the first preview in lines from the start of a log, with their indexes. */
function logHead(lines: readonly Uint8Array[]): {
  readonly header: SessionHeader | undefined;
  readonly headerAt: number;
  readonly firstMessage: string | undefined;
  readonly firstMessageAt: number;
} {
  const decoder = new LineDecoder(defaultLimits.maxDepth);
  /** The ids so far; of damaged lines with the parent. */
  const seen = new Map<EntryKey, EntryKey | null | undefined>();
  let header: SessionHeader | undefined;
  let firstMessage: string | undefined;
  let headerAt = -1;
  let firstMessageAt = -1;
  for (const [at, bytes] of lines.entries()) {
    if (at >= maxHeadLines) break;
    for (const part of decoder.decode(bytes, unchecked)) {
      const { decoded } = part;
      if (decoded.kind === "header" && header === undefined) {
        header = decoded.header;
        headerAt = at;
      }
      const head = decoded.kind === "entry" ? decoded.head : part.head;
      if (head === undefined) continue;
      // Of two entries with one id the first counts; if its line is damaged, a whole one with the same parent.
      if (seen.has(head.id) && seen.get(head.id) !== head.parentId) continue;
      if (decoded.kind === "entry") seen.set(head.id, undefined);
      else if (!seen.has(head.id)) seen.set(head.id, head.parentId);
      if (decoded.kind !== "entry" || firstMessage !== undefined) continue;
      firstMessage = firstText(decoded.entry);
      firstMessageAt = at;
    }
    if (header !== undefined && firstMessage !== undefined) break;
  }
  return { header, headerAt, firstMessage, firstMessageAt };
}

const unchecked = { unchecked: true } as const;

/**
 * The last session_info in some lines, with its index.
 * @param fromStart the first of the lines is the log's first
 */
export function lastInfo(
  lines: readonly Uint8Array[],
  version: number,
  fromStart = false,
): { readonly info: SessionInfoFields; readonly at: number } | undefined {
  for (let at = lines.length - 1; at >= 0; at--) {
    const bytes = lines[at] as Uint8Array;
    if (version >= 2 && isMessage(bytes) && nextParentKey(bytes, nextParentKey(bytes, 0) + 1) >= bytes.length)
      continue;
    const context = {
      isFirst: fromStart && at === 0,
      version,
      ordinal: 1,
      maxDepth: defaultLimits.maxDepth,
    };
    const last = decodeHeads(bytes, context).findLast(
      ({ decoded }) => decoded.kind === "entry" && decoded.entry?.type === "session_info",
    );
    const entry = last?.decoded.kind === "entry" ? last.decoded.entry : undefined;
    if (entry?.type === "session_info") return { info: entry, at };
  }
  return undefined;
}

const message = Uint8Array.from('{"type":"message",', (character) => character.charCodeAt(0));

/** Compares the canonical beginning only: most lines are messages. */
function isMessage(bytes: Uint8Array): boolean {
  for (let at = message.length - 1; at >= 0; at--) if (bytes[at] !== message[at]) return false;
  return true;
}

function defined<T extends Readonly<Record<string, unknown>>>(
  fields: T,
): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const own: Record<string, unknown> = {};
  for (const name of Object.keys(fields)) if (fields[name] !== undefined) own[name] = fields[name];
  return own as { [K in keyof T]?: Exclude<T[K], undefined> };
}

/** Adds counts over the whole session; undefined if the session was deleted since it was listed. */
export async function withCounts(
  summary: SessionSummary,
  open: () => Promise<Session>,
): Promise<SessionSummary | undefined> {
  try {
    const session = await open();
    try {
      let messages = 0;
      for (const { node } of (await session.tree()).walk()) if (node.type === "message") messages++;
      return { ...summary, counts: { entries: (await session.tree()).size, messages } };
    } finally {
      await session.close();
    }
  } catch (error) {
    if (SessileError.is(error, "SESSION_NOT_FOUND")) return undefined;
    throw error;
  }
}

// The preview of a message in a list: the user's text, without the descriptors of attachments.

const maxPreviewLength = 200;

/**
 * The preview of a user message: its text without descriptors, or the names of its attachments if it has no
 * text. Undefined for any other entry, and without both.
 */
export function firstText(entry: SessionEntry | UnknownEntry | undefined): string | undefined {
  if (entry?.type !== "message" || entry.message.role !== "user") return undefined;
  const { content } = entry.message;
  if (typeof content === "string") return partPreview([{ text: content }]);
  return partPreview(
    content.map((block) => {
      const resource = blockResource(block);
      if (resource !== undefined) return resource.name === undefined ? {} : { name: resource.name };
      return block.type === "text" ? { text: block.text } : {};
    }),
  );
}

/**
 * The preview of parts in order: the texts, or the names if no text remains. Texts of other writers may
 * contain descriptors as plain text; these count as attachments.
 */
export function partPreview(
  parts: readonly { readonly text?: string; readonly name?: string }[],
): string | undefined {
  const names: string[] = [];
  const named = (name: string | undefined) => {
    const line = name === undefined ? "" : spaced(name);
    if (line) names.push(line);
  };
  const texts = parts.flatMap(({ text, name }) => {
    named(name);
    return text === undefined ? [] : [withoutDescriptors(text, named)];
  });
  return cut(texts.join(" ")) ?? cut(names.join(", "));
}

/** The texts that `describeResource` and `describeImage` make. No part of them has brackets. Linear. */
const descriptor =
  /\[(image|file|link)( [^[\]]{0,9999}|), (?:res_[0-9a-f]{16}|[^[\],/]{0,127}\/[^[\],]{0,127}, [\d.]{1,20} [kM]?B)\]|\[(image|file), [^[\]]{0,9999}, [\d.]{1,20} [kM]?B, res_[0-9a-f]{16}\]/g;

function withoutDescriptors(text: string, named: (name: string | undefined) => void): string {
  // Most texts have no bracket.
  if (!text.includes("[")) return text;
  const replaced = text.replace(descriptor, (found: string, kind?: string, facts = "") => {
    const parts = facts.split(", ");
    // Media type and size are before the id; a link has its address there.
    named(kind === "link" ? parts[0] : found.endsWith("B]") ? facts : parts.slice(0, -2).join(", "));
    return " ";
  });
  return replaced === text ? text : collapsed(replaced, /[^\S\n]{2,4096}/g);
}

function cut(text: string): string | undefined {
  // A character has one or two UTF-16 units.
  const start = text.trim().slice(0, 2 * maxPreviewLength);
  const shown =
    start.length > maxPreviewLength && /[\ud800-\udfff]/.test(start)
      ? Array.from(start).slice(0, maxPreviewLength).join("")
      : start.slice(0, maxPreviewLength);
  // A slice of a long string retains all of it.
  const copy = shown.length < text.length ? (JSON.parse(JSON.stringify(shown)) as string) : shown;
  return copy || undefined;
}

// The parts of appended lines that a list shows, for backends that cache them beside the log.

const { maxDepth } = defaultLimits;

/** A line, and its index in the lines of an append. */
interface SummaryLine {
  readonly line: Uint8Array;
  readonly at: number;
}

/** The lines from which a list makes the summary of a session, found in one append. */
interface LineSummary {
  /** The header as it is stored, and the directory in it. */
  readonly header?: SummaryLine & { readonly cwd: string };
  /** A short line with the preview of the first user message, in place of that message. */
  readonly preview?: SummaryLine;
  /** The last session_info as it is stored. */
  readonly info?: SummaryLine;
  /** The entries in the lines; absent if a reader of the whole log may count others. */
  readonly counts?: NonNullable<StoredSession["counts"]>;
}

/**
 * Finds the lines that a list needs of one append. A cache keeps the first header, the first preview and the
 * last session_info: as `head` and `tail` of a `StoredSession` they give the summary of the whole log.
 *
 * @param lines without their line feeds
 * @param known.head whether the cache has a header and a preview: the lines are then searched for neither
 */
export function summarizeLines(lines: readonly Uint8Array[], known: { readonly head: boolean }): LineSummary {
  const head = known.head ? undefined : logHead(lines);
  const version = head?.header === undefined ? formatVersion : headerVersion(head.header);
  const info = lastInfo(lines, version);
  return {
    ...(head?.header && {
      header: { line: lines[head.headerAt] as Uint8Array, at: head.headerAt, cwd: head.header.cwd },
    }),
    ...(head?.firstMessage !== undefined && {
      preview: { line: previewLine(head.firstMessage), at: head.firstMessageAt },
    }),
    ...(info && { info: { line: lines[info.at] as Uint8Array, at: info.at } }),
    // Lines before the header are read in another way.
    ...(version === formatVersion && (head?.headerAt ?? 0) <= 0 && lineCounts(lines)),
  };
}

/** Counts entries by their prefixes. Damaged lines and repeated ids are for a reader of the whole log. */
function lineCounts(lines: readonly Uint8Array[]): Pick<LineSummary, "counts"> {
  const ids = new Set<EntryKey>();
  let messages = 0;
  for (const line of lines) {
    const [part, ...others] = decodeHeads(line, { version: formatVersion, ordinal: 0, maxDepth });
    if (part === undefined || others.length > 0) return {};
    const { decoded } = part;
    if (decoded.kind === "blank" || decoded.kind === "header") continue;
    if (decoded.kind === "bad" || ids.has(decoded.head.id)) return {};
    ids.add(decoded.head.id);
    if (decoded.head.type === "message") messages++;
  }
  return { counts: { entries: ids.size, messages } };
}

function previewLine(preview: string): Uint8Array {
  // A preview that was cut may end with white space, which a list would trim.
  const content = Array.from(preview).length < maxPreviewLength ? preview : `${preview}…`;
  const message = { role: "user", content, timestamp: 0 };
  const timestamp = "1970-01-01T00:00:00.000Z";
  return encodeUtf8(JSON.stringify({ type: "message", id: "preview0", parentId: null, timestamp, message }));
}
