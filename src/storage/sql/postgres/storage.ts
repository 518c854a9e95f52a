/** Blobs in PostgreSQL, and the door to sessions and blobs of one database. */

import type { BlobStoreOptions } from "../../../blobs/index.js";
import type { AgentStorage, SessionStoreOptions } from "../../../session/index.js";
import { openSqlStorage, type SqlBlobStore, sqlBlobStore } from "../blobs.js";
import type { BlobSyntax } from "../dialect.js";
import { postgresSessionBackend } from "./backend.js";
import { postgresDatabase } from "./driver.js";
import { identifier, type PostgresQuery, type PostgresSessionsOptions, schemaArgument } from "./options.js";

/** Options of {@link postgresBlobStore}. */
export type PostgresBlobsOptions = Pick<PostgresSessionsOptions, "db" | "schema" | "prepare" | "retryMs"> &
  BlobStoreOptions;

/** Options of {@link openPostgres}. */
export type OpenPostgresOptions = Omit<PostgresSessionsOptions, "db"> & Omit<SessionStoreOptions, "blobs">;

/**
 * Creates a store of blobs in PostgreSQL, as rows of 1 MiB: for attachments beside their sessions, up to some
 * gigabytes. Take files or a bucket for more: the bytes go through the log of the server, and into its backups.
 * `maxBytes` is 100 MB by default.
 *
 * @example
 * ```ts
 * import { Pool } from "pg";
 *
 * const blobs = postgresBlobStore({ db: new Pool() });
 * await blobs.migrate();
 * const { ref } = await blobs.put(bytes);
 * ```
 */
export function postgresBlobStore(options: PostgresBlobsOptions): SqlBlobStore {
  const { db } = options;
  const schema = schemaArgument(options.schema);
  const migrate = () => postgresSessionBackend({ db, schema }).migrate();
  const syntax = postgresBlobSyntax(identifier(schema));
  return sqlBlobStore({ syntax, database: postgresDatabase(db, options, true), migrate }, options);
}

/**
 * Opens a database: makes the tables that are missing, and gives its sessions and its blobs.
 *
 * @throws TypeError, RangeError for invalid options
 * @throws SessileError STORAGE_FAILED
 * @example
 * ```ts
 * import { Pool } from "pg";
 *
 * const { sessions, blobs, attach } = await openPostgres(new Pool());
 * ```
 */
export async function openPostgres(
  db: PostgresQuery,
  options: OpenPostgresOptions = {},
): Promise<AgentStorage> {
  const blobs = postgresBlobStore({ db, ...openPostgresOptionParts(options) });
  return openSqlStorage(postgresSessionBackend({ ...options, db }), blobs, options);
}

function openPostgresOptionParts({ schema, prepare, retryMs }: OpenPostgresOptions) {
  return {
    ...(schema !== undefined && { schema }),
    ...(prepare !== undefined && { prepare }),
    ...(retryMs !== undefined && { retryMs }),
  };
}

function postgresBlobSyntax(schema: string): BlobSyntax {
  const blob = `${schema}.blob`;
  return {
    blob,
    trash: `${schema}.blob_trash`,
    part: `${schema}.blob_part`,
    partition: "partition",
    now: "(extract(epoch from clock_timestamp()) * 1000)::bigint",
    greatest: (...of) => `greatest(${of.join(", ")})`,
    returning: (column) => ` returning ${column}`,
    orNothing: () => "on conflict do nothing",
    orReplace: `on conflict (partition, ref) do update set upload = excluded.upload, size = excluded.size,
      touched_at = greatest(${blob}.touched_at + 1, excluded.touched_at)`,
    // One statement is one transaction, on whatever connection.
    move: ({ columns, from, orNothing, to, values, where }) => [
      {
        sql: `with moved as (delete from ${from} where ${where.sql} returning *)
      insert into ${to} (${columns}) select ${values} from moved ${orNothing} returning ref`,
        params: where.params,
      },
    ],
  };
}
