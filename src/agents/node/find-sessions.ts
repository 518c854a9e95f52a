/** Discovery: the sessions of agents on this machine. */

import { readFile, realpath } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { integerOption } from "../../core/arguments.js";
import { directoryTest } from "../../core/ids.js";
import { textTitle } from "../shared/describe.js";
import { agentRow, agents as table } from "../table.js";
import type { AgentDescription, AgentRow, ForeignFormatName } from "../types.js";
import { type Candidate, homeCandidate, homeOfFile, placeFiles, readWindows } from "./walk.js";

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

/**
 * Lists the sessions of agents, newest first, one a session. Reads 64 KiB of the start and of the end of each
 * file. Writes nothing, opens no database (`opencode.db` is listed as one session), and follows no symbolic
 * link below a home. Folders and files that cannot be read are left out.
 *
 * @throws TypeError, RangeError for invalid options
 * @example
 * ```ts
 * for await (const { format, title, id } of findSessions({ cwd: process.cwd() })) console.log(format, title, id);
 * ```
 */
export async function* findSessions(
  options: FindOptions = {},
): AsyncGenerator<FoundSession, void, undefined> {
  const { agents = table.map(({ name }) => name), homes = {}, cwd } = options;
  const since = integerOption("since", options.since, 0, 0);
  if (cwd !== undefined && typeof cwd !== "string")
    throw new TypeError(`cwd: expected a string, got ${typeof cwd}`);
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
      return home === undefined ? [] : await rowSessions(row, home, since);
    }),
  );
  const isThere = cwd === undefined ? undefined : directoryTest([cwd, await realpath(cwd).catch(() => cwd)]);
  const sessions = found.flat().filter((session) => isThere === undefined || isThere(session.cwd ?? ""));
  yield* sessions.sort((a, b) => b.modified - a.modified);
}

/** The home of an agent on this machine. */
function rowHome({ home }: Row): string | undefined {
  if (home === undefined) return undefined;
  const named = home.variables.map((name) => process.env[name]).find((value) => value !== undefined);
  return join(named ?? join(homedir(), home.folder), home.inner ?? "");
}

type Row = AgentRow<ForeignFormatName>;
type Pair = readonly [Candidate, AgentDescription];

async function rowSessions(row: Row, home: string, since: number): Promise<readonly FoundSession[]> {
  const { index } = row;
  const all = (await Promise.all(row.sessions.map((place) => placeFiles(home, place)))).flat();
  const paths = new Set(all.map(({ path }) => path));
  const candidates = all.filter(({ modified }) => modified >= since);
  const pairs = (await inParallel(candidates, (candidate) => describe(row, candidate))).filter(
    (pair) => pair !== undefined,
  );
  const parts = new Map<string, Candidate[]>();
  for (const [candidate, { readPart }] of pairs) {
    if (readPart === undefined) continue;
    const list = parts.get(readPart);
    if (list === undefined) parts.set(readPart, [candidate]);
    else list.push(candidate);
  }
  const more = index?.read(await textFile(join(home, index.file)));
  const newest = new Map<string, { readonly session: FoundSession; readonly base: string | undefined }>();
  for (const [candidate, described] of pairs) {
    const { path } = candidate;
    const { readPart } = described;
    // A part whose session was deleted is all that is left of it.
    if (readPart !== undefined && paths.has(readPart)) continue;
    const others = readPart === undefined ? (parts.get(path) ?? []) : [];
    const whole = { ...described, ...more?.(path, described.id) };
    const session = readFound({ row, home, candidate, others, described: whole });
    const known = newest.get(session.id);
    if (known !== undefined && known.session.modified >= session.modified) continue;
    newest.set(session.id, { session, base: described.base });
  }
  return withRelated(newest);
}

/** Sessions with the files of those that they started, and of the one that they were forked from. */
function withRelated(
  sessions: ReadonlyMap<string, { readonly session: FoundSession; readonly base: string | undefined }>,
): readonly FoundSession[] {
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
    const all = [...related].flatMap((id) => sessions.get(id)?.session ?? []);
    return {
      ...session,
      paths: all.flatMap(({ paths }) => paths),
      bytes: all.reduce((sum, { bytes }) => sum + bytes, 0),
    };
  });
}

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
  const found = await homeCandidate(dirname(file), file);
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
  for await (const found of findSessions({ agents: [format], homes: { [format]: home } }))
    if (join(home, ...(found.paths[0] ?? "").split("/")) === path) return found;
  return undefined;
}
