/** Discovery: the sessions of agents on this machine. */

import { createHash } from "node:crypto";
import { readFile, realpath } from "node:fs/promises";
import { dirname, join } from "node:path";
import { integerOption } from "../../core/arguments.js";
import { directoryTest } from "../../core/directories.js";
import { objectOf, parseJson, textOf } from "../shared/values.js";
import type { ForeignFormatName } from "../types.js";
import { type Described, describeSession } from "./describe.js";
import { agentHomes } from "./homes.js";
import { type Candidate, candidateOf, readWindows } from "./walk.js";

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
  const { agents = Object.keys(agentHomes) as ForeignFormatName[], homes = {}, cwd } = options;
  const since = integerOption("since", options.since, 0, 0);
  if (cwd !== undefined && typeof cwd !== "string")
    throw new TypeError(`cwd: expected a string, got ${typeof cwd}`);
  for (const agent of agents)
    if (!Object.hasOwn(agentHomes, agent))
      throw new TypeError(`agents: expected names of ${Object.keys(agentHomes).join(", ")}, got ${agent}`);
  const found = await Promise.all(
    [...new Set(agents)].map(async (format) => {
      const named = homes[format] ?? agentHomes[format].home(process.env);
      // The home itself may be a link, such as to a folder of dotfiles.
      const home = named === undefined ? undefined : await realpath(named).catch(() => undefined);
      return home === undefined ? [] : await sessionsOf(format, home, since);
    }),
  );
  const isThere = cwd === undefined ? undefined : directoryTest([cwd, await realpath(cwd).catch(() => cwd)]);
  const sessions = found.flat().filter((session) => isThere === undefined || isThere(session.cwd ?? ""));
  yield* sessions.sort((a, b) => b.modified - a.modified);
}

type Pair = readonly [Candidate, Described];

async function sessionsOf(
  format: ForeignFormatName,
  home: string,
  since: number,
): Promise<readonly FoundSession[]> {
  const all = await agentHomes[format].sessions(home);
  const paths = new Set(all.map(({ path }) => path));
  const candidates = all.filter(({ modified }) => modified >= since);
  const pairs = (await inParallel(candidates, (candidate) => describe(format, candidate))).filter(
    (pair) => pair !== undefined,
  );
  const parts = new Map<string, Candidate[]>();
  for (const [candidate, { partOf }] of pairs) {
    if (partOf === undefined) continue;
    const key = `${dirname(candidate.path)} ${partOf}`;
    const list = parts.get(key) ?? [];
    if (list.length === 0) parts.set(key, list);
    list.push(candidate);
  }
  const more = await moreOf(format, home);
  const newest = new Map<string, { readonly session: FoundSession; readonly base: string | undefined }>();
  for (const [candidate, described] of pairs) {
    // A part whose session was deleted is all that is left of it.
    if (described.partOf !== undefined && paths.has(`${dirname(candidate.path)}/${described.partOf}.jsonl`))
      continue;
    const others = parts.get(`${dirname(candidate.path)} ${described.id}`) ?? [];
    const whole = { ...described, ...more(candidate, described) };
    const session = foundOf({ format, home, candidate, others, described: whole });
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

async function describe(format: ForeignFormatName, candidate: Candidate): Promise<Pair | undefined> {
  if (candidate.path.endsWith(".db")) return [candidate, { id: candidate.path }];
  const windows = await readWindows(candidate);
  const described = windows && describeSession(format, candidate, windows);
  return described === undefined ? undefined : [candidate, described];
}

function foundOf({
  format,
  home,
  candidate,
  others,
  described,
}: {
  readonly format: ForeignFormatName;
  readonly home: string;
  readonly candidate: Candidate;
  readonly others: readonly Candidate[];
  readonly described: Described;
}): FoundSession {
  const { id, cwd, title, created, updated, parent } = described;
  const files = [candidate, ...others];
  return {
    format,
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

/** Facts on sessions from other files of a home: names of threads, directories of projects. */
async function moreOf(
  format: ForeignFormatName,
  home: string,
): Promise<(candidate: Candidate, described: Described) => Partial<Described>> {
  if (format === "codex") {
    const names = new Map<string, string>();
    // The last name of a thread counts.
    for (const line of (await textFile(join(home, "session_index.jsonl"))).split("\n")) {
      const { id, thread_name: name } = objectOf(parseJson(line)) ?? {};
      if (typeof id === "string" && typeof name === "string" && name !== "")
        names.set(id, name.slice(0, 200));
    }
    return (_candidate, { id }) => {
      const title = names.get(id);
      return title === undefined ? {} : { title };
    };
  }
  if (format === "gemini") {
    const projects =
      objectOf(objectOf(parseJson(await textFile(join(home, "projects.json"))))?.projects) ?? {};
    const directories = new Map<string, string>();
    for (const [directory, slug] of Object.entries(projects)) {
      directories.set(createHash("sha256").update(directory).digest("hex"), directory);
      const name = textOf(slug);
      if (name !== undefined) directories.set(name, directory);
    }
    return ({ path }) => {
      const cwd = directories.get(path.split("/")[1] ?? "");
      return cwd === undefined ? {} : { cwd };
    };
  }
  return () => ({});
}

/** An index of an agent. Empty if it cannot be read, or is larger than one that an agent writes. */
async function textFile(file: string): Promise<string> {
  const found = await candidateOf(dirname(file), file);
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
