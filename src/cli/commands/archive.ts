/**
 * `archive` and `restore`: a copy of the sessions of all agents, since some agents delete
 * their transcripts after a time. The archive is a store with the blobs of its images, the agents' own files
 * below `originals`, and an index of what was copied.
 */

import { createHash, randomUUID } from "node:crypto";
import { constants, existsSync } from "node:fs";
import { chmod, copyFile, mkdir, open, rename, rm, stat, utimes } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { agents } from "../../agents/internal.js";
import { homeFiles } from "../../agents/node/internal.js";
import type { BlobStore } from "../../blobs/index.js";
import type { SessionStore } from "../../session/index.js";
import { fileBlobStore } from "../../storage/files/index.js";
import { bulkSessionStore } from "../../storage/files/internal.js";
import {
  type ArchivedSession,
  type ArchiveIndex,
  type FileState,
  indexPath,
  readIndex,
  sessionKey,
} from "../archive-index.js";
import {
  type CommandBody,
  type CommandContext,
  type ExitCode,
  type OptionSpec,
  type Parsed,
  ReadError,
  textOption,
  UsageError,
} from "../command.js";
import { chunksOfFile, replaceFile, writeNewFile } from "../files.js";
import { wrongValue } from "../help.js";
import type { FoundSession, ReadOptions } from "../named-session.js";
import { table } from "../output.js";
import { adoptImport, listedForeign, readsDatabases, sourceOptions } from "../sources.js";
import { installTimer } from "./archive-timer.js";

const toOption: OptionSpec = {
  name: "to",
  value: "DIR",
  description: "The directory of the archive. Default: .sessile in the home directory.",
};
const agentOption = sourceOptions.filter(({ name }) => name === "agent");

const archive: CommandBody = {
  description: [
    "Claude Code deletes a transcript after 30 days. The archive keeps the sessions of all agents, with the bytes of",
    "their files. Nothing in the home of an agent is changed. A further run copies what changed since the last one.",
    "`status` counts what is archived, and names the sessions that are only there.",
  ],
  finds: "if `status` names a session that is not in the archive in its present state",
  arguments: [
    {
      name: "status",
      kind: "text",
      offers: ["status"],
      optional: true,
      description: "Copies nothing, and says what is archived.",
    },
  ],
  options: [
    toOption,
    ...agentOption,
    { name: "watch", description: "Copy again each minute, until the command is stopped." },
    { name: "install", description: "Run once a day by the scheduler of this system." },
  ],
  examples: [
    { line: "sessile archive", does: "every session of every agent" },
    { line: "sessile archive status", does: "what is only in the archive" },
  ],
  async run(parsed, context) {
    const [action] = parsed.positionals;
    if (action === "status") return await printStatus(parsed, context);
    if (action !== undefined) throw new UsageError(wrongValue("archive", ["status"], action));
    if (parsed.options.install === true) {
      const agent = textOption(parsed, "agent");
      const words = ["--to", archiveDir(parsed, context), ...(agent === undefined ? [] : ["--agent", agent])];
      return await installTimer(words, context);
    }
    for (;;) {
      await archiveOnce(parsed, context);
      if (parsed.options.watch !== true) return 0;
      const isOver = await pause(context.signal);
      if (isOver) return 0;
    }
  },
};

const restore: CommandBody = {
  description: [
    "Writes the files of an archived session that its agent's home lacks, with their bytes and times. Nothing is",
    "overwritten, and nothing is written out of the home.",
  ],
  arguments: [{ name: "ID", kind: "text", description: "The id of the session, or its start." }],
  options: [toOption, ...agentOption],
  examples: [{ line: "sessile restore 0f3b7a52", does: "a transcript that Claude Code had deleted" }],
  async run(parsed, context) {
    const { out, signal } = context;
    const dir = archiveDir(parsed, context);
    const session = await archivedSession(parsed, dir, context);
    const home = (await homeFiles(session.agent as Agent))?.home;
    if (home === undefined || !session.files.every(({ path }) => isInside(home, path)))
      throw new ReadError("unreadable", `${indexPath(dir)} names a place out of the home of an agent`);
    if (!session.hasOriginals)
      throw new UsageError(
        `restore: ${session.agent} keeps its sessions in a database, which is never written: sessile resume writes files for it`,
      );
    const missing = session.files
      .map((file) => ({ ...file, place: join(home, ...file.path.split("/")) }))
      .filter(({ place }) => !existsSync(place));
    if (missing.length === 0) throw new UsageError(`restore: ${home} has all files of ${session.id}`);
    for (const { path, place, modified } of missing) {
      const original = originalPath(dir, session.agent, path);
      // The file was cut later, and not read since.
      const longer = longerPath(original, modified);
      await writeNewFile(place, chunksOfFile(existsSync(longer) ? longer : original, signal), signal);
      await setTime(place, modified);
    }
    const places = missing.map(({ place }) => place);
    if (out.json) await out.value({ id: session.id, files: places });
    else await out.line(...places.map((place) => out.clean(place)));
    return 0;
  },
};

export const bodies = { archive, restore };

/** Counts the sessions of the archive by agent, and names those that are in no home anymore. */
async function printStatus(parsed: Parsed, context: CommandContext): Promise<ExitCode> {
  const { out } = context;
  const dir = archiveDir(parsed, context);
  const index = await readIndex(dir, context);
  const found = new Map<string, boolean>();
  for (const name of archivedAgents(textOption(parsed, "agent"))) {
    const { unchanged, others } = await comparedSessions(name, { index, dir, parsed, context });
    for (const key of unchanged) found.set(key, true);
    for (const each of others) {
      out.progress(() => `${found.size} sessions compared`);
      const known = index.sessions[sessionKey(each)];
      // Its agent may delete it meanwhile.
      const files = await fileStates(each).catch(() => undefined);
      if (files !== undefined) found.set(sessionKey(each), known !== undefined && isSame(known.files, files));
    }
  }
  const wanted = textOption(parsed, "agent");
  const archived = Object.values(index.sessions).filter(({ agent }) => (wanted ?? agent) === agent);
  const gone = archived.filter((each) => !found.has(sessionKey(each)));
  const waiting = [...found].filter(([, isArchived]) => !isArchived).map(([name]) => name);
  if (out.json) {
    await out.value({ archived: archived.length, onlyHere: gone, waiting });
    return waiting.length === 0 ? 0 : 1;
  }
  const rows = agents.flatMap(({ name }) => {
    const count = (list: readonly { readonly agent: string }[]) =>
      list.filter(({ agent }) => agent === name).length;
    const missing = waiting.filter((each) => each.startsWith(`${name} `)).length;
    if (count(archived) + missing === 0) return [];
    return [[name, String(count(archived)), String(count(gone)), String(missing)]];
  });
  const columns = [
    { title: "agent" },
    { title: "archived", align: "right" },
    { title: "only here", align: "right" },
    { title: "new or changed", align: "right" },
  ] as const;
  if (rows.length === 0) out.note("no sessions");
  else await out.line(...table(columns, rows, out.columns));
  for (const { agent, id, modified, title } of gone)
    await out.line(out.clean(`only here: ${agent} ${id} ${modified.slice(0, 10)} ${title ?? ""}`));
  return waiting.length === 0 ? 0 : 1;
}

/** Waits a minute. Resolves with whether the command was stopped. */
function pause(signal: AbortSignal): Promise<boolean> {
  return new Promise((done) => {
    const stop = () => {
      clearTimeout(timer);
      done(true);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      done(signal.aborted);
    }, watchMs);
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
  });
}

const watchMs = 60_000;

function archiveDir(parsed: Parsed, { cwd, env }: CommandContext): string {
  const to = textOption(parsed, "to");
  return to === undefined ? join(env.HOME ?? homedir(), ".sessile") : resolve(cwd, to);
}

type Agent = (typeof agents)[number]["name"];

const originalPath = (dir: string, agent: string, path: string) =>
  join(dir, "originals", agent, ...path.split("/"));
/** The copy of a file as it was before its agent cut it. */
const longerPath = (original: string, modified: number) => `${original}.${modified}`;
const isInside = (home: string, path: string) => join(home, ...path.split("/")).startsWith(`${home}${sep}`);

async function archivedSession(
  parsed: Parsed,
  dir: string,
  context: CommandContext,
): Promise<ArchivedSession> {
  const [name = ""] = parsed.positionals;
  const wanted = textOption(parsed, "agent");
  const { sessions } = await readIndex(dir, context);
  const all = Object.values(sessions).filter(({ agent }) => (wanted ?? agent) === agent);
  const exact = all.filter(({ id }) => id === name);
  const matches = exact.length > 0 || name.length < 4 ? exact : all.filter(({ id }) => id.startsWith(name));
  const [match] = matches;
  if (match === undefined) throw new UsageError(`restore: ${dir} has no session ${JSON.stringify(name)}`);
  if (matches.length > 1)
    throw new UsageError(
      `restore: ${JSON.stringify(name)} names ${matches.length} sessions; a longer ID or --agent chooses`,
    );
  return match;
}

// A run: what changed is copied and imported.

async function archiveOnce(parsed: Parsed, context: CommandContext): Promise<void> {
  const { out, signal } = context;
  const dir = archiveDir(parsed, context);
  let index = await readIndex(dir, context);
  const states = await changedHomes(textOption(parsed, "agent"), index);
  const blobs = fileBlobStore({ dir });
  const stores = { dir, blobs, store: bulkSessionStore({ dir: join(dir, "sessions"), blobs }) };
  const counts = { archived: 0, unchanged: 0, failed: 0 };
  const archived: string[] = [];
  const changes = { homes: {} as Record<string, string>, sessions: {} as Record<string, ArchivedSession> };
  let savedAt = context.now();
  const save = async () => {
    // Another run may have written it since.
    const { homes, sessions } = await readIndex(dir, context);
    index = {
      v: 1,
      homes: { ...homes, ...changes.homes },
      sessions: { ...sessions, ...changes.sessions },
    };
    await replaceFile(indexPath(dir), JSON.stringify(index), new AbortController().signal);
    savedAt = context.now();
  };
  let isPartial = out.partial;
  try {
    for (const [agent, state] of states) {
      out.partial = false;
      const { unchanged, others } = await comparedSessions(agent, { index, dir, parsed, context });
      counts.unchanged += unchanged.length;
      for (const found of others) {
        signal.throwIfAborted();
        out.progress(() => `${counts.archived} archived, ${counts.unchanged} unchanged`);
        const name = sessionKey(found);
        try {
          const files = await fileStates(found);
          const known = index.sessions[name];
          if (known !== undefined && isSame(known.files, files) && existsSync(join(dir, known.file))) {
            counts.unchanged++;
            continue;
          }
          changes.sessions[name] = await archiveSession(found, { files, known, ...stores }, signal);
          archived.push(name);
          counts.archived++;
        } catch (error) {
          signal.throwIfAborted();
          counts.failed++;
          out.skip(found.path, error);
        }
        if (context.now() - savedAt > saveMs) await save();
      }
      // A home with a session that could not be read is looked at again.
      if (!out.partial) changes.homes[agent] = state;
      else isPartial = true;
    }
  } finally {
    out.partial = isPartial;
    if (states.size > 0) await save();
  }
  const total = Object.keys(index.sessions).length;
  if (out.json) await out.value({ dir, archived, failed: counts.failed, total });
  else {
    const failures = counts.failed === 0 ? "" : `, ${counts.failed} failed`;
    await out.line(out.clean(`${dir}: ${counts.archived} new or changed${failures}, ${total} in all`));
  }
}

/** A run that is killed loses no more of the index: its sessions are then copied again, which adds nothing. */
const saveMs = 5000;

/** The agents in question: those that have a home. */
const archivedAgents = (wanted: string | undefined): readonly Agent[] =>
  agents.map(({ name }) => name).filter((name) => name !== "sessile" && (wanted ?? name) === name);

/**
 * The sessions of an agent that are archived as they are, by their keys, and those that may be new or changed. The
 * files of the home tell them apart: a session is read if one of its files is not as the index has it, if a file
 * that no session had has its id in the path, or if a session that it started is read.
 */
async function comparedSessions(
  agent: Agent,
  {
    index,
    dir,
    parsed,
    context,
  }: {
    readonly index: ArchiveIndex;
    readonly dir: string;
    readonly parsed: Parsed;
    readonly context: CommandContext;
  },
): Promise<{ readonly unchanged: readonly string[]; readonly others: readonly FoundSession[] }> {
  const states = new Map((await homeFiles(agent))?.files.map((file) => [file.path, file]));
  const paths = Object.values(index.sessions).flatMap((each) =>
    each.agent === agent ? each.files.map(({ path }) => path) : [],
  );
  const known = new Set(paths);
  const names = new Set([...states.keys()].flatMap((path) => (known.has(path) ? [] : path.split("/"))));
  const isUnchanged = (found: FoundSession) => {
    const { file, files = [] } = index.sessions[sessionKey(found)] ?? {};
    if (found.describe === undefined || file === undefined || names.has(found.id)) return false;
    const own = new Set(files.map(({ path }) => path));
    const listed = (found.files ?? [found.path]).map((path) => relativePath(found.home, path));
    return (
      listed.every((path) => own.has(path)) &&
      files.every(({ path, bytes, modified }) => {
        const state = states.get(path);
        return state === undefined || (state.bytes === bytes && state.modified === modified);
      }) &&
      existsSync(join(dir, file))
    );
  };
  const unchanged = new Map<string, FoundSession>();
  const waiting: FoundSession[] = [];
  for (const list of (await listedForeign(parsed, context, { agent })).lists)
    for await (const found of list)
      if (isUnchanged(found)) unchanged.set(found.id, found);
      else waiting.push(found);
  const others: FoundSession[] = [];
  // Iteration over an array includes members added meanwhile.
  for (const found of waiting) {
    context.signal.throwIfAborted();
    context.out.progress(() => `${others.length} of ${waiting.length} changed sessions`);
    const whole = found.describe === undefined ? found : await found.describe(true);
    if (whole === undefined) continue;
    others.push(whole);
    const parent = unchanged.get(whole.parent ?? "");
    if (parent === undefined) continue;
    unchanged.delete(parent.id);
    waiting.push(parent);
  }
  return { unchanged: [...unchanged.values()].map(sessionKey), others };
}

/** The agents whose files are not as at the last run, with the state that they have now. */
async function changedHomes(
  wanted: string | undefined,
  { homes }: ArchiveIndex,
): Promise<ReadonlyMap<Agent, string>> {
  const states = new Map<Agent, string>();
  for (const name of archivedAgents(wanted)) {
    const found = await homeFiles(name);
    if (found === undefined) continue;
    const lines = found.files.map(({ path, bytes, modified }) => `${path} ${bytes} ${modified}`).sort();
    const state = createHash("sha256")
      .update([found.home, ...(readsDatabases() ? [] : ["no databases"]), ...lines].join("\n"))
      .digest("hex");
    if (homes[name] !== state) states.set(name, state);
  }
  return states;
}

/** The files of a session with sizes and times; for a session in a database, the time of its row. */
async function fileStates(found: FoundSession): Promise<readonly FileState[]> {
  const { home, path, modified, size } = found;
  if (path.endsWith(".db"))
    return [{ path: relativePath(home, path), bytes: size, modified: Date.parse(modified) }];
  const files = (await found.currentFiles?.(true)) ?? [path];
  const states: FileState[] = [];
  for (const file of files) {
    const known = await stat(file).catch(() => undefined);
    if (known !== undefined)
      states.push({
        path: relativePath(home, file),
        bytes: known.size,
        modified: Math.trunc(known.mtimeMs),
      });
  }
  return states;
}

const relativePath = (home: string | undefined, file: string) =>
  relative(home ?? dirname(file), file)
    .split(sep)
    .join("/");

/** Whether files are as they were. Of those that were, some may be gone. */
function isSame(known: readonly FileState[], files: readonly FileState[]): boolean {
  const states = new Map(known.map((each) => [each.path, each]));
  return files.every(({ path, bytes, modified }) => {
    const state = states.get(path);
    return state?.bytes === bytes && state.modified === modified;
  });
}

/** The files of a session, with those that its agent deleted since. One that was moved has its name elsewhere. */
function allFiles(known: readonly FileState[], files: readonly FileState[]): readonly FileState[] {
  const [before, now] = [known, files].map((list) => new Set(list.map(({ path }) => path)));
  const moved = new Set(files.flatMap(({ path }) => (before?.has(path) ? [] : basename(path))));
  return [...files, ...known.filter(({ path }) => !now?.has(path) && !moved.has(basename(path)))];
}

/** One store for a run: it knows the files that it has seen. */
interface ArchiveStores {
  readonly dir: string;
  readonly blobs: BlobStore;
  readonly store: SessionStore;
}

async function archiveSession(
  found: FoundSession,
  {
    files,
    known,
    dir,
    blobs,
    store,
  }: ArchiveStores & {
    readonly files: readonly FileState[];
    readonly known: ArchivedSession | undefined;
  },
  signal: AbortSignal,
): Promise<ArchivedSession> {
  const { agent, id, home = dirname(found.path), title, modified } = found;
  const hasOriginals = !found.path.endsWith(".db");
  // The bytes first: an import of a file that this version cannot read yet must not cost them.
  if (hasOriginals)
    for (const file of files) await copyOriginal(join(home, ...file.path.split("/")), file, agent, dir);
  // The originals lie beside: the store has no second copy of them.
  const options: ReadOptions = { blobs, keep: "none", isQuiet: true };
  const imported = await (found.read as NonNullable<typeof found.read>)(options);
  signal.throwIfAborted();
  const paths = await adoptImport(store, imported, Date.parse(modified));
  const [file = "", ...children] = paths.map((path) => relative(dir, path));
  return {
    ...{ agent, id, hasOriginals, modified, files: allFiles(known?.files ?? [], files) },
    file,
    ...(children.length > 0 && { children }),
    ...(title === undefined ? {} : { title: title.slice(0, maxTitle) }),
  };
}

const maxTitle = 200;

/**
 * Copies a file that its agent may be writing. A copy that is longer than the file is kept under another
 * name: agents that rewrite a file may have lost a part of it.
 */
async function copyOriginal(from: string, { path, bytes, modified }: FileState, agent: string, dir: string) {
  const to = originalPath(dir, agent, path);
  const known = await stat(to).catch(() => undefined);
  if (known?.size === bytes && Math.trunc(known.mtimeMs) === modified) return;
  await mkdir(dirname(to), { recursive: true });
  const temporary = join(dirname(to), `.${randomUUID()}.tmp`);
  try {
    await copyFile(from, temporary, constants.COPYFILE_FICLONE);
    // A copy of a file without the right to write is synced too, and none is for others to read.
    await chmod(temporary, 0o600);
    await setTime(temporary, modified);
    const size = await syncFile(temporary);
    if (known !== undefined && known.size > size) await rename(to, longerPath(to, Math.trunc(known.mtimeMs)));
    await rename(temporary, to);
  } finally {
    await rm(temporary, { force: true });
  }
}

/** Writes the bytes of a file to the disk: the index must not name a copy that a loss of power empties. */
async function syncFile(path: string): Promise<number> {
  const file = await open(path, "r+");
  try {
    await file.sync();
    return (await file.stat()).size;
  } finally {
    await file.close();
  }
}

/** Half a microsecond more: of seconds as they are, each second one becomes the millisecond before. */
async function setTime(path: string, ms: number): Promise<void> {
  const seconds = (ms + 0.0005) / 1000;
  await utimes(path, seconds, seconds);
}
