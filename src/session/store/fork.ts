/** Forks and migrations: the lines of a session in another log. */

import { withNewIds } from "../../content/internal.js";
import { SessileError } from "../../errors/index.js";
import { concatBytes, encodeUtf8 } from "../../internal/bytes.js";
import { randomHex8 } from "../../internal/ids.js";
import { isRecord } from "../../internal/shape.js";
import { spaced } from "../../internal/text.js";
import type { LogPosition, SessionLog } from "../api/backend.js";
import { formatVersion, type SessionEntry, type SessionInfoFields } from "../api/entries.js";
import type { ForkOptions, RewriteEntry } from "../api/store.js";
import { cleanLine, type DecodedLine, LineDecoder, stripBom } from "../format/decode.js";
import { assertValidEntry, printHeader, spliceJson } from "../format/encode.js";
import { entryIdOf } from "../format/entry-prefix.js";
import { appendChecksum } from "../format/line-json.js";
import { defaultLimits } from "../format/line-splitter.js";
import { headerVersion, migrateLine } from "../format/migrate.js";
import type { SessionSettings } from "../runtime/loaded-log.js";
import { headerLine, lineWithRoom, storedLines, withLineFeed } from "../runtime/log-lines.js";
import { checkRecordingOptions } from "../runtime/recording.js";
import type { LiveSession } from "../runtime/session.js";
import { forkTitle } from "../runtime/session-info.js";
import type { SessionState } from "../runtime/session-state.js";
import { noRow } from "../tree/entry-table.js";
import { entryTableOf } from "../tree/session-tree.js";
import type { CreateOptions, Mutable } from "./arguments.js";
import { firstText } from "./preview.js";

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
  const rows = entryTableOf(await session.tree());
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
        parentId = entryIdOf(decoded.head.id);
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
  const rows = entryTableOf(await session.tree());
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

/** The parts of a store that {@link copySession} uses. */
export interface CopyTarget {
  readonly create: (
    options: CreateOptions,
  ) => Promise<{ readonly state: SessionState; readonly partition: string }>;
  /** The path of a directory that the caller named, checked. */
  readonly directory: (cwd: string) => Promise<string>;
  readonly created: (id: string) => void;
  /** Opens the copy for writing. */
  readonly open: (
    copy: { readonly id: string; readonly location?: string | undefined },
    partition: string,
    settings: SessionSettings,
  ) => Promise<LiveSession>;
}

/**
 * Creates a session with these lines, copied as bytes if possible, and opens it from the store, so that it
 * shows the written lines.
 */
export async function copySession(
  source: LiveSession,
  lines: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  options: Partial<CreateOptions>,
  info: SessionInfoFields | undefined,
  inBytes: ((log: SessionLog, first: Uint8Array) => Promise<boolean>) | undefined,
  target: CopyTarget,
): Promise<LiveSession> {
  const { state, partition } = await target.create({
    // The directory of the source, which another program wrote, may be invalid.
    cwd: options.cwd === undefined ? source.header.cwd : await target.directory(options.cwd),
    id: options.id,
    partition: options.partition,
    parentSession: source.location ?? source.id,
    ...checkRecordingOptions(options),
  });
  const { log } = state;
  try {
    const first = headerLine(state.header, state);
    if (!(await inBytes?.(log, first))) {
      const batch = [first];
      for await (const line of lines) batch.push(line);
      await log.append(batch, state.position as LogPosition);
    }
  } finally {
    await log.close();
  }
  target.created(state.header.id);
  const copy = { id: state.header.id, location: log.location };
  // Its title is a part of the copy, and no operation of its own.
  const settings: Mutable<SessionSettings> = { ...state.settings, onOperation: undefined };
  const session = await target.open(copy, partition, settings);
  if (info !== undefined) await session.updateInfo(info);
  settings.onOperation = state.settings.onOperation;
  return session;
}
