/** Sessions of other agents: found in their homes, and imported without being changed. */

import { realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import type {
  ForeignFile,
  ForeignFormat,
  ForeignFormatName,
  ImportedSession,
  InteropReport,
} from "../agents/index.js";
import { agentRow, agents, formats, isOwnAgent } from "../agents/internal.js";
import { type FoundSession as ForeignSession, findSessions, sessionFiles } from "../agents/node/index.js";
import { scatteredSession } from "../agents/node/internal.js";
import { memoryBlobStore } from "../blobs/index.js";
import { SessileError } from "../core/errors/index.js";
import { directoryTest } from "../core/ids.js";
import { memorySessionStore, type Session } from "../session/index.js";
import { type CommandContext, type Parsed, textOption } from "./command.js";
import { damagedRecords, noteDamage, unknownSession } from "./damage.js";
import type {
  FoundSession,
  NamedSession,
  OpenedSession,
  OpenNamedOptions,
  ReadOptions,
  SourceQuery,
} from "./named-session.js";
import type { Output } from "./output.js";
import { assertRead, decompressor, openDatabase } from "./readers.js";
import { openRegular } from "./regular-file.js";

/** The sessions of all known agents in their homes. */
export async function findForeign(
  parsed: Parsed,
  context: CommandContext,
  query: SourceQuery,
): Promise<readonly FoundSession[]> {
  const { signal, out } = context;
  const cwd = query.cwd === undefined ? undefined : resolve(context.cwd, query.cwd);
  const isThere = cwd === undefined ? undefined : directoryTest([cwd, await realpath(cwd).catch(() => cwd)]);
  const since = query.since?.getTime();
  const dir = textOption(parsed, "dir");
  const homes =
    dir === undefined || query.agent === undefined
      ? {}
      : { homes: { [query.agent]: resolve(context.cwd, dir) } };
  const found: FoundSession[] = [];
  const wanted = agents.filter(({ home, name }) => home !== undefined && (query.agent ?? name) === name);
  // The directory and the time of a session in a database are in its rows.
  const hasRowNames = (hasRows: boolean) =>
    wanted.filter(({ rows }) => (rows !== undefined) === hasRows).map(({ name }) => name);
  const [inRows, inFiles] = [hasRowNames(true), hasRowNames(false)];
  const sessions = [
    findSessions({ agents: inFiles, ...homes, ...(cwd && { cwd }), ...(since && { since }) }),
    readRows(findSessions({ agents: inRows, ...homes }), (path, error) => {
      if (query.isList !== false) out.skip(path, error);
    }),
  ];
  for await (const each of joined(sessions)) {
    signal.throwIfAborted();
    out.progress(() => `${found.length} sessions of other agents`);
    if ((isThere !== undefined && !isThere(each.cwd ?? "")) || each.modified < (since ?? 0)) continue;
    found.push({
      ...named(each, context),
      id: each.id,
      title: each.title,
      cwd: each.cwd,
      created: each.created === undefined ? undefined : timeText(each.created),
      modified: timeText(each.modified),
      size: each.bytes,
      parent: each.parent,
    });
  }
  return found;
}

async function* joined<T>(lists: readonly AsyncIterable<T>[]): AsyncGenerator<T> {
  for (const list of lists) yield* list;
}

/** Sessions with those in a database one by one, if this version of Node reads it. */
async function* readRows(
  found: AsyncIterable<ForeignSession>,
  skip: (path: string, error: unknown) => void,
): AsyncGenerator<ForeignSession> {
  for await (const each of found) {
    const path = join(each.home, ...(each.paths[0] ?? "").split("/"));
    try {
      const database = path.endsWith(".db") ? await openDatabase(path) : undefined;
      const rows = database && agentRow(each.format)?.rows?.(database);
      if (rows === undefined) yield each;
      else for (const row of rows) yield { ...each, ...row };
    } catch (error) {
      skip(path, error);
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
  const inHome = (each: string) => join(found.home, ...each.split("/"));
  const files = found.paths.map(inHome);
  const [path = found.home] = files;
  const currentFiles = async () =>
    (await sessionFiles(found)).flatMap(({ path, unclaimed }) => (unclaimed ? [] : inHome(path)));
  const read = async ({ isQuiet, ...options }: ReadOptions): Promise<ImportedSession> => {
    const database = path.endsWith(".db") ? await openDatabase(path) : undefined;
    const content = database === undefined ? await sessionFiles(found) : [await sessionHead(found, path)];
    // Only the discovery finds sessions of several files.
    const isRow = database !== undefined && found.id !== found.paths[0];
    const isOne = !isRow && found.paths.length === 1;
    const isWhole = agentRow(found.format)?.isScattered !== true;
    const { importSession } = await import("../agents/index.js");
    const imported = await importSession(content, {
      ...{ from: await allFormats(), ...decompressor(), ...options, signal },
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
  return { agent: found.format, path, files, currentFiles, read, open: openAll };
}

/** The formats of all agents: a file may be another's than its place says. */
const allFormats = (): Promise<readonly ForeignFormat[]> =>
  Promise.all(Object.values(formats).map((load) => load()));

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
