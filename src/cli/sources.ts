/**
 * The sessions that a command names: a path, an id, a unique start of an id, or `latest`. Sessions of other
 * agents are found in their homes, imported into memory, and never changed.
 */

import { existsSync, rmSync, statSync } from "node:fs";
import { constants, copyFile, mkdtemp, realpath, stat, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve, sep } from "node:path";
import zlib from "node:zlib";
import type {
  ForeignFile,
  ForeignFormat,
  ImportedSession,
  ImportOptions,
  InteropReport,
  SqliteReader,
} from "../agents/index.js";
import {
  agentRow,
  agents,
  assertStoredTables,
  type ForeignFormatName,
  formats,
  isOwnAgent,
} from "../agents/internal.js";
import {
  type FindOptions,
  type FoundSession as ForeignSession,
  findSessions,
  sessionFiles,
} from "../agents/node/index.js";
import {
  headHas,
  homeFiles,
  type ListedSession,
  listSessions,
  scatteredSession,
} from "../agents/node/internal.js";
import { type BlobStore, memoryBlobStore } from "../blobs/index.js";
import { SessileError } from "../core/errors/index.js";
import { directoryTest } from "../core/ids.js";
import { missingHeaderError } from "../log/internal.js";
import { memorySessionStore, type Session, type SessionStore } from "../session/index.js";
import { clockErrorMs } from "../session/internal.js";
import { fileBlobStore, fileSessionStore, openSessionFile } from "../storage/files/index.js";
import { copyTest, sessionKey } from "./archive-index.js";
import {
  type CommandContext,
  type OptionSpec,
  type Parsed,
  ReadError,
  textOption,
  UsageError,
} from "./command.js";
import { isDirectory, openRegular } from "./files.js";
import {
  damagedLines,
  damagedRecords,
  type FoundSession,
  type NamedSession,
  noteDamage,
  type OpenedSession,
  type OpenNamedOptions,
  type ReadOptions,
  type SourceNotes,
  type SourceQuery,
  unknownSession,
} from "./named-session.js";
import type { Output } from "./output.js";
import { databaseSessions, hasPartitions, isDatabase, partitionsIn } from "./stores.js";

/** Options of every command that reads sessions. */
export const sourceOptions: readonly OptionSpec[] = [
  {
    name: "dir",
    value: "DIR",
    description:
      "A store of sessions, or with --agent the agent's home. Default: .sessile/sessions here and all homes.",
    brief: "A store of sessions, or with --agent its home.",
  },
  {
    name: "store",
    value: "ADDRESS",
    isRare: true,
    description: "A store: a directory, sqlite:FILE, or postgres://… with the driver of this project.",
  },
  {
    name: "partition",
    value: "NAME",
    isRare: true,
    description: "A partition of the store, such as ai-sdk for the chats of useChat.",
  },
  { name: "all-partitions", isRare: true, description: "All partitions of the store." },
  {
    name: "blobs",
    value: "DIR",
    isRare: true,
    description: "The blob store. Default: the nearest one beside the session.",
  },
  {
    name: "agent",
    value: "NAME",
    choices: agents.map(({ name }) => name),
    description: "Only sessions of this agent.",
  },
];

/** The agent's name of sessions in this library's own stores. */
const ownAgent = "sessile";

/** The query of the options that every command has. */
export function parsedQuery(parsed: Parsed, since?: Date): SourceQuery {
  return { agent: textOption(parsed, "agent"), cwd: textOption(parsed, "cwd"), since };
}

/** The sessions of the stores in question, newest first. */
export async function namedSessions(
  parsed: Parsed,
  context: CommandContext,
  query: SourceQuery = {},
): Promise<readonly FoundSession[]> {
  const { database, dirs, isForeign } = namedPlaces(parsed, context, query);
  if (database !== undefined)
    return (await databaseSessions(database, parsed, context, query)).toSorted(byTime);
  const own = await Promise.all(
    dirs.map(async (each) => {
      const found: FoundSession[] = [];
      for (const partition of await storePartitions(each, parsed, context, query))
        for await (const session of partition) found.push(session);
      return found;
    }),
  );
  const foreign = isForeign ? await foreignSessions(parsed, context, query) : [];
  const lists = dirs.map(async (dir, at) => {
    const isCopy = await copyTest(dir, foreign, context);
    return (own[at] ?? []).filter((found) => !isCopy(found));
  });
  return [...(await Promise.all(lists)).flat(), ...foreign].sort(byTime);
}

/** Sessions for a search. */
export interface SearchedLists {
  /** Each newest first, by the times of files, and read as it is asked for. */
  readonly lists: readonly AsyncIterable<FoundSession>[];
  /** All sessions of other agents in the lists. */
  readonly foreign: readonly Pick<FoundSession, "agent" | "id">[];
  /** The number of sessions, if it is known before they are read. */
  readonly count?: number;
}

/** The sessions of {@link namedSessions}. Files are read only if the id of a session is not in their name. */
export async function searchedSessions(
  parsed: Parsed,
  context: CommandContext,
  query: SourceQuery,
): Promise<SearchedLists> {
  const { database, dirs, isForeign } = namedPlaces(parsed, context, query);
  if (database !== undefined) return searchedList(await namedSessions(parsed, context, query));
  const { foreign, lists } = isForeign ? await listedForeign(parsed, context, query) : searchedList([]);
  const stores = dirs.map(async (dir) => {
    const isCopy = await copyTest(dir, foreign, context);
    const partitions = await storePartitions(dir, parsed, context, query);
    return partitions.map((sessions) => without(sessions, isCopy));
  });
  const own = (await Promise.all(stores)).flat();
  return { foreign, lists: [...lists, ...own], ...(own.length === 0 && { count: foreign.length }) };
}

/** Sessions that were read, newest first. */
export function searchedList(sessions: readonly FoundSession[]): SearchedLists {
  return { lists: [asynchronous(sessions)], foreign: sessions, count: sessions.length };
}

/** Sessions that are described at once: the first ones are few, so that a list begins at once. */
const blockSizes = { first: 20, next: 100 };

/**
 * The sessions of lists, newest first by the times of files, in blocks. A file is described if its session is in a
 * block, and the next block is read if it is asked for.
 */
export async function* describedBlocks(
  { lists }: SearchedLists,
  limit: number,
): AsyncGenerator<{ readonly sessions: readonly FoundSession[]; readonly isLast: boolean }> {
  const keys = new Set<string>();
  const sessions = merged(lists);
  try {
    let isLast = false;
    for (let left = limit, size = blockSizes.first; !isLast && left > 0; size = blockSizes.next) {
      const named: FoundSession[] = [];
      while (named.length < Math.min(size, left) && !isLast) {
        const { done, value } = await sessions.next();
        if (done === true) isLast = true;
        else named.push(value);
      }
      const described = await Promise.all(named.map((each) => each.describe?.() ?? each));
      const block = described.filter((each, at) => {
        if (each === undefined) return false;
        // The content of a file may have the id of another one.
        const isKnown = named[at]?.describe !== undefined && keys.has(sessionKey(each));
        if (named[at]?.describe !== undefined) keys.add(sessionKey(each));
        return !isKnown;
      }) as readonly FoundSession[];
      left -= block.length;
      yield { sessions: block, isLast: isLast || left === 0 };
    }
  } finally {
    await sessions.return(undefined);
  }
}

/** Several lists of sessions as one, newest first by the times of files. */
export async function* merged(lists: readonly AsyncIterable<FoundSession>[]): AsyncGenerator<FoundSession> {
  const iterators = lists.map((list) => list[Symbol.asyncIterator]());
  try {
    const heads = await Promise.all(iterators.map((each) => each.next()));
    for (;;) {
      let newest: FoundSession | undefined;
      let from = 0;
      for (const [at, { done, value }] of heads.entries()) {
        if (done === true || (newest !== undefined && newest.modified >= value.modified)) continue;
        newest = value;
        from = at;
      }
      if (newest === undefined) return;
      yield newest;
      heads[from] = await (iterators[from] as AsyncIterator<FoundSession>).next();
    }
  } finally {
    for (const each of iterators) await each.return?.();
  }
}

async function* asynchronous<T>(items: Iterable<T>): AsyncGenerator<T> {
  yield* items;
}

async function* without(
  sessions: AsyncIterable<FoundSession>,
  isLeftOut: (found: FoundSession) => boolean,
): AsyncGenerator<FoundSession> {
  for await (const found of sessions) if (!isLeftOut(found)) yield found;
}

const byTime = (a: FoundSession, b: FoundSession) =>
  a.modified < b.modified ? 1 : a.modified > b.modified ? -1 : 0;

/** Says that no session was found, and where. */
export async function noSessions(parsed: Parsed, context: CommandContext): Promise<string> {
  const { database, dirs, isOwn, isForeign } = namedPlaces(parsed, context, parsedQuery(parsed));
  if (database !== undefined) return "no session found in the database";
  const { homes, inFiles, inRows } = await foreignQuery(parsed, context, parsedQuery(parsed));
  const folders = isForeign
    ? await Promise.all(
        [...inFiles, ...inRows].map(async (agent) => homes[agent] ?? (await homeFiles(agent))?.home),
      )
    : [];
  const own = isOwn && dirs.length === 0 ? [join(context.cwd, ".sessile", "sessions")] : dirs;
  const places = [...own, ...folders].filter((place) => place !== undefined);
  return `no session found in ${SessileError.printable(places.join(", "))}`;
}

/** The stores that the options name: a database, or directories, and whether homes of agents are meant too. */
function namedPlaces(parsed: Parsed, context: CommandContext, { agent }: SourceQuery) {
  const address = textOption(parsed, "store");
  if (address !== undefined && isDatabase(address))
    return { database: address, dirs: [], isOwn: false, isForeign: false };
  const dir = address ?? textOption(parsed, "dir");
  if (address !== undefined && /^\w{2,32}:\/\//.test(address))
    throw new UsageError(
      `--store: expected a directory, sqlite:FILE, or postgres://…, got ${SessileError.printable(address)}`,
    );
  if (dir !== undefined) assertThere(resolve(context.cwd, dir), dir);
  const isOwn = agent === undefined || agent === ownAgent;
  const dirs = dir === undefined ? ownStores(context) : [resolve(context.cwd, dir)];
  const hasPartition = hasPartitions(parsed);
  const isForeign = !hasPartition && (dir === undefined ? agent !== ownAgent : !isOwn);
  return { dirs: isOwn ? dirs : [], isOwn, isForeign };
}

/** @throws SessileError SESSION_NOT_FOUND, NOT_A_FILE */
function assertThere(path: string, name: string): void {
  if (!existsSync(path)) throw notFound(name, `there is no directory ${SessileError.printable(name)}`);
  if (!isDirectory(path)) throw notFound(name, `${SessileError.printable(name)} is no directory`);
}

/** The store of the working directory or of the nearest directory above it, as the guide lays it out. */
function ownStores({ cwd }: CommandContext): readonly string[] {
  const store = nearest(cwd, (dir) => join(dir, ".sessile", "sessions"));
  return store === undefined ? [] : [store];
}

function nearest(from: string, name: (dir: string) => string): string | undefined {
  for (let dir = resolve(from); ; dir = dirname(dir)) {
    if (existsSync(name(dir))) return name(dir);
    if (dir === dirname(dir)) return undefined;
  }
}

/** The sessions of each partition in question of a store, newest first, read as they are asked for. */
async function storePartitions(
  dir: string,
  parsed: Parsed,
  context: CommandContext,
  { cwd, since, notes = context.out }: SourceQuery,
): Promise<readonly AsyncIterable<FoundSession>[]> {
  const store = fileSessionStore({ dir });
  store.on("skipped", ({ location, error }) => notes.skip(location, error));
  const where = { ...(cwd === undefined ? {} : { cwd: resolve(context.cwd, cwd) }), ...(since && { since }) };
  let count = 0;
  const partitions = await partitionsIn(store, parsed);
  return partitions.map(async function* (partition) {
    for await (const summary of store.list({ ...where, partition, signal: context.signal })) {
      const path = summary.location ?? summary.id;
      context.out.progress(() => `${count} sessions`);
      count++;
      yield {
        agent: ownAgent,
        id: summary.id,
        path,
        ...(partition === "" ? {} : { partition }),
        title: summary.title ?? summary.name ?? summary.firstMessage,
        cwd: summary.cwd,
        created: summary.created,
        modified: summary.modified,
        size: summary.size,
        parent: summary.parentSession,
        isArchived: summary.archivedAt !== undefined,
        open: () => openOwn(path, parsed, context),
      };
    }
  });
}

async function openOwn(path: string, parsed: Parsed, context: CommandContext): Promise<OpenedSession> {
  const session = await openSessionFile(path).catch((error: unknown) => {
    throw SessileError.is(error, "NO_HEADER") ? unknownSession(path) : error;
  });
  const damaged = damagedLines(await session.diagnose());
  noteDamage(path, damaged, context.out);
  return {
    agent: ownAgent,
    path,
    session,
    damaged,
    blobs: blobStoreByPath(path, parsed, context),
    children: [],
    close: () => session.close(),
  };
}

/**
 * The blob store of the option, or the nearest folder `blobs` beside or above a session's file. The folder is the store
 * itself, as `openFolder` has it, or one of a store's own folders. A session in a partition has the blobs of its own.
 */
export function blobStoreByPath(
  path: string,
  parsed: Parsed,
  { cwd }: CommandContext,
): BlobStore | undefined {
  const given = textOption(parsed, "blobs");
  if (given !== undefined) {
    const dir = resolve(cwd, given);
    if (!isDirectory(dir))
      throw new UsageError(`--blobs: there is no directory ${SessileError.printable(given)}`);
    return fileBlobStore({ dir });
  }
  const blobs = nearest(dirname(path), (dir) => join(dir, "blobs"));
  if (blobs === undefined) return undefined;
  const root = existsSync(join(blobs, "blobs")) ? blobs : dirname(blobs);
  const folders = dirname(path)
    .split(sep)
    .filter((name) => name.startsWith("@"));
  const partitions = folders.map((name) => join(root, name));
  return fileBlobStore({ dir: partitions.find((dir) => existsSync(join(dir, "blobs"))) ?? root });
}

/**
 * Opens the session that a word names.
 * @throws UsageError for a name of several sessions; SessileError SESSION_NOT_FOUND
 */
export async function openNamed(
  name: string,
  parsed: Parsed,
  context: CommandContext,
  options?: OpenNamedOptions,
): Promise<OpenedSession> {
  return (await locate(name, parsed, context)).open(options);
}

/**
 * The session that a word names, not yet read.
 * @throws UsageError for a name of several sessions; SessileError SESSION_NOT_FOUND
 */
export async function locate(name: string, parsed: Parsed, context: CommandContext): Promise<NamedSession> {
  const path = namedPath(name, context);
  if (path === undefined) return findNamed(name, parsed, context);
  const own = { agent: ownAgent, path, open: () => openOwn(path, parsed, context) };
  return (await foreignFile(path, context)) ?? own;
}

/** A word with a separator, or the name of anything here but a directory, is a path. */
function namedPath(name: string, { cwd }: CommandContext): string | undefined {
  const path = resolve(cwd, name);
  const isPath = /[/\\]/.test(name) || statSync(path, { throwIfNoEntry: false })?.isDirectory() === false;
  return isPath ? path : undefined;
}

const minPrefix = 4;
const shownMatches = 5;

/** The session that an id, its start or `latest` names. */
async function findNamed(name: string, parsed: Parsed, context: CommandContext): Promise<FoundSession> {
  // A name needs one session alone: why others cannot be read is told if it names none.
  const held: (() => void)[] = [];
  const notes: SourceNotes = {
    skip: (path, error) => held.push(() => context.out.skip(path, error)),
    warn: (warning) => held.push(() => context.out.warn(warning)),
  };
  const { lists } = await searchedSessions(parsed, context, { ...parsedQuery(parsed), notes });
  const match = await (name === "latest" ? latestOf(lists, context) : namedIn(name, lists));
  if (match !== undefined) return match;
  for (const tell of held) tell();
  if (name === "latest") throw notFound(name, await noSessions(parsed, context));
  const short = name.length < minPrefix ? `; a start of an id has at least ${minPrefix} characters` : "";
  const file = /\.\w{1,8}$/.test(name) ? `there is no file ${SessileError.printable(name)}, and ` : "";
  throw notFound(name, `${file}no session has the id ${SessileError.printable(name)}${short}`);
}

/** As the store's `latest`: none that is archived, and one of a time to come only without another. */
async function latestOf(
  lists: SearchedLists["lists"],
  { now }: CommandContext,
): Promise<FoundSession | undefined> {
  const until = now() + clockErrorMs;
  let first: FoundSession | undefined;
  for await (const found of merged(lists)) {
    const isToCome = Date.parse(found.modified) > until;
    if (found.isArchived === true || (isToCome && first !== undefined)) continue;
    const whole = found.describe === undefined ? found : await found.describe(true);
    if (whole !== undefined && !isToCome) return whole;
    first ??= whole;
  }
  return first;
}

/**
 * The session with an id or the start of one, which is read alone.
 * @throws UsageError for a name of several sessions
 */
async function namedIn(name: string, lists: SearchedLists["lists"]): Promise<FoundSession | undefined> {
  const all: FoundSession[] = [];
  for await (const found of merged(lists)) all.push(found);
  const hasName = ({ id }: FoundSession) => (name.length < minPrefix ? id === name : id.startsWith(name));
  const listed = all.filter(hasName);
  const exact = listed.filter(({ id }) => id === name);
  const alike = exact.length > 0 ? exact : listed;
  // The names of many files are told as they are.
  const matches = alike.length > shownMatches ? alike : await describedWith(alike, hasName);
  if (matches.length === 0) {
    // The content of a file may have another id than its name.
    const start = JSON.stringify(name).slice(0, -1);
    const others = all.filter(({ describe, path }) => describe !== undefined && headHas(path, [start]));
    for (const other of await describedWith(others, hasName)) matches.push(other);
  }
  const [match] = matches;
  if (matches.length < 2) return match;
  // A path only tells apart what ids do not: five of them fill the screen.
  const hasIds = new Set(matches.map(({ id }) => id)).size === matches.length;
  const shown = matches.slice(0, shownMatches).map(({ agent, id, path }) => `${agent} ${hasIds ? id : path}`);
  const hint = new Set(matches.map(({ agent }) => agent)).size > 1 ? "; --agent chooses" : "";
  throw new UsageError(
    `${SessileError.printable(name)} names ${matches.length} sessions: ${SessileError.printable(shown.join(", "))}${hint}`,
  );
}

async function describedWith(
  sessions: readonly FoundSession[],
  isWanted: (found: FoundSession) => boolean,
): Promise<FoundSession[]> {
  const found = new Map<string, FoundSession>();
  for (const each of sessions) {
    if (each.describe === undefined) found.set(each.path, each);
    const whole = await each.describe?.(true);
    // Of files whose content has one id the newest counts.
    if (whole !== undefined && isWanted(whole) && !found.has(sessionKey(whole)))
      found.set(sessionKey(whole), whole);
  }
  return [...found.values()];
}

function notFound(id: string, message: string): SessileError {
  return new SessileError("SESSION_NOT_FOUND", message, { details: { id } });
}

/**
 * The sessions that words name; `all` names those that `ls` lists. Of several words, one that names nothing
 * is noted, and the others are located.
 * @throws as {@link locate} for a single word; UsageError
 */
export async function locateAll(
  names: readonly string[],
  parsed: Parsed,
  context: CommandContext,
): Promise<readonly NamedSession[]> {
  if (names.includes("all")) return namedSessions(parsed, context, parsedQuery(parsed));
  const located: NamedSession[] = [];
  for (const name of names) {
    try {
      located.push(await locate(name, parsed, context));
    } catch (error) {
      if (names.length === 1 || error instanceof UsageError) throw error;
      context.out.skip(name, error);
    }
  }
  return located;
}

/**
 * The file of this library's own session that a word names, which need not be readable.
 * @throws UsageError for a session of another agent
 */
export async function locateOwn(name: string, parsed: Parsed, context: CommandContext): Promise<string> {
  const path = namedPath(name, context);
  if (path !== undefined) return path;
  const found = await findNamed(name, parsed, context);
  if (!isOwnAgent(found.agent))
    throw new UsageError(
      `${SessileError.printable(name)} is a session of ${found.agent}: expected one of sessile or pi`,
    );
  return found.path;
}

// Sessions of other agents: found in their homes, and imported without being changed.

/** The sessions of all known agents in their homes. */
async function foreignSessions(
  parsed: Parsed,
  context: CommandContext,
  query: SourceQuery,
): Promise<readonly FoundSession[]> {
  const { cwd, isThere, homes, inFiles, inRows } = await foreignQuery(parsed, context, query);
  const since = query.since?.getTime();
  const options = { agents: inFiles, homes, ...(cwd && { cwd }), ...(since && { since }) };
  const found: FoundSession[] = [];
  for await (const each of joined([findSessions(options), rowSessions(inRows, homes, query, context)])) {
    context.signal.throwIfAborted();
    context.out.progress(() => `${found.length} sessions of other agents`);
    if (isThere(each.cwd ?? "") && each.modified >= (since ?? 0)) found.push(foundForeign(each, context));
  }
  return found;
}

/** The same by the names of files, of which each is described when it is asked for. */
export async function listedForeign(
  parsed: Parsed,
  context: CommandContext,
  query: SourceQuery,
): Promise<SearchedLists> {
  const { isThere, homes, inFiles, inRows } = await foreignQuery(parsed, context, query);
  const since = query.since?.getTime();
  const listed = await listSessions({ agents: inFiles, homes, ...(since && { since }) });
  const rows: FoundSession[] = [];
  for await (const each of rowSessions(inRows, homes, query, context))
    if (isThere(each.cwd ?? "") && each.modified >= (since ?? 0)) rows.push(foundForeign(each, context));
  rows.sort(byTime);
  async function* inOrder() {
    for (const each of listed) yield listedSession(each, isThere, context);
  }
  const ids = listed.map(({ listed: { format, id } }) => ({ agent: format, id }));
  return { lists: [inOrder(), asynchronous(rows)], foreign: [...ids, ...rows] };
}

function listedSession(
  { listed, describe }: ListedSession,
  isThere: (cwd: string) => boolean,
  context: CommandContext,
): FoundSession {
  const session = foundForeign(listed, context);
  const whole = async (isWhole?: boolean) => {
    const described = await describe(isWhole);
    return described && isThere(described.cwd ?? "") ? foundForeign(described, context) : undefined;
  };
  const { baseMembers } = agentRow(listed.format) ?? {};
  if (baseMembers === undefined) return { ...session, describe: whole };
  const names = baseMembers.map((name) => JSON.stringify(name));
  // The history of a fork is in the file of another session, which only its own file names.
  const currentFiles = async () =>
    headHas(session.path, names) ? ((await whole())?.currentFiles?.() ?? []) : [session.path];
  return { ...session, describe: whole, currentFiles };
}

async function foreignQuery(parsed: Parsed, context: CommandContext, query: SourceQuery) {
  const cwd = query.cwd === undefined ? undefined : resolve(context.cwd, query.cwd);
  const dir = textOption(parsed, "dir");
  const isNamed = dir !== undefined && query.agent !== undefined;
  const wanted = agents.filter(({ home, name }) => home !== undefined && (query.agent ?? name) === name);
  const hasRows = (is: boolean) =>
    wanted.filter(({ rows }) => (rows !== undefined) === is).map(({ name }) => name);
  return {
    cwd,
    isThere: cwd === undefined ? () => true : directoryTest([cwd, await realpath(cwd).catch(() => cwd)]),
    homes: isNamed ? { [query.agent as string]: resolve(context.cwd, dir) } : {},
    inFiles: hasRows(false),
    // The directory and the time of a session in a database are in its rows.
    inRows: hasRows(true),
  };
}

function rowSessions(
  inRows: readonly ForeignFormatName[],
  homes: NonNullable<FindOptions["homes"]>,
  query: SourceQuery,
  { out }: CommandContext,
): AsyncIterable<ForeignSession> {
  return readRows(findSessions({ agents: inRows, homes }), query.notes ?? out);
}

function foundForeign(each: ForeignSession, context: CommandContext): FoundSession {
  return {
    ...named(each, context),
    id: each.id,
    title: each.title,
    cwd: each.cwd,
    created: each.created === undefined ? undefined : timeText(each.created),
    modified: timeText(each.modified),
    size: each.bytes,
    parent: each.parent,
  };
}

async function* joined<T>(lists: readonly AsyncIterable<T>[]): AsyncGenerator<T> {
  for (const list of lists) yield* list;
}

/** Sessions with those in a database one by one. A database that this version of Node cannot read has a note. */
async function* readRows(
  found: AsyncIterable<ForeignSession>,
  notes: SourceNotes,
): AsyncGenerator<ForeignSession> {
  for await (const each of found) {
    const path = join(each.home, ...(each.paths[0] ?? "").split("/"));
    if (!path.endsWith(".db")) {
      yield each;
      continue;
    }
    try {
      const database = await openDatabase(path);
      const rows = database && agentRow(each.format)?.rows?.(database);
      if (rows === undefined) notes.warn({ code: "needsReader", message: needsNode(path, "sqlite"), path });
      else for (const row of rows) yield { ...each, ...row };
    } catch (error) {
      notes.skip(path, error);
    }
  }
}

/** A time of another program, which may be out of range. */
function timeText(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? new Date(0).toISOString() : date.toISOString();
}

const headBytes = 64 * 1024;

/** The session of another agent in a file; undefined for other files. pi's files are this library's own. */
export async function foreignFile(path: string, context: CommandContext): Promise<NamedSession | undefined> {
  const format = await formatByPath(path);
  if (format === undefined || isOwnAgent(format)) return undefined;
  const whole = await scatteredSession(format, path);
  if (whole !== undefined) return named(whole, context);
  const paths = [basename(path)];
  const id = basename(path).replace(/\.jsonl?(?:\.zst)?$/, "");
  return named({ format, id, home: dirname(path), paths, modified: 0, bytes: 0 }, context);
}

async function formatByPath(path: string): Promise<ForeignFormatName | undefined> {
  // The reader of the file reports why it is unreadable.
  const file = await openRegular(path).catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    const { bytesRead, buffer } = await file.read(new Uint8Array(headBytes), 0, headBytes, 0);
    const { detectSession } = await import("../agents/index.js");
    return detectSession(buffer.subarray(0, bytesRead), path)?.format;
  } finally {
    await file.close();
  }
}

function named(found: ForeignSession, { signal, out }: CommandContext): NamedSession {
  // `join` takes as long as all else here, and paths below the home need no change but for Windows.
  const inHome = (each: string) => `${found.home}${sep}${sep === "/" ? each : each.replaceAll("/", sep)}`;
  const files = found.paths.map(inHome);
  const [path = found.home] = files;
  const currentFiles = async (isWhole = false) =>
    (await sessionFiles(found)).flatMap(({ path, unclaimed }) => (unclaimed && !isWhole ? [] : inHome(path)));
  const read = async ({ isQuiet, ...options }: ReadOptions): Promise<ImportedSession> => {
    const database = path.endsWith(".db") ? await openDatabase(path) : undefined;
    const content = database === undefined ? await sessionFiles(found) : [await sessionHead(found, path)];
    // Only the discovery finds sessions of several files.
    const isRow = database !== undefined && found.id !== found.paths[0];
    const isOne = !isRow && found.paths.length === 1;
    const isWhole = agentRow(found.format)?.isScattered !== true;
    const { importSession } = await import("../agents/index.js");
    const imported = await importSession(content, {
      ...{ from: allFormats, ...decompressor(), ...options, signal },
      ...(isOne || isWhole ? {} : { session: found.id }),
      // A database is not kept: it has other sessions too.
      ...(database && { sqlite: () => database, keep: "none" }),
    }).catch((error: unknown) => {
      throw SessileError.is(error, "NO_HEADER") ? unknownSession(path) : error;
    });
    assertRead(path, imported);
    if (!isQuiet) noteFindings(path, imported.report, out);
    return imported;
  };
  const openAll = (options?: OpenNamedOptions) => openImported(found.format, path, read, options);
  return { agent: found.format, path, home: found.home, files, currentFiles, read, open: openAll };
}

/** The formats of all agents, since a file may be another's than its place says. Each is loaded if it reads one. */
const allFormats = Object.entries(formats).map(
  ([name, load]): ForeignFormat => ({
    name: name as ForeignFormatName,
    read: async (source) => (await load()).read?.(source),
    write: async (source) => (await load()).write(source),
  }),
);

/** The start of a database, by which the format is detected. */
async function sessionHead({ paths }: ForeignSession, path: string): Promise<ForeignFile> {
  const file = await openRegular(path);
  try {
    const { bytesRead, buffer } = await file.read(new Uint8Array(headBytes), 0, headBytes, 0);
    return { path: paths[0] ?? path, bytes: buffer.subarray(0, bytesRead) };
  } finally {
    await file.close();
  }
}

/** Reports damaged lines, and files that this version of Node cannot read. */
function noteFindings(path: string, report: InteropReport, out: Output): void {
  noteDamage(path, damagedRecords(report), out);
  for (const { code, text } of report.findings)
    if (code === "needsReader") out.warn({ code, message: `${path}: ${text}`, path });
}

/**
 * Stores an import with its subagents, and gives the file the time of the session: a list is by that time.
 * Returns the files, that of the session first.
 *
 * @param modified milliseconds since 1970; 0 for the time of the newest entry
 */
export async function adoptImport(
  store: SessionStore,
  imported: ImportedSession,
  modified: number,
): Promise<readonly string[]> {
  const paths: string[] = [];
  // Subagents first: the session that names them is then never without them.
  for (const each of [...imported.children, imported]) {
    const session = await store.adopt(each, { existing: "append" });
    const { location } = session;
    await session.close();
    paths.unshift(location ?? session.id);
    if (location === undefined) continue;
    const newest = each.entries.reduce((latest, { timestamp }) => Math.max(latest, Date.parse(timestamp)), 0);
    const time = (each === imported && modified > 0 ? modified : newest) / 1000;
    if (time > 0) await utimes(location, time, time);
  }
  return paths;
}

/** Puts an import into stores in memory. */
async function openImported(
  agent: string,
  path: string,
  read: (options: ReadOptions) => Promise<ImportedSession>,
  { hasOriginal = false }: OpenNamedOptions = {},
): Promise<OpenedSession> {
  const blobs = memoryBlobStore();
  const imported = await read({ blobs, keep: hasOriginal ? "blob" : "none" });
  const store = memorySessionStore({ blobs });
  const opened: Session[] = [];
  for (const each of [imported, ...imported.children]) opened.push(await store.adopt(each));
  const [session, ...children] = opened as [Session, ...Session[]];
  return {
    agent,
    path,
    session,
    blobs,
    children,
    damaged: damagedRecords(imported.report),
    report: imported.report,
    async close() {
      for (const each of opened) await each.close();
    },
  };
}

// Readers of databases and compressed files that the running version of Node may have.

/** The part of `node:sqlite` that is needed: Node 22.5 and later have it. */
interface NodeSqlite {
  readonly DatabaseSync: new (
    path: string,
  ) => {
    prepare(sql: string): { all(): unknown[] };
    close(): void;
  };
}

/** Whether this version of Node reads the sessions that an agent keeps in a database. */
export const readsDatabases = (): boolean => nodeSqlite() !== undefined;

/** `node:sqlite`, without its warning on standard error that it is experimental; undefined in Node 20. */
function nodeSqlite(): NodeSqlite | undefined {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return process.getBuiltinModule("node:sqlite") as NodeSqlite | undefined;
  } finally {
    process.emitWarning = emitWarning;
  }
}

const opened = new Map<string, Promise<SqliteReader>>();

/**
 * A reader of a database file as it is now, its write-ahead log included; undefined in Node 20. It reads a
 * copy, since SQLite would write beside the original. The copy is deleted when the process ends.
 */
async function openDatabase(path: string): Promise<SqliteReader | undefined> {
  const library = nodeSqlite();
  if (library === undefined) return undefined;
  const log = `${path}-wal`;
  const states = await Promise.all([path, log].map((file) => stat(file).catch(() => undefined)));
  const key = [path, ...states.map((state) => `${state?.size} ${state?.mtimeMs}`)].join("\n");
  const known = opened.get(key) ?? openCopy(path, states[1] === undefined ? undefined : log, library);
  opened.set(key, known);
  return known;
}

async function openCopy(
  path: string,
  log: string | undefined,
  { DatabaseSync }: NodeSqlite,
): Promise<SqliteReader> {
  const dir = await mkdtemp(join(tmpdir(), "sessile-"));
  const copy = join(dir, "copy.db");
  let close = () => {};
  process.once("exit", () => {
    close();
    rmSync(dir, { recursive: true, force: true });
  });
  await copyFile(path, copy, constants.COPYFILE_FICLONE);
  if (log !== undefined) await copyFile(log, `${copy}-wal`, constants.COPYFILE_FICLONE);
  const database = new DatabaseSync(copy);
  close = () => database.close();
  const reader = { all: (sql: string) => database.prepare(sql).all() as ReturnType<SqliteReader["all"]> };
  try {
    assertStoredTables(reader);
  } catch (error) {
    throw new ReadError("unreadable", `${path}: the database cannot be read: ${(error as Error).message}`);
  }
  return reader;
}

/** Zstandard by `node:zlib`: Node 22.15 and later have it. */
function decompressor(): Pick<ImportOptions, "decompress"> {
  const { zstdDecompressSync: decompressSync } = zlib as {
    readonly zstdDecompressSync?: (
      bytes: Uint8Array,
      options: { readonly maxOutputLength: number },
    ) => Uint8Array;
  };
  if (decompressSync === undefined) return {};
  return { decompress: (bytes, maxOutputLength) => decompressSync(bytes, { maxOutputLength }) };
}

const needs = {
  sqlite: ["an SQLite database", "22.5"],
  zstd: ["compressed by Zstandard", "22.15"],
} as const;

function needsNode(path: string, kind: keyof typeof needs): string {
  const [what, version] = needs[kind];
  return `${path}: ${what}, which needs Node ${version} or later; this is ${process.versions.node}`;
}

/** Findings that explain why a session has no entry. Without one of them it is simply empty. */
const nothingRead = new Set(["needsReader", "unreadable", "tooLong", "newer", "guessed"]);

/**
 * Refuses an import that has read nothing, which would look like an empty session.
 * @throws ReadError with the code of the finding; SessileError EMPTY, NO_HEADER
 */
function assertRead(path: string, { entries, report }: ImportedSession): void {
  const { counts, findings } = report;
  if (entries.some((entry) => entry.type !== "custom" || entry.customType !== "sessile.foreign")) return;
  const lost = findings.find(({ code }) => nothingRead.has(code));
  if (lost?.code === "needsReader") {
    throw new ReadError(lost.code, needsNode(path, /SQLite/.test(lost.text) ? "sqlite" : "zstd"));
  }
  if (lost?.code === "newer" || lost?.code === "guessed") throw unknownSession(path);
  if (lost !== undefined) throw new ReadError(lost.code, `${path}: ${lost.text}`);
  if (Object.keys(counts).length === 0) throw missingHeaderError(path, 0);
}
