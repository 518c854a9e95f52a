/** Readers of databases and compressed files that the running version of Node may have. */

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import zlib from "node:zlib";
import type { ImportedSession, ImportOptions, SqliteReader } from "../interop/index.js";
import { missingHeaderError } from "../session/internal.js";
import { ReadError } from "./command.js";

/** The part of `node:sqlite` that is needed: Node 22.5 and later have it. */
interface NodeSqlite {
  readonly DatabaseSync: new (
    path: string,
    options: { readonly readOnly: boolean },
  ) => {
    prepare(sql: string): { all(): unknown[] };
    close(): void;
  };
}

/** Readers for one import. */
export interface Readers {
  readonly options: Pick<ImportOptions, "sqlite" | "decompress">;
  /** Closes the databases, and deletes their copies. */
  close(): Promise<void>;
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

/** The readers that this version of Node has. */
export function nodeReaders(): Readers {
  const closing: (() => Promise<void>)[] = [];
  const library = nodeSqlite();
  const sqlite = async (bytes: Uint8Array): Promise<SqliteReader> => {
    // SQLite reads files. A copy keeps the agent's home as it is.
    const dir = await mkdtemp(join(tmpdir(), "sessile-"));
    closing.push(() => rm(dir, { recursive: true, force: true }));
    const path = join(dir, "copy.db");
    await writeFile(path, bytes, { mode: 0o600 });
    const { DatabaseSync } = library as NodeSqlite;
    const database = new DatabaseSync(path, { readOnly: true });
    closing.push(async () => database.close());
    return { all: (sql) => database.prepare(sql).all() as ReturnType<SqliteReader["all"]> };
  };
  // Node 22.15 and later have it.
  const { zstdDecompressSync: decompressSync } = zlib as {
    readonly zstdDecompressSync?: (
      bytes: Uint8Array,
      options: { readonly maxOutputLength: number },
    ) => Uint8Array;
  };
  return {
    options: {
      ...(library && { sqlite }),
      ...(decompressSync && {
        decompress: (bytes, maxOutputLength) => decompressSync(bytes, { maxOutputLength }),
      }),
    },
    async close() {
      // The database before its file.
      for (const close of closing.reverse()) await close();
    },
  };
}

/**
 * Refuses an import that has read nothing, which would look like an empty session.
 * @throws ReadError with the code of the finding; SessileError EMPTY, NO_HEADER
 */
export function assertRead(path: string, { entries, report }: ImportedSession): void {
  const { counts, findings } = report;
  if (entries.some((entry) => entry.type !== "custom" || entry.customType !== "sessile.foreign")) return;
  const lost = findings.find(({ code }) => ["needsReader", "unreadable", "tooLong"].includes(code));
  if (lost?.code === "needsReader") {
    const [what, version] = /SQLite/.test(lost.text)
      ? ["an SQLite database", "22.5"]
      : ["compressed by Zstandard", "22.15"];
    const message = `${path}: ${what}, which needs Node ${version} or later; this is ${process.versions.node}`;
    throw new ReadError(lost.code, message);
  }
  if (lost !== undefined) throw new ReadError(lost.code, `${path}: ${lost.text}`);
  if (Object.keys(counts).length === 0) throw missingHeaderError(path, 0);
}
