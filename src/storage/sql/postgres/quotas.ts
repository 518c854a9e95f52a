/**
 * Blob quotas that hold across processes: a row for each partition, with its reservations. Each operation is
 * one statement on one row: a concurrent one waits for the row's lock, and sees its newest version.
 */

import type { BlobQuotas, BlobReservation } from "../../../blobs/index.js";
import type { Database, Operation } from "../database.js";
import { postgresDatabase } from "./driver.js";
import { migrationTo } from "./migrations.js";
import { identifier, type PostgresSessionsOptions, schemaArgument } from "./options.js";

/** Options of {@link postgresBlobQuotas}. */
export type PostgresQuotasOptions = Pick<PostgresSessionsOptions, "db" | "schema" | "prepare" | "retryMs">;

/**
 * Creates quotas in PostgreSQL, for blob stores of several processes on any storage.
 *
 * @example
 * ```ts
 * import { Pool } from "pg";
 *
 * const quotas = postgresBlobQuotas({ db: new Pool() });
 * await quotas.migrate();
 * const blobs = fileBlobStore({ dir: "/shared/blobs", quota: 10_000_000_000, quotas });
 * ```
 */
export function postgresBlobQuotas(options: PostgresQuotasOptions): BlobQuotas & {
  /** Makes the tables, which are those of sessions too. */
  migrate(): Promise<void>;
} {
  return new PostgresQuotas(options);
}

/** Milliseconds since 1970. One time for the whole statement. */
const now = "(extract(epoch from statement_timestamp()) * 1000)::bigint";

/** Whether a reservation counts: an expired one without a ref has stored nothing. */
const counts = `(value ? 'ref' or (value ->> 'until')::bigint > ${now})`;

function schemaStatements(schema: string) {
  const quota = `${identifier(schema)}.quota`;
  const each = "jsonb_each(quota.reservations)";
  /** Used and reserved bytes without those of reservation $2. */
  const others = `quota.used + (
      select coalesce(sum((value ->> 'bytes')::bigint), 0) from ${each} where key <> $2 and ${counts}
    )`;
  const isRef = "value ->> 'ref' is not distinct from $2";
  return {
    /** partition, id, bytes, ref, quota, lease in milliseconds */
    reserve: `insert into ${quota} as quota (partition) values ($1)
      on conflict (partition) do update set reservations = (
        select coalesce(jsonb_object_agg(key, value), '{}') from ${each} where key = $2 or ${counts}
      ) || case when ${others} + $3::bigint <= $5::bigint then
        jsonb_build_object($2::text, jsonb_strip_nulls(jsonb_build_object(
          'bytes', $3::bigint, 'ref', $4::text, 'until', ${now} + $6::bigint
        )))
      else '{}' end
      returning (${others})::text as used,
        coalesce(${others} + $3::bigint <= $5::bigint, false) as reserved, (
        select json_agg(json_build_object('id', key, 'bytes', value -> 'bytes', 'ref', value -> 'ref'))::text
        from ${each} where key <> $2 and value ? 'ref' and (value ->> 'until')::bigint <= ${now}
      ) as expired`,
    /** partition, id, bytes */
    end: `update ${quota} as quota set reservations = reservations - $2::text,
        used = used + $3::bigint, added = added + $3::bigint
      where partition = $1 and reservations -> $2::text is not null returning true as ended`,
    /** partition, bytes */
    add: `update ${quota} as quota set used = used + $2::bigint, added = added + $2::bigint
      where partition = $1 and used is not null`,
    /** partition, ref, bytes */
    remove: `update ${quota} as quota set
        used = case when used is null or exists (select from ${each} where ${isRef}) then used
          else greatest(0, used - $3::bigint) end,
        reservations = (
          select coalesce(jsonb_object_agg(key, value), '{}') from ${each} where not ${isRef}
        )
      where partition = $1`,
    /** partition */
    usage: `select used::text, added::text from ${quota} as quota where partition = $1`,
    /** partition, listed bytes, added bytes before */
    recount: `insert into ${quota} as quota (partition, used) values ($1, $2::bigint)
      on conflict (partition) do update set used = $2::bigint + quota.added - $3::bigint`,
  };
}

class PostgresQuotas implements BlobQuotas {
  readonly #schema: string;
  readonly #database: Database;
  readonly #sql: ReturnType<typeof schemaStatements>;

  constructor(options: PostgresQuotasOptions) {
    this.#schema = schemaArgument(options.schema);
    this.#database = postgresDatabase(options.db, options);
    this.#sql = schemaStatements(this.#schema);
  }

  async migrate(): Promise<void> {
    const operation = { name: "migrate", path: this.#schema };
    await this.#database.query(operation, migrationTo(this.#schema), []);
  }

  async reserve(
    partition: string,
    { id, bytes, ref }: BlobReservation,
    { quota, leaseMs }: { readonly quota: number; readonly leaseMs: number },
  ) {
    const values = [partition, id, bytes, ref ?? null, quota, leaseMs];
    const [row] = await this.#database.query(operationOn("reserve", partition), this.#sql.reserve, values);
    const expired: readonly BlobReservation[] = row?.expired == null ? [] : JSON.parse(row.expired);
    return { reserved: row?.reserved === true, used: textNumber(row?.used), expired };
  }

  async end(partition: string, id: string, storedBytes: number): Promise<boolean> {
    // If an answer was lost and there is no reservation now, the lost statement ended it.
    let isLost = false;
    return this.#database.retrying(
      operationOn("end", partition),
      async () => {
        const rows = await this.#database.run(this.#sql.end, [partition, id, storedBytes]);
        return rows.length > 0 || isLost;
      },
      () => {
        isLost = true;
      },
    );
  }

  /** May add twice if an answer is lost: a count that is too high keeps the quota. */
  async add(partition: string, bytes: number): Promise<void> {
    await this.#database.query(operationOn("add", partition), this.#sql.add, [partition, bytes]);
  }

  /** Removes at most once, also if an answer is lost, for the same reason. */
  async remove(partition: string, ref: NonNullable<BlobReservation["ref"]>, bytes: number): Promise<void> {
    let isLost = false;
    await this.#database.retrying(
      operationOn("remove", partition),
      async () => {
        if (!isLost) await this.#database.run(this.#sql.remove, [partition, ref, bytes]);
      },
      () => {
        isLost = true;
      },
    );
  }

  async usage(partition: string): Promise<{ readonly used: number | undefined; readonly added: number }> {
    const [row] = await this.#database.query(operationOn("read", partition), this.#sql.usage, [partition]);
    return { used: textNumber(row?.used), added: textNumber(row?.added) ?? 0 };
  }

  async recount(partition: string, listedBytes: number, since: number): Promise<void> {
    const values = [partition, listedBytes, since];
    await this.#database.query(operationOn("recount", partition), this.#sql.recount, values);
  }
}

function operationOn(name: string, partition: string): Operation {
  return { name, path: `quota of ${partition === "" ? "the unnamed partition" : partition}` };
}

function textNumber(text: unknown): number | undefined {
  return text === null || text === undefined ? undefined : Number(text);
}
