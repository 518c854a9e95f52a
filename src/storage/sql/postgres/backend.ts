/** Sessions in PostgreSQL: the backend, and the store on it. */

import {
  type SessionBackend,
  type SessionStore,
  type SessionStoreOptions,
  sessionStore,
} from "../../../session/index.js";
import { SqlBackend } from "../backend.js";
import type { SqlServerTables } from "../dialect.js";
import { postgresDialect } from "./dialect.js";
import { postgresDatabase } from "./driver.js";
import { listenOn, notifier } from "./notifications.js";
import { type PostgresSessionsOptions, schemaArgument } from "./options.js";

/**
 * The operations of PostgreSQL beside those of every backend. `migrate` takes an advisory lock. `durability` is
 * `os` if the server has `synchronous_commit` or `fsync` off.
 */
export type PostgresTables = SqlServerTables;

/**
 * Creates a backend that stores sessions in PostgreSQL.
 *
 * @example
 * ```ts
 * import { Pool } from "pg";
 *
 * const backend = postgresSessionBackend({ db: new Pool() });
 * await backend.migrate();
 * const sessions = sessionStore(backend);
 * ```
 */
export function postgresSessionBackend(options: PostgresSessionsOptions): SessionBackend & PostgresTables {
  const { db, read, listen, notify = false, search = false } = options;
  const schema = schemaArgument(options.schema);
  const database = postgresDatabase(db, options);
  return new SqlBackend(
    {
      dialect: postgresDialect({
        schema,
        search,
        listen: listen && listenOn(schema, listen),
        notify: notify ? notifier(database, schema) : undefined,
      }),
      database,
      replica: read && postgresDatabase(read, options),
      search,
    },
    options,
  );
}

/**
 * Creates a store of sessions in PostgreSQL.
 *
 * @example
 * ```ts
 * import { Pool } from "pg";
 *
 * const sessions = postgresSessionStore({ db: new Pool() });
 * await sessions.migrate();
 * const session = await sessions.create({ cwd: "/work" });
 * ```
 */
export function postgresSessionStore(
  options: PostgresSessionsOptions & SessionStoreOptions,
): SessionStore & PostgresTables {
  const backend = postgresSessionBackend(options);
  return Object.assign(sessionStore(backend, options), {
    migrate: () => backend.migrate(),
    partitions: () => backend.partitions(),
    durability: () => backend.durability(),
  });
}
