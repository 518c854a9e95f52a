/**
 * Blobs in a SQL database. The bytes of a blob are rows of 1 MiB under the name of their upload, and a row of
 * the blob names the upload: so a stream is written as it comes, and a blob appears whole, by one statement. Rows
 * of an upload that no blob names are leftovers.
 */

import { type IngestSource, ingest } from "../../attachments/index.js";
import {
  type BlobBackend,
  type BlobLeftovers,
  type BlobReading,
  type BlobStat,
  type BlobStore,
  type BlobStoreOptions,
  type BlobTrash,
  type BlobWriter,
  blobStore,
  type TrashedBlob,
} from "../../blobs/index.js";
import type { BlobRef, Resource } from "../../content/index.js";
import { SessileError } from "../../core/errors/index.js";
import {
  type AgentStorage,
  type SessionBackend,
  type SessionStoreOptions,
  sessionStore,
} from "../../session/index.js";
import type { Database } from "./database.js";
import type { BlobSyntax, SqlRow, SqlStatement, SqlValue } from "./dialect.js";
import { isSame, readBytes } from "./lines.js";

/** The bytes of each row but the last one. A Durable Object takes 2 MB, a packet of MySQL 16 MiB. */
const partBytes = 1024 * 1024;
const pageBlobs = 1000;
/**
 * The default of `maxBytes`: a put of so many bytes writes a tenth of the log after which PostgreSQL has to make a
 * checkpoint by default (docs/reference/postgres.md, "Blobs"). More belong into files or a bucket.
 */
const defaultMaxBytes = 100_000_000;

/** What a dialect gives to a store of blobs. */
export interface SqlBlobParts {
  readonly syntax: BlobSyntax;
  readonly database: Database;
  migrate(): Promise<void>;
}

/** A store of blobs in the tables of sessions' database. */
export type SqlBlobStore = BlobStore & {
  /** Makes the tables, which are those of sessions too, or brings those of an older version to this one. */
  migrate(): Promise<void>;
};

export function sqlBlobStore(parts: SqlBlobParts, options: BlobStoreOptions): SqlBlobStore {
  const { maxBytes = defaultMaxBytes } = options;
  const store = blobStore(new SqlBlobs(parts, ""), { ...options, maxBytes });
  return Object.assign(store, { migrate: () => parts.migrate() });
}

/** The door of a database: makes the tables of its sessions and blobs, and opens both. */
export async function openSqlStorage(
  backend: SessionBackend & { migrate(): Promise<void> },
  blobs: BlobStore,
  options: SessionStoreOptions,
): Promise<AgentStorage> {
  await backend.migrate();
  const attach = async (source: IngestSource, given = {}): Promise<Resource> => {
    const [resource] = await ingest([source], { ...given, blobs });
    return resource as Resource;
  };
  return { sessions: sessionStore(backend, { ...options, blobs }), blobs, attach };
}

/** A row of a blob. */
interface Stored {
  readonly upload: string;
  readonly size: number;
  readonly touchedAt: number;
}

class SqlBlobs implements BlobBackend {
  readonly trash: BlobTrash;
  readonly #parts: SqlBlobParts;
  readonly #sql: BlobSyntax;
  readonly #partition: string;

  constructor(parts: SqlBlobParts, partition: string) {
    this.#parts = parts;
    this.#sql = parts.syntax;
    this.#partition = partition;
    this.trash = this.#trash();
  }

  /** Touches a blob of the same bytes; replaces any other. */
  async write(ref: BlobRef, bytes: Uint8Array): Promise<BlobStat> {
    const known = await this.#find(ref);
    if (known?.size === bytes.length && (await this.#hasBytes(ref, bytes))) {
      const touched = await this.touch(ref);
      if (touched !== undefined) return touched;
    }
    const writer = await this.create();
    try {
      await writer.write(bytes);
      return await writer.commit(ref);
    } catch (error) {
      await writer.discard();
      throw error;
    }
  }

  async create(): Promise<BlobWriter> {
    const upload = crypto.randomUUID();
    let open = new Uint8Array(0);
    let [count, size] = [0, 0];
    const add = async (bytes: Uint8Array): Promise<void> => {
      const { now, orNothing, part, partition } = this.#sql;
      const insert = `insert into ${part} (upload, no, ${partition}, bytes, made_at)
        values (?, ?, ?, ?, ${now}) ${orNothing(part, "upload, no")}`;
      await this.#run("put into", upload, insert, [upload, count++, this.#partition, bytes]);
      size += bytes.length;
    };
    return {
      write: async (chunk) => {
        let at = 0;
        while (open.length + chunk.length - at >= partBytes) {
          const to = at + partBytes - open.length;
          const whole = open.length === 0 ? chunk.subarray(at, to) : joined(open, chunk.subarray(at, to));
          await add(whole);
          open = new Uint8Array(0);
          at = to;
        }
        open = joined(open, chunk.subarray(at));
      },
      commit: async (ref) => {
        if (open.length > 0) await add(open);
        open = new Uint8Array(0);
        return this.#publish(ref, upload, { size, count });
      },
      discard: async () => {
        open = new Uint8Array(0);
        // What is left is a leftover.
        await this.#deleteParts(upload).catch(() => undefined);
      },
    };
  }

  async read(ref: BlobRef): Promise<BlobReading | undefined> {
    const found = await this.#find(ref);
    if (found === undefined) return undefined;
    const { size, upload } = found;
    const page = async (no: number) => {
      const bytes = await this.#page(ref, no);
      // A blob that lacks a row is shorter than it should be.
      if (bytes === undefined && (await this.stat(ref)) === undefined) throw vanished("read", ref);
      return bytes;
    };
    return {
      size,
      bytes: (async function* () {
        for (let at = 0; at < size; at += partBytes) {
          const bytes = await page(at / partBytes);
          if (bytes === undefined) return;
          // The driver may keep its own. A slice of a Buffer is no copy.
          yield new Uint8Array(bytes);
        }
      })(),
      quarantine: async () => {
        await this.#drop(ref, upload);
        return undefined;
      },
    };
  }

  async stat(ref: BlobRef): Promise<BlobStat | undefined> {
    const found = await this.#find(ref);
    return found && { ref, size: found.size, touchedAt: found.touchedAt };
  }

  async touch(ref: BlobRef): Promise<BlobStat | undefined> {
    const { blob, greatest, now, partition } = this.#sql;
    const later = greatest("touched_at + 1", now);
    const touched = `update ${blob} set touched_at = ${later} where ${partition} = ? and ref = ?`;
    await this.#run("touch", ref, touched, [this.#partition, ref]);
    return this.stat(ref);
  }

  async *list({ signal }: { readonly signal?: AbortSignal } = {}): AsyncGenerator<BlobStat, void, undefined> {
    const { blob, partition } = this.#sql;
    const query = `select ref, size, touched_at from ${blob} where ${partition} = ? and ref > ? order by ref limit ?`;
    for await (const row of this.#paged(query, "ref", signal)) {
      yield { ref: row.ref, size: Number(row.size), touchedAt: Number(row.touched_at) };
    }
  }

  async delete(ref: BlobRef): Promise<boolean> {
    const found = await this.#find(ref);
    return found !== undefined && this.#drop(ref, found.upload);
  }

  /** The time of the database: that of several programs need not be the same. */
  async now(): Promise<number> {
    const [row] = await this.#run("ask", "the time", `select ${this.#sql.now} as now`, []);
    return Number(row?.now);
  }

  partition(name: string): SqlBlobs {
    return new SqlBlobs(this.#parts, name);
  }

  async clear(): Promise<readonly string[]> {
    const { blob, part, partition, trash } = this.#sql;
    for (const table of [blob, trash, part])
      await this.#run("delete", this.#partition, `delete from ${table} where ${partition} = ?`, [
        this.#partition,
      ]);
    return ["free pages, logs, replicas and backups of the database"];
  }

  async removeLeftovers(before: number, { dryRun }: { readonly dryRun: boolean }): Promise<BlobLeftovers> {
    const { blob, part, partition, trash } = this.#sql;
    const query = `select upload, sum(length(bytes)) as size from ${part}
      where ${partition} = ? and upload not in (select upload from ${blob})
        and upload not in (select upload from ${trash})
      group by upload having max(made_at) < ?`;
    const rows = await this.#run("look for leftovers in", part, query, [this.#partition, Math.floor(before)]);
    if (!dryRun) for (const { upload } of rows) await this.#deleteParts(upload);
    return { count: rows.length, bytes: rows.reduce((sum, { size }) => sum + Number(size), 0) };
  }

  /** Names an upload as the blob, if it has all its rows. The upload that it had is deleted after that. */
  async #publish(
    ref: BlobRef,
    upload: string,
    { size, count }: { readonly size: number; readonly count: number },
  ): Promise<BlobStat> {
    const { blob, now, orReplace, part, partition, returning } = this.#sql;
    const old = await this.#find(ref);
    if (old?.size === size && old.upload !== upload) {
      const equal = `select count(*) as count from ${part} a join ${part} b on a.no = b.no and a.bytes = b.bytes
        where a.upload = ? and b.upload = ?`;
      const [row] = await this.#run("compare", ref, equal, [old.upload, upload]);
      const touched = Number(row?.count) === count ? await this.touch(ref) : undefined;
      if (touched !== undefined) {
        await this.#deleteParts(upload);
        return touched;
      }
    }
    const values = [this.#partition, ref, upload, size, upload, count];
    // An erasure of the partition, or a collection in a long pause, deletes rows of a put under way.
    const insert = `insert into ${blob} (${partition}, ref, upload, size, touched_at)
      select ?, ?, ?, ?, ${now} from (select count(*) as parts from ${part} where upload = ?) as p
      where p.parts = ? ${orReplace}${returning("ref")}`;
    if ((await this.#run("put", ref, insert, values)).length === 0) throw vanished("put", ref);
    if (old !== undefined && old.upload !== upload) await this.#deleteParts(old.upload);
    return (await this.stat(ref)) ?? { ref, size, touchedAt: await this.now() };
  }

  async #find(ref: BlobRef): Promise<Stored | undefined> {
    const { blob, partition } = this.#sql;
    const query = `select upload, size, touched_at from ${blob} where ${partition} = ? and ref = ?`;
    const [row] = await this.#run("look for", ref, query, [this.#partition, ref]);
    return row && { upload: row.upload, size: Number(row.size), touchedAt: Number(row.touched_at) };
  }

  /** A row of the blob that has the name now: one that replaces it has the same bytes, or is not what is read. */
  async #page(ref: BlobRef, no: number): Promise<Uint8Array | undefined> {
    const { blob, part, partition } = this.#sql;
    const query = `select p.bytes from ${blob} b join ${part} p on p.upload = b.upload
      where b.${partition} = ? and b.ref = ? and p.no = ?`;
    const [row] = await this.#run("read", ref, query, [this.#partition, ref, no]);
    return row && readBytes(row.bytes);
  }

  async #hasBytes(ref: BlobRef, bytes: Uint8Array): Promise<boolean> {
    for (let at = 0; at < bytes.length; at += partBytes) {
      if (!isSame(await this.#page(ref, at / partBytes), bytes.subarray(at, at + partBytes))) return false;
    }
    return true;
  }

  /** Deletes a blob if it still is this upload. */
  async #drop(ref: BlobRef, upload: string): Promise<boolean> {
    const { blob, partition, returning } = this.#sql;
    const deleted = await this.#done("delete", ref, [
      {
        sql: `delete from ${blob} where ${partition} = ? and ref = ? and upload = ?${returning("ref")}`,
        params: [this.#partition, ref, upload],
      },
    ]);
    if (deleted) await this.#deleteParts(upload);
    return deleted;
  }

  /** Deletes the rows of an upload that has no name: a put that failed may have given it one. */
  async #deleteParts(upload: string): Promise<void> {
    const { blob, part, trash } = this.#sql;
    const unnamed = [blob, trash].map((table) => `not exists (select 1 from ${table} where upload = ?)`);
    const sql = `delete from ${part} where upload = ? and ${unnamed.join(" and ")}`;
    await this.#run("delete", upload, sql, [upload, upload, upload]);
  }

  #trash(): BlobTrash {
    const { blob, greatest, now, orNothing, partition, returning, trash } = this.#sql;
    const found = async (ref: BlobRef): Promise<readonly SqlRow[]> =>
      this.#run(
        "look for",
        ref,
        `select upload, touched_at, trashed_at from ${trash} where ${partition} = ? and ref = ? order by trashed_at desc`,
        [this.#partition, ref],
      );
    const drop = async (ref: BlobRef, { upload, trashed_at }: SqlRow): Promise<boolean> => {
      const sql = `delete from ${trash} where upload = ? and trashed_at = ?${returning("upload")}`;
      const isDeleted = await this.#done("delete", ref, [{ sql, params: [upload, trashed_at] }]);
      if (isDeleted) await this.#deleteParts(upload);
      return isDeleted;
    };
    const columns = `upload, ${partition}, ref, size, touched_at`;
    return {
      take: ({ ref, touchedAt }) =>
        this.#done(
          "collect",
          ref,
          this.#sql.move({
            from: blob,
            to: trash,
            columns: `${columns}, trashed_at`,
            values: `${columns}, ${now}`,
            orNothing: orNothing(trash, "upload"),
            where: {
              sql: `${partition} = ? and ref = ? and touched_at = ?`,
              params: [this.#partition, ref, touchedAt],
            },
          }),
        ),

      list: ({ signal } = {}) => this.#trashed(signal),

      restore: async (ref) => {
        const copies = await found(ref);
        const [newest] = copies;
        if (newest === undefined) return false;
        // Bytes that were put again since are at least as good.
        if ((await this.touch(ref)) !== undefined) {
          for (const copy of copies) await drop(ref, copy);
          return true;
        }
        const later = greatest("touched_at + 1", now);
        const isMoved = await this.#done(
          "restore",
          ref,
          this.#sql.move({
            from: trash,
            to: blob,
            columns,
            values: `upload, ${partition}, ref, size, ${later}`,
            orNothing: orNothing(blob, `${partition}, ref`),
            where: { sql: "upload = ?", params: [newest.upload] },
          }),
        );
        for (const copy of copies.slice(1)) await drop(ref, copy);
        return isMoved || (await this.touch(ref)) !== undefined;
      },

      delete: async (ref, seen) => {
        let isDeleted = false;
        for (const copy of await found(ref)) {
          const isSeen =
            Number(copy.trashed_at) === seen?.trashedAt && Number(copy.touched_at) === seen.touchedAt;
          if ((seen === undefined || isSeen) && (await drop(ref, copy))) isDeleted = true;
        }
        return isDeleted;
      },
    };
  }

  async *#trashed(signal: AbortSignal | undefined): AsyncGenerator<TrashedBlob, void, undefined> {
    const { partition, trash } = this.#sql;
    const query = `select upload, ref, size, touched_at, trashed_at from ${trash}
      where ${partition} = ? and upload > ? order by upload limit ?`;
    for await (const row of this.#paged(query, "upload", signal)) {
      const { ref, size, touched_at, trashed_at } = row;
      yield { ref, size: Number(size), touchedAt: Number(touched_at), trashedAt: Number(trashed_at) };
    }
  }

  async *#paged(
    query: string,
    column: "ref" | "upload",
    signal: AbortSignal | undefined,
  ): AsyncGenerator<SqlRow, void, undefined> {
    for (let last = ""; ; ) {
      signal?.throwIfAborted();
      const rows = await this.#run("list", this.#partition, query, [this.#partition, last, pageBlobs]);
      for (const row of rows) yield row;
      if (rows.length < pageBlobs) return;
      last = rows.at(-1)?.[column];
    }
  }

  #run(name: string, path: string, sql: string, params: readonly SqlValue[]): Promise<readonly SqlRow[]> {
    return this.#parts.database.query({ name, path }, sql, params);
  }

  /** Runs a change of one row that was there. One whose answer was lost, and that finds no row, was done. */
  async #done(name: string, path: string, statements: readonly SqlStatement[]): Promise<boolean> {
    const { database } = this.#parts;
    let isLost = false;
    return database.retrying(
      { name, path },
      async () => (await database.transaction(statements)).length > 0 || isLost,
      () => {
        isLost = true;
      },
    );
  }
}

function joined(a: Uint8Array, b: Uint8Array): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(a.length + b.length);
  all.set(a);
  all.set(b, a.length);
  return all;
}

function vanished(operation: "put" | "read", ref: BlobRef): SessileError<"STORAGE_FAILED"> {
  const message = `${operation} ${ref}: bytes of the blob were deleted meanwhile`;
  return new SessileError("STORAGE_FAILED", message, {
    details: { operation, path: ref, errno: "GONE" },
  });
}
