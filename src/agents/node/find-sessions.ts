/**
 * The sessions of agents on this machine: found, their files for an import, and the import of lines appended
 * later.
 */

import { closeSync, constants, existsSync, lstatSync, openSync, readSync, type Stats } from "node:fs";
import { type FileHandle, open, readdir, readFile, realpath } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, relative, sep } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { integerOption } from "../../core/arguments.js";
import { SessileError } from "../../core/errors/index.js";
import { directoryTest } from "../../core/ids.js";
import type { Session, SessionStore } from "../../session/index.js";
import { folderByPath, textTitle } from "../shared/records.js";
import { agentRow, agents as table } from "../table.js";
import type {
  AgentDescription,
  AgentPlace,
  AgentRow,
  AgentWindows,
  ForeignFile,
  ForeignFormatName,
  ImportedSession,
} from "../types.js";

/** A session that was found. Its texts are another program's, and untrusted. */
export interface FoundSession {
  readonly format: ForeignFormatName;
  /** The agent's id. Absent members of a database are those of its sessions. */
  readonly id: string;
  /** The agent's home, absolute. */
  readonly home: string;
  /** The files, relative to the home, with forward slashes. The first one has the session itself. */
  readonly paths: readonly string[];
  /** The project's directory. */
  readonly cwd?: string;
  readonly title?: string;
  /** Milliseconds since 1970. */
  readonly created?: number;
  /** Milliseconds since 1970. */
  readonly modified: number;
  /** Of the files. */
  readonly bytes: number;
  /** The session that started this one. */
  readonly parent?: string;
}

/** Options of `findSessions`. */
export interface FindOptions {
  /** @default all */
  readonly agents?: readonly ForeignFormatName[];
  /**
   * Homes of agents. `sessile` is the directory of a store. @default that of the agent's variable, such as
   * CODEX_HOME, else the agent's own default
   */
  readonly homes?: { readonly [F in ForeignFormatName]?: string };
  /** Only sessions of this directory. */
  readonly cwd?: string;
  /** Only sessions that changed at or after this time, in milliseconds since 1970. */
  readonly since?: number;
}

/** Of a session: an import reads as many children. */
const maxRelated = 2000;

/** Files that are read at once. */
const atOnce = 32;

export async function* findSessions(
  options: FindOptions = {},
): AsyncGenerator<FoundSession, void, undefined> {
  const { cwd } = options;
  if (cwd !== undefined && typeof cwd !== "string")
    throw new TypeError(`cwd: expected a string, got ${typeof cwd}`);
  const found = await inHomes(options, rowSessions);
  const isThere = cwd === undefined ? undefined : directoryTest([cwd, await realpath(cwd).catch(() => cwd)]);
  const sessions = found.filter((session) => isThere === undefined || isThere(session.cwd ?? ""));
  yield* sessions.sort((a, b) => b.modified - a.modified);
}

/** Runs a task for the home of each agent that has one, and joins the results. */
async function inHomes<T>(
  options: FindOptions,
  task: (row: Row, home: string, since: number) => Promise<readonly T[]>,
): Promise<T[]> {
  const { agents = table.map(({ name }) => name), homes = {} } = options;
  const since = integerOption("since", options.since, 0, 0);
  const rows = [...new Set(agents)].map((agent) => {
    const row = agentRow(agent);
    if (row !== undefined) return row;
    throw new TypeError(
      `agents: expected names of ${table.map(({ name }) => name).join(", ")}, got ${agent}`,
    );
  });
  const found = await Promise.all(
    rows.map(async (row) => {
      const named = homes[row.name] ?? rowHome(row);
      // The home itself may be a link, such as to a folder of dotfiles.
      const home = named === undefined ? undefined : await realpath(named).catch(() => undefined);
      return home === undefined ? [] : await task(row, home, since);
    }),
  );
  return found.flat();
}

/** A session by the name, time and size of its file, which is read when it is described. */
export interface ListedSession {
  readonly listed: FoundSession;
  /**
   * The session as `findSessions` yields it; undefined for a file that is none.
   *
   * @param isWhole with the files of those that it started, which the heads of other files name. Default: without.
   */
  describe(isWhole?: boolean): Promise<FoundSession | undefined>;
}

/**
 * Lists the sessions of homes, newest first by the times of their files, then by the names of those, the last
 * first: a name often begins with a time. A file is read only if its name does not have the id of its session.
 */
export async function listSessions(options: Omit<FindOptions, "cwd">): Promise<readonly ListedSession[]> {
  const all = await inHomes(options, listedInHome);
  const named = all.map((each) => {
    const [path = ""] = each.listed.paths;
    return { each, modified: each.listed.modified, name: path.slice(path.lastIndexOf("/") + 1) };
  });
  named.sort((a, b) => b.modified - a.modified || (a.name < b.name ? 1 : -1));
  return named.map(({ each }) => each);
}

async function listedInHome(row: Row, home: string, since: number): Promise<readonly ListedSession[]> {
  const { nameId } = row;
  const all = await rowFiles(row, home);
  if (nameId === undefined) {
    const described = await describeFiles(row, home, all, since);
    return described.map((listed) => ({ listed, describe: async () => listed }));
  }
  const byId = new Map<string, Candidate>();
  const unnamed: Candidate[] = [];
  for (const candidate of all) {
    const id = nameId(candidate.path);
    if (id === undefined) {
      if (candidate.modified >= since) unnamed.push(candidate);
    } else if ((byId.get(id)?.modified ?? Number.NEGATIVE_INFINITY) < candidate.modified)
      byId.set(id, candidate);
  }
  const { found, parts } = await describedSessions(row, home, all, unnamed);
  const readMore = once(async () => row.index?.read(await textFile(join(home, row.index.file))));
  const read = async (candidate: Candidate) => {
    const described = (await describe(row, candidate))?.[1];
    if (described === undefined) return undefined;
    const whole = { ...described, ...(await readMore())?.(candidate.path, described.id) };
    const others = parts.get(candidate.path) ?? [];
    return { session: readFound({ row, home, candidate, others, described: whole }), base: described.base };
  };
  const describeWhole = async (candidate: Candidate) => {
    const found = await read(candidate);
    const files = new Map<string, FoundSession>();
    for (let base = found?.base; base !== undefined && !files.has(base); ) {
      const file = byId.get(base);
      const next = file && (await read(file));
      if (next === undefined) break;
      files.set(base, next.session);
      base = next.base;
    }
    return found && { session: found.session, bases: [...files.values()] };
  };
  /** The sessions that others started, by the ids of those. */
  const started = once(async () => {
    const children = new Map<string, FoundSession[]>();
    const names = row.parentMembers?.map((name) => JSON.stringify(name)) ?? [];
    if (names.length === 0) return children;
    let count = 0;
    for (const candidate of byId.values()) {
      if (++count % filesBetweenTurns === 0) await nextTurn();
      if (!headHas(candidate.file, names)) continue;
      const { session, base } = (await read(candidate)) ?? {};
      if (session?.parent === undefined || base !== undefined) continue;
      const list = children.get(session.parent);
      if (list === undefined) children.set(session.parent, [session]);
      else list.push(session);
    }
    return children;
  });
  const orphans = [...found.values()].map(({ session }) => ({
    listed: session,
    describe: async () => session,
  }));
  const named = [...byId].map(([id, candidate]): ListedSession => {
    const others = parts.get(candidate.path) ?? [];
    const listed = readFound({ row, home, candidate, others, described: { id } });
    const known = once(() => describeWhole(candidate));
    return {
      listed,
      async describe(isWhole = false) {
        const { session, bases } = (await known()) ?? {};
        if (session === undefined || bases === undefined) return undefined;
        const related = new Set([session]);
        if (isWhole) addStarted(related, await started());
        return withFiles(session, [...related, ...bases]);
      },
    };
  });
  return [...orphans, ...named].filter(({ listed }) => listed.modified >= since);
}

/** Adds the sessions that those of a set started, at any depth. */
function addStarted(
  sessions: Set<FoundSession>,
  started: ReadonlyMap<string, readonly FoundSession[]>,
): void {
  // Iteration over a set includes members added meanwhile, and visits a cycle once.
  for (const { id } of sessions) {
    if (sessions.size > maxRelated) break;
    for (const child of started.get(id) ?? []) sessions.add(child);
  }
}

function once<T>(task: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => (result ??= task());
}

/** The home of an agent on this machine. */
function rowHome({ home }: Row): string | undefined {
  if (home === undefined) return undefined;
  const named = home.variables.map((name) => process.env[name]).find((value) => value !== undefined);
  return join(named ?? join(homedir(), home.folder), home.inner ?? "");
}

type Row = AgentRow<ForeignFormatName>;
type Pair = readonly [Candidate, AgentDescription];

const rowFiles = async (row: Row, home: string): Promise<readonly Candidate[]> =>
  (await Promise.all(row.sessions.map((place) => placeFiles(home, place)))).flat();

const rowSessions = async (row: Row, home: string, since: number): Promise<readonly FoundSession[]> =>
  describeFiles(row, home, await rowFiles(row, home), since);

async function describeFiles(
  row: Row,
  home: string,
  all: readonly Candidate[],
  since: number,
): Promise<readonly FoundSession[]> {
  const candidates = all.filter(({ modified }) => modified >= since);
  return withRelated((await describedSessions(row, home, all, candidates)).found);
}

interface DescribedSession {
  readonly session: FoundSession;
  readonly base: string | undefined;
}

/**
 * Describes files of a home. `found` has the sessions by their ids. `parts` has the files that belong to a
 * session, by the path of its own file.
 */
async function describedSessions(
  row: Row,
  home: string,
  all: readonly Candidate[],
  candidates: readonly Candidate[],
): Promise<{
  readonly found: ReadonlyMap<string, DescribedSession>;
  readonly parts: ReadonlyMap<string, readonly Candidate[]>;
}> {
  const found = new Map<string, DescribedSession>();
  const parts = new Map<string, Candidate[]>();
  if (candidates.length === 0) return { found, parts };
  const { index } = row;
  const paths = new Set(all.map(({ path }) => path));
  const pairs = (await inParallel(candidates, (candidate) => describe(row, candidate))).filter(
    (pair) => pair !== undefined,
  );
  for (const [candidate, { readPart }] of pairs) {
    if (readPart === undefined) continue;
    const list = parts.get(readPart);
    if (list === undefined) parts.set(readPart, [candidate]);
    else list.push(candidate);
  }
  const more = index?.read(await textFile(join(home, index.file)));
  for (const [candidate, described] of pairs) {
    const { path } = candidate;
    const { readPart } = described;
    // A part whose session was deleted is all that is left of it.
    if (readPart !== undefined && paths.has(readPart)) continue;
    const others = readPart === undefined ? (parts.get(path) ?? []) : [];
    const whole = { ...described, ...more?.(path, described.id) };
    const session = readFound({ row, home, candidate, others, described: whole });
    const known = found.get(session.id);
    if (known !== undefined && known.session.modified >= session.modified) continue;
    found.set(session.id, { session, base: described.base });
  }
  return { found, parts };
}

/** Sessions with the files of those that they started, and of the one that they were forked from. */
function withRelated(sessions: ReadonlyMap<string, DescribedSession>): readonly FoundSession[] {
  const children = new Map<string, string[]>();
  for (const { session, base } of sessions.values()) {
    if (session.parent === undefined || base !== undefined) continue;
    const list = children.get(session.parent) ?? [];
    if (list.length === 0) children.set(session.parent, list);
    list.push(session.id);
  }
  return [...sessions.values()].map(({ session, base }) => {
    const started = children.get(session.id) ?? [];
    if (started.length === 0 && base === undefined) return session;
    // Iteration over a set includes members added meanwhile, and visits a cycle once.
    const bases = new Set<string>();
    for (let id = base; id !== undefined && !bases.has(id); id = sessions.get(id)?.base) bases.add(id);
    const related = new Set([session.id]);
    for (const id of related) {
      if (related.size > maxRelated) break;
      for (const child of children.get(id) ?? []) related.add(child);
    }
    for (const id of bases) related.add(id);
    return withFiles(
      session,
      [...related].flatMap((id) => sessions.get(id)?.session ?? []),
    );
  });
}

/** A session with the files of these, of which it is the first. */
const withFiles = (session: FoundSession, all: readonly FoundSession[]): FoundSession => ({
  ...session,
  paths: all.flatMap(({ paths }) => paths),
  bytes: all.reduce((sum, { bytes }) => sum + bytes, 0),
});

async function describe(row: Row, candidate: Candidate): Promise<Pair | undefined> {
  if (candidate.path.endsWith(".db")) return [candidate, { id: candidate.path }];
  const windows = await readWindows(candidate);
  const described = windows && row.describe(candidate.path, windows);
  return described === undefined ? undefined : [candidate, described];
}

function readFound({
  row,
  home,
  candidate,
  others,
  described,
}: {
  readonly row: Row;
  readonly home: string;
  readonly candidate: Candidate;
  readonly others: readonly Candidate[];
  readonly described: AgentDescription;
}): FoundSession {
  const { id, cwd, created, updated, parent } = described;
  const title = textTitle(described.title) ?? textTitle(rowQuestion(row, described));
  const files = [candidate, ...others];
  return {
    format: row.name,
    id,
    home,
    paths: files.map(({ path }) => path),
    ...(cwd === undefined ? {} : { cwd }),
    ...(title === undefined ? {} : { title }),
    ...(created === undefined ? {} : { created }),
    modified: files.reduce((latest, { modified }) => Math.max(latest, modified), updated ?? 0),
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    ...(parent === undefined ? {} : { parent }),
  };
}

/** The first words of the user. */
function rowQuestion({ harness }: Row, { questions = [] }: AgentDescription): string | undefined {
  for (const text of questions)
    if (text.trim() !== "" && harness?.test(text.trimStart()) !== true) return text;
  return undefined;
}

/** An index of an agent. Empty if it cannot be read, or is larger than one that an agent writes. */
async function textFile(file: string): Promise<string> {
  const found = homeCandidate(dirname(file), file);
  if (found === undefined || found.bytes > 16 * 1024 * 1024) return "";
  return await readFile(file, "utf8").catch(() => "");
}

/** Runs a task for each item, so many at once, and returns the results in order. */
async function inParallel<T, R>(items: readonly T[], task: (item: T) => Promise<R>): Promise<readonly R[]> {
  const results = new Array<R>(items.length);
  let next = 0;
  const worker = async () => {
    while (next < items.length) {
      const at = next++;
      results[at] = await task(items[at] as T);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  return results;
}

/** At the top of a home there are other files too. */
const databaseFiles: AgentPlace = { folder: "", name: /\.db(?:-wal)?$/ };

/** The files below the folders that an agent's sessions are in, by their names, sizes and times; none is read. */
export async function homeFiles(
  format: ForeignFormatName,
): Promise<{ readonly home: string; readonly files: readonly Candidate[] } | undefined> {
  const row = agentRow(format);
  const named = row && rowHome(row);
  if (row === undefined || named === undefined) return undefined;
  const home = await realpath(named).catch(() => named);
  const folders = new Set(row.sessions.map(({ folder }) => folder.split("/")[0] ?? ""));
  const places = [...folders].map(
    (folder): AgentPlace => (folder === "" ? databaseFiles : { folder, depth: maxDepth, name: /^/ }),
  );
  const files = (await Promise.all(places.map((place) => placeFiles(home, place)))).flat();
  return { home, files };
}

/**
 * The session of a file in the home of its agent, if that has other files of the session elsewhere.
 *
 * @param path absolute
 */
export async function scatteredSession(
  format: ForeignFormatName,
  path: string,
): Promise<FoundSession | undefined> {
  const row = agentRow(format);
  const places = row?.isScattered === true ? row.sessions : [];
  const home = places.map((place) => homeOfFile(path, place)).find((each) => each !== undefined);
  if (home === undefined) return undefined;
  const sessions = await listSessions({ agents: [format], homes: { [format]: home } });
  const isHere = ({ listed }: ListedSession) => join(home, ...(listed.paths[0] ?? "").split("/")) === path;
  return sessions.find(isHere)?.describe(true);
}

// The files of a found session, for an import, and the incremental import of lines appended later.

export async function sessionFiles(found: FoundSession): Promise<readonly ForeignFile[]> {
  const { home, paths, id } = found;
  // A path from elsewhere could name a file out of the home.
  const own = paths.filter((path) => !path.split("/").includes("..") && !path.startsWith("/"));
  const named = own.map((path) => homeCandidate(home, join(home, ...path.split("/"))));
  const [main] = named;
  if (main === undefined)
    throw new SessileError("SESSION_NOT_FOUND", `${paths[0]}: the file is gone`, { details: { id } });
  const { claimed, others } = await moreFiles(found, main);
  // The session's own file comes first.
  const all = [...named.filter((file) => file !== undefined), ...claimed];
  const files = new Map(all.map((file): [string, ForeignFile] => [file.path, foreign(file)]));
  for (const file of others)
    if (!files.has(file.path)) files.set(file.path, { ...foreign(file), unclaimed: true });
  return [...files.values()];
}

function foreign(file: Candidate): ForeignFile {
  return { path: file.path, bytes: readFileBytes(file), modified: file.modified };
}

/** Of the folder of a session's own. */
const maxDepth = 8;

/** The files beside that of the session: those that its row names, and the others in the session's own folder. */
async function moreFiles(
  { format, home, id, paths }: FoundSession,
  main: Candidate,
): Promise<{ readonly claimed: readonly Candidate[]; readonly others: readonly Candidate[] }> {
  const row = agentRow(format);
  const folder = row?.folder?.(main.path) ?? `${folderByPath(main.path)}/${id}`;
  const places = row?.parts?.({ id, paths, folder }) ?? [];
  const claimed = (await Promise.all(places.map((place) => placeFiles(home, place)))).flat();
  const others = await placeFiles(home, { folder, depth: maxDepth, name: /^/ });
  return { claimed: claimed.filter(({ bytes, path }) => bytes > 0 || !path.endsWith("-wal")), others };
}

/** Options of {@link followSession}. */
export interface FollowOptions {
  /** The store with the session. */
  readonly sessions: SessionStore;
  /**
   * Calls `importSession` with the formats and options of the caller. `session` is the option of this name:
   * the session to read, if the files hold several.
   */
  readonly importFiles: (
    files: readonly ForeignFile[],
    session: string | undefined,
  ) => Promise<ImportedSession>;
}

export async function followSession(
  found: FoundSession,
  { sessions, importFiles }: FollowOptions,
): Promise<Session> {
  const files = await sessionFiles(found);
  const isDatabase = found.paths[0]?.endsWith(".db") === true;
  const imported = await importFiles(
    files,
    agentRow(found.format)?.isScattered && !isDatabase ? found.id : undefined,
  );
  for (const child of imported.children) {
    const opened = await sessions.adopt(child, { existing: "append" });
    await opened.close();
  }
  return await sessions.adopt(imported, { existing: "append" });
}

// Reading directories and windows of files of another program, without following a link out of its home.

/** A file that may be a session. */
interface Candidate {
  /** Absolute. */
  readonly file: string;
  /** Relative to the home, with forward slashes. */
  readonly path: string;
  /** Milliseconds since 1970. */
  readonly modified: number;
  readonly bytes: number;
}

/** Of the start and of the end of a file. */
export const windowBytes = 64 * 1024;

/**
 * The regular files of a place in a home. No symbolic link is followed: one may lead out of the home, or into a
 * loop. Folders and files that cannot be read, or vanish meanwhile, are left out.
 */
async function placeFiles(home: string, place: AgentPlace): Promise<readonly Candidate[]> {
  const { folder, depth = 0, name, parts } = place;
  let folders: readonly string[] = [home];
  // The id of a session, which is text of another program, may be a part.
  const names = folder.split("/").filter((each) => each !== "");
  if (names.some((each) => each === "." || each === ".." || each.includes("\\"))) return [];
  for (const part of names) {
    folders =
      part === "*"
        ? (await Promise.all(folders.map(readFolders))).flat()
        : folders.map((each) => join(each, part));
  }
  const found = (await Promise.all(folders.map((each) => walk(home, each, { depth, name })))).flat();
  if (parts === undefined) return found;
  const more = await Promise.all(
    found.flatMap(({ path }) => parts(path)).map((each) => placeFiles(home, each)),
  );
  return [...found, ...more.flat()];
}

/** The home that a file of a place is in; undefined for a file elsewhere. */
function homeOfFile(path: string, { folder, depth = 0, name }: AgentPlace): string | undefined {
  const names = path.split(/[/\\]/);
  const wanted = folder.split("/").filter((each) => each !== "");
  if (!name.test(names.at(-1) ?? "")) return undefined;
  for (let level = 0; level <= depth; level++) {
    const end = names.length - 1 - level;
    const start = end - wanted.length;
    if (start > 0 && wanted.every((each, at) => each === "*" || each === names[start + at]))
      return path.slice(0, names.slice(0, start).join("/").length) || "/";
  }
  return undefined;
}

async function walk(
  home: string,
  folder: string,
  { depth, name }: { readonly depth: number; readonly name: RegExp },
): Promise<readonly Candidate[]> {
  // Most sessions have no folder of their own: to ask for one costs less than an error.
  if (!existsSync(folder)) return [];
  const found: Candidate[] = [];
  const folders: string[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
    const file = `${folder}${folder.endsWith(sep) ? "" : sep}${entry.name}`;
    if (entry.isDirectory()) folders.push(file);
    if (!entry.isFile() || !name.test(entry.name)) continue;
    // A promise for each of 10,000 files takes three times as long.
    if (found.length % filesBetweenTurns === filesBetweenTurns - 1) await nextTurn();
    const candidate = readCandidate(home, file, statOfFile(file));
    if (candidate !== undefined) found.push(candidate);
  }
  if (depth === 0) return found;
  const more = await Promise.all(folders.map((each) => walk(home, each, { depth: depth - 1, name })));
  return [...found, ...more.flat()];
}

/** Files of which the states are read in one turn of the event loop: about 2 ms. */
const filesBetweenTurns = 200;

function statOfFile(file: string): Stats | undefined {
  try {
    return lstatSync(file, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** A regular file with its size and time; undefined for anything else. */
function homeCandidate(home: string, file: string): Candidate | undefined {
  return readCandidate(home, file, statOfFile(file));
}

function readCandidate(home: string, file: string, stat: Stats | undefined): Candidate | undefined {
  if (stat?.isFile() !== true) return undefined;
  const below = file.startsWith(home + sep) ? file.slice(home.length + 1) : relative(home, file);
  const path = sep === "/" ? below : below.replaceAll(sep, "/");
  return { file, path, modified: Math.trunc(stat.mtimeMs), bytes: stat.size };
}

/** The folders in a folder, without symbolic links. */
async function readFolders(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name));
}

/** The first and last bytes of a file; undefined if it cannot be read. */
export async function readWindows({ file, bytes }: Candidate): Promise<AgentWindows | undefined> {
  const handle = await openFile(file).catch(() => undefined);
  if (handle === undefined) return undefined;
  try {
    const head = await readAt(handle, 0, Math.min(bytes, windowBytes));
    if (bytes <= windowBytes) return { head, tail: head };
    return { head, tail: await readAt(handle, bytes - windowBytes, windowBytes) };
  } catch {
    return undefined;
  } finally {
    await handle.close();
  }
}

/** The bytes of a file, as they are read; at most those that it had when it was found. */
async function* readFileBytes({ file, bytes }: Candidate): AsyncGenerator<Uint8Array, void, undefined> {
  const handle = await openFile(file);
  try {
    for (let at = 0; at < bytes; ) {
      const part = await readAt(handle, at, Math.min(1024 * 1024, bytes - at));
      if (part.length === 0) return;
      yield part;
      at += part.length;
    }
  } finally {
    await handle.close();
  }
}

/** A name that became a link meanwhile is not followed, and one that became a pipe does not block. */
function readFlags(): number {
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
  return O_RDONLY | O_NOFOLLOW | O_NONBLOCK;
}

const openFile = (file: string): Promise<FileHandle> => open(file, readFlags());

/** Whether one of these texts of JSON is in the first bytes of a file. */
export function headHas(file: string, texts: readonly string[]): boolean {
  let fd: number | undefined;
  try {
    fd = openSync(file, readFlags());
    headBuffer ??= Buffer.allocUnsafe(windowBytes);
    const head = headBuffer.subarray(0, readSync(fd, headBuffer, 0, windowBytes, 0));
    return texts.some((text) => head.includes(text));
  } catch {
    return false;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

let headBuffer: Buffer | undefined;

async function readAt(handle: FileHandle, position: number, length: number): Promise<Uint8Array> {
  const buffer = new Uint8Array(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await handle.read(buffer, filled, length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}
