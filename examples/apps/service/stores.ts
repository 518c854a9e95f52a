/** The stores of the service, from its environment: see README.md for the variables. */
import { deserialize, serialize } from "node:v8";
import pg from "pg";
import type { BlobStore, BlobStoreOptions } from "sessile/blobs";
import { fileBlobStore } from "sessile/blobs/node";
import { type PostgresQuery, postgresSessionStore } from "sessile/postgres";
import type { SessionStore } from "sessile/session";

/** The stores, and the end of their connections. */
export interface Stores {
  readonly sessions: SessionStore;
  readonly blobs: BlobStore;
  close(): Promise<void>;
}

/** Opens the stores, and makes the tables if they are not there. */
export async function openStores(env: NodeJS.ProcessEnv): Promise<Stores> {
  const { DATABASE_URL, SERVICE_BLOBS = ".service/blobs", SERVICE_QUOTA = "1000000000" } = env;
  if (DATABASE_URL === undefined) throw new Error("DATABASE_URL: expected the address of a database");
  const pool = DATABASE_URL.startsWith("postgres")
    ? new pg.Pool({ connectionString: DATABASE_URL, max: 10 })
    : undefined;
  // A connection that fails while it is idle is replaced by the next query.
  pool?.on("error", () => {});
  const sessions = postgresSessionStore({ db: pool ?? remoteQuery(DATABASE_URL) });
  await sessions.migrate();
  const options: BlobStoreOptions = { quota: Number(SERVICE_QUOTA) };
  const blobs = fileBlobStore({ dir: SERVICE_BLOBS, ...options });
  return {
    sessions,
    blobs,
    async close() {
      await pool?.end();
    },
  };
}

/** Queries a database.ts in another process. */
function remoteQuery(url: string): PostgresQuery {
  return {
    async query(text, values = []) {
      const response = await fetch(url, { method: "POST", body: Uint8Array.from(serialize([text, values])) });
      const result = deserialize(Buffer.from(await response.arrayBuffer()));
      if (response.ok) return result;
      throw Object.assign(new Error(result.message), result);
    },
  };
}
