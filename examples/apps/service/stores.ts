/** The stores of the service, from its environment: see README.md for the variables. */
import { deserialize, serialize } from "node:v8";
import { AwsClient } from "aws4fetch";
import pg from "pg";
import type { BlobQuotas, BlobStore, SessionStore } from "sessile";
import { fileBlobStore } from "sessile/node";
import { type PostgresQuery, postgresBlobQuotas, postgresSessionStore } from "sessile/postgres";
import { s3BlobStore } from "sessile/s3";

/** The stores, and the end of their connections. */
export interface Stores {
  readonly sessions: SessionStore;
  readonly blobs: BlobStore;
  close(): Promise<void>;
}

/** Opens the stores, and makes the tables if they are not there. */
export async function openStores(env: NodeJS.ProcessEnv): Promise<Stores> {
  const { SERVICE_DATABASE_URL } = env;
  if (SERVICE_DATABASE_URL === undefined)
    throw new Error("SERVICE_DATABASE_URL: expected the address of a database");
  const pool = SERVICE_DATABASE_URL.startsWith("postgres")
    ? new pg.Pool({ connectionString: SERVICE_DATABASE_URL, max: 10 })
    : undefined;
  // A connection that fails while it is idle is replaced by the next query.
  pool?.on("error", () => {});
  const db: PostgresQuery = pool ?? remoteQuery(SERVICE_DATABASE_URL);
  // Names of statements go with connections of its own: not behind a pooler of transactions.
  const sessions = postgresSessionStore({ db, prepare: pool !== undefined });
  await sessions.migrate();
  return {
    sessions,
    blobs: blobStoreOf(env, postgresBlobQuotas({ db })),
    async close() {
      await pool?.end();
    },
  };
}

/** @param quotas counts the bytes of a tenant, whichever process stores them */
function blobStoreOf(env: NodeJS.ProcessEnv, quotas: BlobQuotas): BlobStore {
  const { SERVICE_S3_URL, AWS_REGION, AWS_ACCESS_KEY_ID = "", AWS_SECRET_ACCESS_KEY = "" } = env;
  const limit = { quota: Number(env.SERVICE_QUOTA ?? 1e9), quotas };
  if (SERVICE_S3_URL === undefined)
    return fileBlobStore({ dir: env.SERVICE_BLOBS ?? ".service/blobs", ...limit });
  const aws = new AwsClient({
    accessKeyId: AWS_ACCESS_KEY_ID,
    secretAccessKey: AWS_SECRET_ACCESS_KEY,
    ...(AWS_REGION === undefined ? {} : { region: AWS_REGION }),
    service: "s3",
    retries: 0,
  });
  return s3BlobStore({ fetch: (url, init) => aws.fetch(url, init), url: SERVICE_S3_URL, ...limit });
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
