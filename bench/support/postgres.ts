import pg from "pg";
import { postgresSessionBackend } from "sessile/postgres";
import { type PostgresServer, startPostgres } from "../../test/support/postgres.js";
import type { Table } from "./claim.js";

/** A server with the tables of this library, for one claim. */
export async function withServer(
  use: (server: PostgresServer, pool: pg.Pool) => Promise<Table>,
): Promise<Table> {
  await using server = await startPostgres();
  const pool = new pg.Pool({ connectionString: server.url, max: 2 });
  pool.on("error", () => undefined);
  await postgresSessionBackend({ db: pool }).migrate();
  try {
    return await use(server, pool);
  } finally {
    await pool.end();
  }
}
