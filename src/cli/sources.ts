/**
 * The sessions that a command names: a path, an id, a unique start of an id, or `latest`. Sessions of other
 * agents are imported into memory, and never changed.
 */

import { existsSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { agents, isOwnAgent } from "../agents/internal.js";
import type { BlobStore } from "../blobs/index.js";
import { SessileError } from "../core/errors/index.js";
import { clockErrorMs } from "../session/internal.js";
import { fileBlobStore, fileSessionStore, openSessionFile } from "../storage/files/index.js";
import { type CommandContext, type OptionSpec, type Parsed, textOption, UsageError } from "./command.js";
import { damagedLines, noteDamage, unknownSession } from "./damage.js";
import { findForeign, foreignFile } from "./foreign.js";
import type {
  FoundSession,
  NamedSession,
  OpenedSession,
  OpenNamedOptions,
  SourceQuery,
} from "./named-session.js";

/** Options of every command that reads sessions. */
export const sourceOptions: readonly OptionSpec[] = [
  {
    name: "dir",
    value: "DIR",
    description:
      "A store of sessions, or with --agent the agent's home. Default: .sessile/sessions here and all homes.",
  },
  {
    name: "blobs",
    value: "DIR",
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

/** Yields the sessions of the stores in question, newest first. */
export async function findSessions(
  parsed: Parsed,
  context: CommandContext,
  query: SourceQuery = {},
): Promise<readonly FoundSession[]> {
  const dir = textOption(parsed, "dir");
  if (dir !== undefined && !existsSync(resolve(context.cwd, dir)))
    throw notFound(dir, `there is no directory ${SessileError.printable(dir)}`);
  const dirs = dir === undefined ? ownStores(context) : [resolve(context.cwd, dir)];
  const isOwn = query.agent === undefined || query.agent === ownAgent;
  const own = isOwn ? await Promise.all(dirs.map((each) => sessionsIn(each, parsed, context, query))) : [];
  const isForeign = dir === undefined ? query.agent !== ownAgent : !isOwn;
  const foreign = isForeign ? await findForeign(parsed, context, query) : [];
  const found = [...own.flat(), ...foreign];
  return found.sort((a, b) => (a.modified < b.modified ? 1 : a.modified > b.modified ? -1 : 0));
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

async function sessionsIn(
  dir: string,
  parsed: Parsed,
  context: CommandContext,
  { cwd, since, isList = true }: SourceQuery,
): Promise<readonly FoundSession[]> {
  const store = fileSessionStore({ dir });
  if (isList) store.on("skipped", ({ location, error }) => context.out.skip(location, error));
  const found: FoundSession[] = [];
  const where = { ...(cwd === undefined ? {} : { cwd: resolve(context.cwd, cwd) }), ...(since && { since }) };
  for await (const summary of store.list({ ...where, signal: context.signal })) {
    const path = summary.location ?? summary.id;
    context.out.progress(() => `${found.length} sessions`);
    found.push({
      agent: ownAgent,
      id: summary.id,
      path,
      title: summary.title ?? summary.name ?? summary.firstMessage,
      cwd: summary.cwd,
      created: summary.created,
      modified: summary.modified,
      size: summary.size,
      parent: summary.parentSession,
      isArchived: summary.archivedAt !== undefined,
      open: () => openOwn(path, parsed, context),
    });
  }
  return found;
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

/** The blob store of the option, or the nearest folder `blobs` beside or above a session's file. */
export function blobStoreByPath(
  path: string,
  parsed: Parsed,
  { cwd }: CommandContext,
): BlobStore | undefined {
  const given = textOption(parsed, "blobs");
  if (given !== undefined) return fileBlobStore({ dir: resolve(cwd, given) });
  const blobs = nearest(dirname(path), (dir) => join(dir, "blobs"));
  return blobs === undefined ? undefined : fileBlobStore({ dir: dirname(blobs) });
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

/** A word with a separator, or the name of a file, is a path. */
function namedPath(name: string, { cwd }: CommandContext): string | undefined {
  const path = resolve(cwd, name);
  const isPath = /[/\\]/.test(name) || statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  return isPath ? path : undefined;
}

const minPrefix = 4;
const shownMatches = 5;

/** The session that an id, its start or `latest` names. */
async function findNamed(name: string, parsed: Parsed, context: CommandContext): Promise<FoundSession> {
  const found = await findSessions(parsed, context, { ...parsedQuery(parsed), isList: false });
  if (name === "latest") {
    // As the store's `latest`: none that is archived, and one of a time to come only without another.
    const active = found.filter(({ isArchived }) => isArchived !== true);
    const until = context.now() + clockErrorMs;
    const latest = active.find(({ modified }) => Date.parse(modified) <= until) ?? active[0];
    if (latest === undefined) throw notFound(name, "there is no session");
    return latest;
  }
  const exact = found.filter(({ id }) => id === name);
  const matches =
    exact.length > 0 || name.length < minPrefix ? exact : found.filter(({ id }) => id.startsWith(name));
  const [match] = matches;
  if (match === undefined) {
    const short = name.length < minPrefix ? `; a start of an id has at least ${minPrefix} characters` : "";
    throw notFound(name, `no session has the id ${SessileError.printable(name)}${short}`);
  }
  if (matches.length > 1) {
    const shown = matches.slice(0, shownMatches).map(({ agent, path }) => `${agent} ${path}`);
    throw new UsageError(
      `${SessileError.printable(name)} names ${matches.length} sessions: ${SessileError.printable(shown.join(", "))}`,
    );
  }
  return match;
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
  if (names.includes("all")) return findSessions(parsed, context, parsedQuery(parsed));
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
