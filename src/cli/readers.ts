/** Readers of databases and compressed files that the running version of Node may have. */

import { rmSync } from "node:fs";
import { constants, copyFile, mkdtemp, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import zlib from "node:zlib";
import type { ImportedSession, ImportOptions, SqliteReader } from "../agents/index.js";
import { assertStoredTables } from "../agents/internal.js";
import { missingHeaderError } from "../log/internal.js";
import { ReadError } from "./command.js";
import { unknownSession } from "./damage.js";

/** The part of `node:sqlite` that is needed: Node 22.5 and later have it. */
interface NodeSqlite {
  readonly DatabaseSync: new (
    path: string,
  ) => {
    prepare(sql: string): { all(): unknown[] };
    close(): void;
  };
}

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
export async function openDatabase(path: string): Promise<SqliteReader | undefined> {
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
export function decompressor(): Pick<ImportOptions, "decompress"> {
  const { zstdDecompressSync: decompressSync } = zlib as {
    readonly zstdDecompressSync?: (
      bytes: Uint8Array,
      options: { readonly maxOutputLength: number },
    ) => Uint8Array;
  };
  if (decompressSync === undefined) return {};
  return { decompress: (bytes, maxOutputLength) => decompressSync(bytes, { maxOutputLength }) };
}

/** Findings that explain why a session has no entry. Without one of them it is simply empty. */
const nothingRead = new Set(["needsReader", "unreadable", "tooLong", "newer", "guessed"]);

/**
 * Refuses an import that has read nothing, which would look like an empty session.
 * @throws ReadError with the code of the finding; SessileError EMPTY, NO_HEADER
 */
export function assertRead(path: string, { entries, report }: ImportedSession): void {
  const { counts, findings } = report;
  if (entries.some((entry) => entry.type !== "custom" || entry.customType !== "sessile.foreign")) return;
  const lost = findings.find(({ code }) => nothingRead.has(code));
  if (lost?.code === "needsReader") {
    const [what, version] = /SQLite/.test(lost.text)
      ? ["an SQLite database", "22.5"]
      : ["compressed by Zstandard", "22.15"];
    const message = `${path}: ${what}, which needs Node ${version} or later; this is ${process.versions.node}`;
    throw new ReadError(lost.code, message);
  }
  if (lost?.code === "newer" || lost?.code === "guessed") throw unknownSession(path);
  if (lost !== undefined) throw new ReadError(lost.code, `${path}: ${lost.text}`);
  if (Object.keys(counts).length === 0) throw missingHeaderError(path, 0);
}
