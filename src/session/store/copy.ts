/** New sessions from others: forks, extracts, copies, and the adoption of entries of another log. */

import { withNewIds } from "../../content/internal.js";
import { describe, oneOfOption } from "../../core/arguments.js";
import { concatBytes, encodeUtf8 } from "../../core/bytes.js";
import { SessileError } from "../../core/errors/index.js";
import { nameArgument, randomHex8 } from "../../core/ids.js";
import { isRecord } from "../../core/shape.js";
import { spaced } from "../../core/text.js";
import {
  appendChecksum,
  assertValidEntry,
  cleanLine,
  type DecodedLine,
  decodeHeads,
  defaultLimits,
  type EntryDraft,
  encodeLine,
  encodeValidEntry,
  entryKeyOfPart,
  entryTypesWith,
  formatVersion,
  headerVersion,
  idToOrdinal,
  LineDecoder,
  migrateLine,
  parseLine,
  printHeader,
  removeChecksum,
  type SessionEntry,
  type SessionHeader,
  type SessionInfoFields,
  spliceJson,
  stripBom,
  toEntryId,
} from "../../log/internal.js";
import type { LogPosition, SessionLog } from "../api/backend.js";
import type { AdoptableSession, AdoptOptions, ForkOptions, RewriteEntry } from "../api/store.js";
import type { SessionSettings } from "../runtime/loaded-log.js";
import { lineWithRoom, storedLines, withLineFeed } from "../runtime/log-lines.js";
import { assertInline, hasInline } from "../runtime/recording.js";
import type { LiveSession } from "../runtime/session.js";
import { forkTitle } from "../runtime/session-info.js";
import type { SessionState } from "../runtime/session-state.js";
import { noRow, type SessionTree, treeRows } from "../tree/session-tree.js";
import { cwdArgument } from "./arguments.js";
import { firstText } from "./list.js";

const { maxDepth } = defaultLimits;
const maxMigrations = 4;

/** Checks the options of a fork before its source is opened. */
export function checkForkOptions({ resources = "same" }: ForkOptions): void {
  if (resources !== "same" && resources !== "fresh")
    throw new TypeError(`resources: expected "same" or "fresh", got ${String(resources)}`);
}

/** The content of a fork. `inBytes` copies it without decoding lines, and returns false if it cannot. */
interface ForkPlan {
  readonly lines: AsyncIterable<Uint8Array>;
  readonly info: SessionInfoFields;
  readonly inBytes: (log: SessionLog, first: Uint8Array) => Promise<boolean>;
}

/**
 * Plans a fork: the lines up to the entry of the options, rewritten if asked for, and its title and name.
 *
 * @param titles those of other sessions, which the fork does not repeat
 * @param underWay those of forks that are made at the same time; the fork adds its own
 * @throws SessileError ENTRY_NOT_FOUND
 */
export async function planFork(
  source: LiveSession,
  options: ForkOptions,
  titles: () => Promise<readonly string[]>,
  underWay: Set<string>,
): Promise<ForkPlan> {
  const { upTo, resources } = options;
  if (upTo !== undefined && !(await source.tree()).has(upTo)) {
    throw new SessileError("ENTRY_NOT_FOUND", `no entry has the id ${JSON.stringify(upTo)}`, {
      details: { entryId: upTo },
    });
  }
  const rewrite = resources === "fresh" ? await freshResources(source, options) : options.rewrite;
  return {
    lines: linesUpTo(source, upTo, rewrite),
    info: await forkInfo(source, await titles(), underWay),
    inBytes: async (log, first) => (rewrite === undefined ? copyBytes(source, log, first, upTo) : false),
  };
}

/**
 * The lines of a session up to and including an entry, with line feeds, without headers. Lines are copied
 * byte for byte, damaged ones too, so that a fork loses nothing; lines of an older version are migrated.
 */
async function* linesUpTo(
  session: LiveSession,
  upTo?: string,
  rewrite?: RewriteEntry,
): AsyncGenerator<Uint8Array> {
  const decoder = new LineDecoder(maxDepth);
  const rows = treeRows(await session.tree());
  // By offset: the line may be damaged, and other lines may repeat its id.
  const lastRow = upTo === undefined ? noRow : rows.row(upTo);
  const last = lastRow === noRow ? undefined : rows.line(lastRow)?.at;
  for await (const { bytes: stored, at, tooLong } of storedLines(session.source.log)) {
    if (tooLong) {
      decoder.skip();
      yield withLineFeed(stored);
      continue;
    }
    const { isFirst = false, version = formatVersion, ordinal, previousId } = decoder.context;
    const lastPart = at === last ? rows.part(lastRow) : undefined;
    const parts = decoder.decode(stored);
    const stop = lastPart?.end ?? stored.length;
    // In the copy the header precedes it: it is no longer the first line.
    let from = isFirst ? stored.length - stripBom(stored).length : 0;
    let count = 0;
    let parentId = previousId;
    for (const { start, end, decoded } of parts) {
      if (end > stop || decoded.kind === "bad" || decoded.kind === "blank") continue;
      if (decoded.kind === "header") {
        if (start > from) yield withLineFeed(stored.subarray(from, start));
        from = end;
      } else {
        const bytes = cleanLine(stored.subarray(Math.max(from, start), end));
        const migrated =
          version < formatVersion
            ? migrateLine(bytes, version, ordinal + count, maxDepth, parentId)
            : undefined;
        const rewritten = rewrite && (await rewrittenLine(decoded, migrated ?? bytes, rewrite));
        const line = rewritten ?? migrated;
        if (line !== undefined) {
          yield concatBytes([stored.subarray(from, start), encodeUtf8(`${appendChecksum(line)}\n`)]);
          from = end;
        }
        parentId = toEntryId(decoded.head.id);
      }
      count++;
    }
    if (from < stop || stop === 0) yield withLineFeed(stored.subarray(from, stop));
    if (at === last) return;
  }
}

/** A rewrite that applies the caller's, then gives the resources of the copy fresh ids. */
async function freshResources(
  session: LiveSession,
  { upTo, rewrite = (entry) => entry }: ForkOptions,
): Promise<RewriteEntry> {
  const fresh = new FreshResources();
  const lines = linesUpTo(session, upTo, (entry) => {
    fresh.collect(entry);
    return entry;
  });
  for await (const _ of lines);
  return async (entry) => fresh.rewrite(await rewrite(entry));
}

/** The title and name of a fork. */
async function forkInfo(
  source: LiveSession,
  titles: readonly string[],
  underWay: Set<string>,
): Promise<SessionInfoFields> {
  const { name } = source.info;
  const title = source.info.title ?? name ?? (await firstWords(source)) ?? "Session";
  // Without a wait from here on: another fork would take the same title.
  const others = [...titles, ...underWay];
  const forked = forkTitle(title, others);
  underWay.add(forked);
  if (name === undefined) return { title: forked };
  const forkedName = forkTitle(name, others);
  underWay.add(forkedName);
  return { title: forked, name: forkedName };
}

/** The start of the first message of a user. */
async function firstWords(source: LiveSession): Promise<string | undefined> {
  for (const { node } of (await source.tree()).walk()) {
    if (node.role !== "user") continue;
    const text = firstText(await source.entry(node.id));
    if (text !== undefined) return spaced(Array.from(text.slice(0, 120)).slice(0, 60).join(""));
  }
  return undefined;
}

const looksNeeded = ["BEFORE_HEADER", "EXTRA_HEADER", "JOINED_LINE", "LINE_TOO_LONG"] as const;

/**
 * Copies the bytes of a session up to and including an entry below another header, if {@link linesUpTo}
 * yields the same bytes. Returns false if the lines have to be decoded, or if the logs cannot copy.
 */
async function copyBytes(
  session: LiveSession,
  log: SessionLog,
  first: Uint8Array,
  upTo?: string,
): Promise<boolean> {
  const { source, diagnostics, header } = session;
  // A migration, several headers, or a missing last line feed (of a line that is too long, too) need lines.
  if (headerVersion(header) < formatVersion || source.endsOpen || source.position === undefined) return false;
  if (looksNeeded.some((code) => diagnostics.counts[code] !== undefined)) return false;
  const rows = treeRows(await session.tree());
  const last = upTo === undefined ? undefined : rows.line(rows.row(upTo));
  return (await log.copy?.(source.log, first, source.position, last)) ?? false;
}

/**
 * Rewrites a session of an older version as the current one, keeps the original in a sidecar file, and
 * reloads. Retries after a concurrent migration or append, whose lines are read first.
 */
export async function migrate(session: LiveSession, state: SessionState): Promise<void> {
  async function* lines(): AsyncGenerator<Uint8Array> {
    const header = { ...state.header, version: formatVersion };
    yield lineWithRoom(header, printHeader(header), state);
    yield* linesUpTo(session);
  }
  for (let attempt = 1; headerVersion(state.header) < formatVersion; attempt++) {
    try {
      await state.log.replace?.(lines(), state.position as LogPosition);
      await state.reload();
    } catch (error) {
      if (!SessileError.is(error, "CONCURRENT_WRITER") || attempt >= maxMigrations) throw error;
      await state.readRemoteChanges();
    }
  }
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

const resourceId = /\bres_[0-9a-f]{16}\b/g;
const isResourceId = /^res_[0-9a-f]{16}$/;

/** Gives the resources of a copy new ids, each the same in the whole copy. */
export class FreshResources {
  readonly #fresh = new Map<string, string>();

  /** Collects the resource ids in `resourceId` members of an entry. Texts are not searched. */
  collect(entry: SessionEntry): void {
    const visit = (value: unknown): void => {
      if (Array.isArray(value)) value.forEach(visit);
      if (!isRecord(value)) return;
      const { resourceId: id } = value;
      if (typeof id === "string" && isResourceId.test(id) && !this.#fresh.has(id))
        this.#fresh.set(id, `res_${randomHex8()}${randomHex8()}`);
      Object.values(value).forEach(visit);
    };
    visit(entry);
  }

  /** The entry with new ids in place of all old ones; the same object if it has no old one. */
  rewrite<E extends SessionEntry>(entry: E): E {
    return this.#fresh.size === 0 ? entry : (this.#replaced(entry) as E);
  }

  #replaced(value: unknown): unknown {
    if (typeof value === "string") return this.#text(value);
    if (Array.isArray(value)) {
      const items = value.map((item) => this.#replaced(item));
      return items.some((item, at) => item !== value[at]) ? items : value;
    }
    if (!isRecord(value)) return value;
    if (value.type === "opaque") return this.#opaque(value);
    if (isSigned(value)) return value;
    let changed = false;
    const members = Object.entries(value).map(([key, member]) => {
      const now = [this.#text(key), this.#replaced(member)] as const;
      if (now[0] !== key || now[1] !== member) changed = true;
      return now;
    });
    return changed ? Object.fromEntries(members) : value;
  }

  /** A provider's block, which returns to it unchanged, with new ids of its media. */
  #opaque(block: Readonly<Record<string, unknown>>): unknown {
    if (!Array.isArray(block.resources)) return block;
    const resources = this.#replaced(block.resources);
    if (resources === block.resources) return block;
    return { ...block, data: withNewIds(block.data, (id) => this.#text(id)), resources };
  }

  #text(text: string): string {
    if (!text.includes("res_")) return text;
    return text.replace(resourceId, (id) => this.#fresh.get(id) ?? id);
  }
}

/** Signed content must return to its provider unchanged. */
function isSigned({ thinkingSignature, textSignature }: Readonly<Record<string, unknown>>): boolean {
  return typeof thinkingSignature === "string" || typeof textSignature === "string";
}

const dropped = entryTypesWith("droppedOnExtract");

/**
 * The lines of the path to a leaf without labels and leaf entries, chained in order, then the labels that are
 * set on it. A line whose parent stays is copied; in any other only the parent's id and the checksum change.
 */
export async function pathLines(
  session: LiveSession,
  leafId: string,
  settings: Pick<SessionSettings, "newEntryId" | "checksum">,
): Promise<readonly Uint8Array[]> {
  await session.readOn();
  const tree = await session.tree();
  if (!tree.has(leafId)) throw gone(session, leafId);
  const path = tree.path(leafId);
  const stated = headerVersion(session.header);
  const rows = treeRows(tree);
  const { firstAt, damagedRows } = session.source.reader;
  // Half a line before a whole one would be no entry on a line of its own.
  const isTorn = (row: number) => damagedRows.has(row) && rows.part(row) !== undefined;
  const kept = path.filter(({ id, type }) => !dropped.has(type) && !isTorn(rows.row(id)));
  const ids = new Set(kept.map(({ id }) => id));
  const standIn = replacements(path, ids);
  const stored = await session.rawLines([...ids]);
  const lines: Uint8Array[] = [];
  let parentId: string | null = null;
  for (const [index, { id }] of kept.entries()) {
    lines.push(withLineFeed(await lineAfter(id, stored[index], parentId)));
    parentId = id;
  }
  const used = new Set(path.map(({ id }) => id));
  for (const { targetId, label, timestamp } of tree.labels()) {
    if (!ids.has(targetId)) continue;
    const id = freshId(settings, (each) => used.has(each));
    used.add(id);
    const entry = { type: "label", id, parentId, timestamp, targetId, label } as const;
    lines.push(encodeUtf8(`${encodeValidEntry(entry, settings.checksum)}\n`));
    parentId = id;
  }
  return lines;

  async function lineAfter(
    id: string,
    found: Uint8Array | undefined,
    parentId: string | null,
  ): Promise<Uint8Array> {
    const at = rows.line(rows.row(id))?.at;
    // A staged entry has no line yet.
    if (found === undefined && at !== undefined) throw gone(session, id);
    const raw = found && cleanLine(at === firstAt ? stripBom(found) : found);
    // Lines of version 1 have no id, except before the header: those are read as the current version.
    const version = stated === 1 && raw !== undefined && idOfLine(raw) === id ? formatVersion : stated;
    const isCurrent = raw !== undefined && version >= formatVersion;
    if (isCurrent && idOfLine(raw) !== id) throw gone(session, id);
    if (raw !== undefined && !parseLine(raw, maxDepth).ok) return spliced(raw, parentId) ?? raw;
    const line = isCurrent
      ? new TextDecoder().decode(raw).trimEnd()
      : ((raw && migrateLine(raw, version, idToOrdinal(id), maxDepth)) ??
        encodeValidEntry((await session.entry(id)) as SessionEntry, true));
    const changed = rechained(line, parentId, standIn);
    return changed === line && isCurrent ? raw : encodeUtf8(changed);
  }
}

/** An id for a new entry that no other one has. */
function freshId(settings: Pick<SessionSettings, "newEntryId">, isUsed: (id: string) => boolean): string {
  let id = settings.newEntryId();
  while (isUsed(id)) id = crypto.randomUUID();
  return id;
}

/** The id in a line: another program may have moved lines since they were read. */
function idOfLine(raw: Uint8Array): string | undefined {
  const [part] = decodeHeads(raw, { version: formatVersion, ordinal: 0, maxDepth });
  const key = part && entryKeyOfPart(part);
  return key === undefined ? undefined : toEntryId(key);
}

function gone({ id }: LiveSession, entryId: string): SessileError {
  return new SessileError("LOG_CHANGED", `the line of entry ${entryId} is gone from the log`, {
    details: { id },
  });
}

/** Maps each dropped entry to the next kept one, or null: compactions may begin at a dropped entry. */
function replacements(
  path: readonly { readonly id: string }[],
  kept: ReadonlySet<string>,
): ReadonlyMap<string, string | null> {
  const standIn = new Map<string, string | null>();
  let next: string | null = null;
  for (const { id } of path.toReversed()) {
    if (kept.has(id)) next = id;
    else standIn.set(id, next);
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
  const value: unknown = JSON.parse(line);
  if (!isRecord(value)) return line;
  const first = value.type === "compaction" ? standIn.get(value.firstKeptEntryId as string) : undefined;
  if (value.parentId === parentId && first === undefined) return line;
  const fields = first === undefined ? undefined : { firstKeptEntryId: first ?? value.id };
  return appendChecksum(withParent(line, parentId, fields));
}

/**
 * A line with another parent, and without a checksum. A canonical line keeps its other bytes, and its numbers
 * their digits.
 * @param fields other members that change
 */
export function withParent(
  line: string,
  parentId: string | null,
  fields?: Readonly<Record<string, unknown>>,
): string {
  const body = removeChecksum(line);
  if (fields === undefined && canonical.test(body))
    return body.replace(canonical, (_, head: string) => head + JSON.stringify(parentId));
  const value: unknown = JSON.parse(body);
  if (!isRecord(value)) return body;
  const { type, id, parentId: _parentId, timestamp, crc: _crc, ...rest } = value;
  return JSON.stringify({ type, id, parentId, timestamp, ...rest, ...fields });
}

const canonical =
  /^(\{"type":"[^"\\]{0,1000}","id":"[^"\\]{0,4096}","parentId":)(?:null|"[^"\\]{0,4096}")(?=,"timestamp":)/;

/** A damaged line with another parent; undefined if its beginning, all that is known, is not canonical. */
function spliced(raw: Uint8Array, parentId: string | null): Uint8Array | undefined {
  const [found, head] = canonical.exec(new TextDecoder("latin1").decode(raw.subarray(0, 1 << 14))) ?? [];
  if (found === undefined || head === undefined) return undefined;
  return concatBytes([
    raw.subarray(0, head.length),
    encodeUtf8(JSON.stringify(parentId)),
    raw.subarray(found.length),
  ]);
}

// Adoption: entries that exist elsewhere, with their ids, parents and times, as the lines of a session.

/** The parts of a store that an adoption uses. */
interface AdoptionStore {
  create(header: AdoptedHeader, lines: (target: Target) => Promise<readonly Uint8Array[]>): Promise<void>;
  /** Opens the session for writing. */
  open(id: string): Promise<LiveSession>;
}

/** The members of a header that an adoption gives. */
type AdoptedHeader = Pick<SessionHeader, "id" | "timestamp" | "cwd" | "parentSession">;
type Target = Pick<SessionState, "log" | "settings" | "reader" | "leafId">;

const maxAttempts = 16;

/** Writes a session, or the entries that an existing one lacks, and opens it for writing. */
export async function adoptSession(
  session: AdoptableSession,
  options: Pick<AdoptOptions, "existing">,
  store: AdoptionStore,
): Promise<LiveSession> {
  const existing = oneOfOption("existing", options.existing, ["refuse", "append"]);
  const header = adoptedHeader(session);
  for (let attempt = 1; ; attempt++) {
    try {
      const opened = existing === "append" ? await store.open(header.id).catch(undefinedIfNone) : undefined;
      if (opened === undefined) await store.create(header, (target) => adoptedLines(session, target));
      else await adoptInto(session, opened).finally(() => opened.close());
      return await store.open(header.id);
    } catch (error) {
      // Another program wrote in between.
      const again = SessileError.is(error, "SESSION_EXISTS") || SessileError.is(error, "CONCURRENT_WRITER");
      if (existing === "refuse" || !again || attempt === maxAttempts) throw error;
    }
  }
}

function undefinedIfNone(error: unknown): undefined {
  if (!SessileError.is(error, "SESSION_NOT_FOUND")) throw error;
}

async function adoptInto(session: AdoptableSession, opened: LiveSession): Promise<void> {
  const { id, source } = opened;
  const tree = await opened.tree();
  source.assertWritable();
  const times = new Set(session.entries.map((entry) => entry?.timestamp));
  // The entries of the stored session, or its first one in another state.
  const isSame =
    session.entries.some((entry) => tree.has(entry?.id)) ||
    tree.children(null).some(({ timestamp }) => times.has(timestamp));
  if (tree.size > 0 && !isSame) {
    const [expected, actual] = [opened.header.timestamp, session.header.timestamp];
    throw new SessileError("SESSION_MISMATCH", `session ${id} has none of these entries`, {
      details: { expected, actual },
    });
  }
  await source.migrate?.();
  const { log, position } = source;
  const lines = await adoptedLines(session, source);
  if (lines.length === 0) return;
  await log.append(lines, position as LogPosition);
  // Announces a new session_info.
  await opened.refresh();
}

/** The header, whose version becomes the current one. */
function adoptedHeader(session: AdoptableSession): AdoptedHeader {
  const header: unknown = session?.header;
  if (!isRecord(header)) throw new TypeError(`header: expected a session header, got ${describe(header)}`);
  if (!Array.isArray(session.entries))
    throw new TypeError(`entries: expected an array of entries, got ${describe(session.entries)}`);
  const { id, timestamp, cwd, parentSession } = header;
  const time = typeof timestamp === "string" ? Date.parse(timestamp) : Number.NaN;
  // A store makes file names of it.
  if (!(time >= firstTime && time <= lastTime))
    throw invalid("header.timestamp", "a time of the years 0 to 9999 in ISO 8601", timestamp);
  if (parentSession !== undefined && typeof parentSession !== "string")
    throw invalid("header.parentSession", "a string", parentSession);
  return {
    id: nameArgument("header.id", id),
    timestamp: new Date(time).toISOString(),
    cwd: cwdArgument(cwd),
    ...(parentSession === undefined ? {} : { parentSession }),
  };
}

const firstTime = Date.parse("0000-01-01T00:00:00.000Z");
const lastTime = Date.parse("9999-12-31T23:59:59.999Z");

/**
 * The lines of the entries that the session does not have yet, and of a leaf entry if the leaf would be
 * another one without it. No line if it has all of them and the leaf.
 */
async function adoptedLines(
  { entries, leafId }: AdoptableSession,
  { settings, reader: { tree }, log, leafId: leaf }: Target,
): Promise<readonly Uint8Array[]> {
  const ids = checkedIds(entries, tree);
  if (leafId !== null && !ids.has(leafId)) throw missing("leafId", leafId);
  const lines: Uint8Array[] = [];
  let last: string | null = leaf;
  for (const [at, entry] of entries.entries()) {
    if (tree.has(entry.id)) continue;
    const written = await recorded(entry, entryPlace(entry, at), settings);
    lines.push(encodeLine(written, settings, log.crc32));
    last = written.type === "leaf" ? written.targetId : written.id;
  }
  // A continuation that was appended here keeps the leaf.
  const next = leaf === null || !isContinued(leaf, ids, { entries, tree }) ? leafId : leaf;
  if (last !== next) {
    const id = freshId(settings, (each) => ids.has(each) || tree.has(each));
    const timestamp = new Date(settings.now()).toISOString();
    const leafEntry = { type: "leaf", id, parentId: next, timestamp, targetId: next } as const;
    lines.push(encodeLine(leafEntry, settings, log.crc32));
  }
  return lines;
}

/**
 * Whether the path to a leaf has an entry that was appended here. One that the entries lack, but whose time
 * they have, is an earlier state of one of them: an import of a reply that was not complete.
 */
function isContinued(
  leaf: string,
  ids: ReadonlySet<string>,
  { entries, tree }: { readonly entries: readonly SessionEntry[]; readonly tree: SessionTree },
): boolean {
  if (ids.has(leaf)) return false;
  const times = new Set(entries.map(({ timestamp }) => timestamp));
  for (let node = tree.node(leaf); node !== undefined && !ids.has(node.id); ) {
    if (!times.has(node.timestamp)) return true;
    node = node.parentId === null ? undefined : tree.node(node.parentId);
  }
  return false;
}

/** The ids of the entries. Throws for a repeated one, and for a parent that is no earlier entry. */
function checkedIds(entries: readonly SessionEntry[], tree: SessionTree): ReadonlySet<string> {
  const ids = new Set<string>();
  for (const [at, entry] of entries.entries()) {
    if (!isRecord(entry)) throw invalid(`entries[${at}]`, "an entry", entry);
    const { id, parentId } = entry;
    if (typeof id !== "string" || id === "") throw invalid(`entries[${at}].id`, "a non-empty string", id);
    if (ids.has(id)) {
      throw new SessileError("DUPLICATE_ID", `${entryPlace(entry, at)}: an earlier entry has the id`, {
        details: { entryId: id },
      });
    }
    if (typeof parentId === "string" && !ids.has(parentId) && !tree.has(parentId))
      throw missing(`${entryPlace(entry, at)}.parentId`, parentId);
    ids.add(id);
  }
  return ids;
}

/** An entry in recorded form, with its images in blobs. Throws if it is invalid. */
async function recorded(
  entry: SessionEntry,
  place: string,
  { maxDepth, recording }: Target["settings"],
): Promise<SessionEntry> {
  try {
    assertValidEntry(entry, maxDepth);
  } catch (error) {
    if (!SessileError.is(error, "INVALID_ENTRY")) throw error;
    const { path, expected } = error.details;
    throw invalid(path === "" ? place : `${place}.${path}`, expected);
  }
  if (!hasInline(entry)) return entry;
  if (recording.blobs === undefined) {
    assertInline(entry, place, recording);
    return entry;
  }
  const { withoutInline } = await import("../runtime/inline-images.js");
  const draft = entry as EntryDraft;
  return (await withoutInline(draft, { id: entry.id, at: place }, recording, undefined)) as SessionEntry;
}

function entryPlace({ id }: SessionEntry, at: number): string {
  return `entries[${at}] (${SessileError.printable(id)})`;
}

function missing(place: string, entryId: string): SessileError {
  const message = `${place}: no earlier entry has the id ${JSON.stringify(entryId)}`;
  return new SessileError("ENTRY_NOT_FOUND", message, { details: { entryId } });
}

function invalid(path: string, expected: string, ...got: readonly unknown[]): SessileError {
  const came = got.length === 0 ? "" : `, got ${describe(got[0])}`;
  return new SessileError("INVALID_ENTRY", `${path}: expected ${expected}${came}`, {
    details: { path, expected },
  });
}
