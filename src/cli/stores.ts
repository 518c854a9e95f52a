/**
 * Stores by their addresses: a directory, `sqlite:FILE`, or `postgres://…`. The driver of a database is a package
 * of the project in which the command runs, which is loaded if an address names a database.
 */

import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { BlobStore } from "../blobs/index.js";
import { SessileError } from "../core/errors/index.js";
import { parseSession, type SessionStore, sessionStore } from "../session/index.js";
import { type CommandContext, type Parsed, ReadError, textOption, UsageError } from "./command.js";
import { damagedLines, type FoundSession, noteDamage, type SourceQuery } from "./named-session.js";

/** A store in a database. */
interface DatabaseStore {
  /** The name of the kind, in place of an agent's. */
  readonly kind: "postgres" | "sqlite";
  /** The address without a password. */
  readonly name: string;
  readonly sessions: SessionStore;
  readonly blobs: BlobStore;
}

/** The part of a driver for SQLite that is needed. */
type SqliteModule = Record<"default" | "DatabaseSync", (new (path: string) => never) | undefined>;

/** Whether an address names a database rather than a directory. */
export function isDatabase(address: string): boolean {
  return /^(?:sqlite:|postgres(?:ql)?:\/\/)/.test(address);
}

/**
 * Whether the options name partitions.
 * @throws UsageError if they name one and all
 */
export function hasPartitions(parsed: Parsed): boolean {
  const hasOne = textOption(parsed, "partition") !== undefined;
  const hasAll = parsed.options["all-partitions"] === true;
  if (hasOne && hasAll) throw new UsageError("--partition and --all-partitions exclude each other");
  return hasOne || hasAll;
}

/** The partitions that the options name. */
export async function partitionsIn(store: SessionStore, parsed: Parsed): Promise<readonly string[]> {
  const partition = textOption(parsed, "partition");
  if (!hasPartitions(parsed) || partition !== undefined) return [partition ?? ""];
  const found = new Set<string>();
  for await (const each of store.partitions()) found.add(each);
  return [...found];
}

const opened = new Map<string, Promise<DatabaseStore>>();

/**
 * The sessions of a database.
 * @throws ReadError if the driver is not installed; SessileError SESSION_NOT_FOUND for a file that is not there
 */
export async function databaseSessions(
  address: string,
  parsed: Parsed,
  context: CommandContext,
  { cwd, since }: SourceQuery,
): Promise<readonly FoundSession[]> {
  const key = `${context.cwd}\n${address}`;
  const opening = opened.get(key) ?? openDatabaseStore(address, context);
  opened.set(key, opening);
  const database = await opening.catch((error: unknown) => {
    opened.delete(key);
    throw error;
  });
  const { kind, name, sessions, blobs } = database;
  const found: FoundSession[] = [];
  const where = { ...(cwd === undefined ? {} : { cwd: resolve(context.cwd, cwd) }), ...(since && { since }) };
  for (const partition of await partitionsIn(sessions, parsed)) {
    for await (const summary of sessions.list({ ...where, partition, signal: context.signal })) {
      const { id } = summary;
      const path = `${name}#${partition === "" ? "" : `${partition}/`}${id}`;
      const read: NonNullable<FoundSession["read"]> = async () => {
        const log = await sessions.backend.open(id, { partition, mode: "read" });
        if (log === undefined)
          throw new SessileError("SESSION_NOT_FOUND", `${path} is gone`, { details: { id } });
        try {
          const { header, entries, leafId, diagnostics } = await parseSession(bytesOf(log));
          if (header === undefined) throw new ReadError("unreadable", `${path} has no header`);
          noteDamage(path, damagedLines(diagnostics), context.out);
          const report = { format: "sessile", exact: true, counts: {}, findings: [] } as never;
          return { header, entries: entries.filter(isKnown), leafId, children: [], report };
        } finally {
          await log.close();
        }
      };
      found.push({
        agent: kind,
        id,
        path,
        ...(partition === "" ? {} : { partition }),
        title: summary.title ?? summary.name ?? summary.firstMessage,
        cwd: summary.cwd,
        created: summary.created,
        modified: summary.modified,
        size: summary.size,
        parent: summary.parentSession,
        isArchived: summary.archivedAt !== undefined,
        read,
        async open() {
          const session = await sessions.open(id, { partition });
          const damaged = damagedLines(await session.diagnose());
          noteDamage(path, damaged, context.out);
          return { agent: kind, path, session, damaged, blobs, children: [], close: () => session.close() };
        },
      });
    }
  }
  return found;
}

function isKnown<E extends { readonly type: string }>(
  entry: E,
): entry is Exclude<E, { readonly type: "unknown" }> {
  return entry.type !== "unknown";
}

/** The lines of a log as bytes. */
async function* bytesOf(
  log: NonNullable<Awaited<ReturnType<SessionStore["backend"]["open"]>>>,
): AsyncGenerator<Uint8Array> {
  const lineFeed = Uint8Array.of(10);
  for await (const { lines } of log.read(undefined)) {
    if ("bounds" in lines) {
      yield lines.bytes;
      continue;
    }
    for (const line of lines) {
      yield line;
      if (line.at(-1) !== 10) yield lineFeed;
    }
  }
}

function openDatabaseStore(address: string, context: CommandContext): Promise<DatabaseStore> {
  return address.startsWith("sqlite:")
    ? openSqliteFile(address, context)
    : openPostgresServer(address, context);
}

async function openPostgresServer(address: string, context: CommandContext): Promise<DatabaseStore> {
  const { Pool } = exportsOf(await projectModule("pg", address, context)) as {
    readonly Pool: new (
      options: object,
    ) => { query(text: string, values?: unknown[]): Promise<{ rows: never[] }> };
  };
  const { postgresBlobStore, postgresSessionBackend } = await import("../storage/sql/postgres/index.js");
  // A connection that is not in use keeps no process.
  const db = new Pool({ connectionString: address, allowExitOnIdle: true, max: 2 });
  const blobs = postgresBlobStore({ db });
  const name = address.replace(/^([^:]+:\/\/)(?:[^@/]*@)?([^?]*).*$/, "$1$2");
  return { kind: "postgres", name, sessions: sessionStore(postgresSessionBackend({ db })), blobs };
}

async function openSqliteFile(address: string, context: CommandContext): Promise<DatabaseStore> {
  const file = resolve(context.cwd, address.slice("sqlite:".length));
  if (!existsSync(file))
    throw new SessileError("SESSION_NOT_FOUND", `there is no database ${SessileError.printable(file)}`, {
      details: { id: address },
    });
  const module = exportsOf(
    process.getBuiltinModule?.("node:sqlite") ?? (await projectModule("better-sqlite3", address, context)),
  ) as SqliteModule & (new (path: string) => never);
  const { databaseDriver, sqliteBlobStore, sqliteSessionBackend } = await import(
    "../storage/sql/sqlite/index.js"
  );
  const Database = module.DatabaseSync ?? module;
  const driver = databaseDriver(new Database(file));
  const blobs = sqliteBlobStore({ driver });
  return {
    kind: "sqlite",
    name: `sqlite:${file}`,
    sessions: sessionStore(sqliteSessionBackend({ driver })),
    blobs,
  };
}

function exportsOf(module: unknown): unknown {
  const { default: whole } = module as { readonly default?: unknown };
  return whole ?? module;
}

/** A package of the project in which the command runs. */
async function projectModule(name: string, address: string, { cwd }: CommandContext): Promise<unknown> {
  let path: string;
  try {
    path = createRequire(join(cwd, "package.json")).resolve(name);
  } catch {
    const kind = address.slice(0, address.indexOf(":"));
    throw new ReadError("driver", `--store ${kind}: needs the package ${name}: npm install ${name}`);
  }
  return import(pathToFileURL(path).href);
}
