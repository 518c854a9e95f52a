// A worker that runs the conformance suites inside workerd: through drivers that have only fetch, and in a Durable
// Object with its own SQLite and a bucket of R2.
import { neon, neonConfig } from "@neondatabase/serverless";
import { AwsClient } from "aws4fetch";
import { blobStore, memoryBlobStore, memorySessionStore, sessionStore, userMessage } from "sessile";
import { blobStoreConformance, sessionStoreConformance } from "sessile/conformance";
import { postgresSessionBackend } from "sessile/postgres";
import { r2BlobBackend } from "sessile/r2";
import { s3BlobBackend } from "sessile/s3";
import { durableObjectDriver, sqliteSessionBackend } from "sessile/sqlite";
import { fillLargeSession, wakeLargeSession } from "./large-session.mjs";
import { indexCases } from "./sqlite-index.mjs";

const maxLineBytes = 2 * 1024 * 1024;
const encoder = new TextEncoder();

/** @param {string} url */
function sessionsInPostgres(url) {
  neonConfig.fetchEndpoint = url;
  const sql = neon("postgres://worker:none@localhost/sessile", { fullResults: true });
  const db = {
    /** @param {string} text @param {unknown[]} [values] */
    query: (text, values) => sql.query(text, values),
  };
  let schemas = 0;
  return async () => {
    // A schema for each case, made by the worker itself.
    const schema = `case_${schemas++}`;
    const backend = () => postgresSessionBackend({ db, schema });
    await backend().migrate();
    return fixtureOf(backend);
  };
}

/** @param {() => import("sessile").SessionBackend} backend */
function fixtureOf(backend) {
  return {
    open: () => sessionStore(backend(), { maxLineBytes }),
    maxLineBytes,
    /** @param {string} id @param {readonly string[]} lines */
    async put(id, lines) {
      const session = { id, partition: "", cwd: "/work", timestamp: "2026-01-01T00:00:00.000Z" };
      const { log, position } = await backend().create(session);
      await log.append(
        lines.map((line) => encoder.encode(`${line}\n`)),
        position,
      );
      await log.close();
    },
  };
}

/** @param {import("sessile/sqlite").DurableObjectSql} storage */
function sessionsInObject(storage) {
  let cases = 0;
  return async () => {
    const driver = durableObjectDriver(storage);
    const prefix = `case_${cases++}_`;
    const backend = () => sqliteSessionBackend({ driver, prefix, search: true });
    await backend().migrate();
    return fixtureOf(backend);
  };
}

/** @param {import("sessile/r2").R2BucketBinding} bucket */
function blobsOnR2(bucket) {
  let cases = 0;
  return () => {
    const prefix = `case ${cases++}/`;
    const backend = r2BlobBackend({ bucket, prefix });
    return {
      /** @param {import("sessile").BlobStoreOptions} [options] */
      open: (options = {}) => blobStore(backend, options),
      /** @param {`sha256:${string}`} ref @param {Uint8Array} bytes */
      async damage(ref, bytes) {
        await bucket.put(`${prefix}${ref.slice(0, 6)}/${ref.slice(7, 9)}/${ref.slice(7)}`, bytes);
      },
    };
  };
}

function blobsInMemory() {
  const { backend } = memoryBlobStore();
  return {
    /** @param {import("sessile").BlobStoreOptions} [options] */
    open: (options = {}) => blobStore(backend, options),
    /** @param {`sha256:${string}`} ref @param {Uint8Array} bytes */
    async damage(ref, bytes) {
      await backend.delete(ref);
      await backend.write(ref, bytes, {});
    },
  };
}

/** @param {string} url @param {{ accessKeyId: string, secretAccessKey: string }} keys */
function blobsOnS3(url, keys) {
  const aws = new AwsClient({ ...keys, service: "s3", region: "us-east-1", retries: 0 });
  let prefixes = 0;
  return () => {
    const prefix = `case ${prefixes++}/`;
    const backend = s3BlobBackend({ fetch: (url, init) => aws.fetch(url, init), url, prefix });
    return {
      /** @param {import("sessile").BlobStoreOptions} [options] */
      open: (options = {}) => blobStore(backend, options),
      /** @param {`sha256:${string}`} ref @param {Uint8Array} bytes */
      async damage(ref, bytes) {
        const key = `${prefix}${ref.slice(0, 6)}/${ref.slice(7, 9)}/${ref.slice(7)}`;
        const path = key.split("/").map(encodeURIComponent).join("/");
        await aws.fetch(`${url}/${path}`, { method: "PUT", body: bytes });
      },
    };
  };
}

function sessionsInMemory() {
  const store = memorySessionStore();
  return { open: () => store };
}

/** @typedef {Readonly<Record<string, readonly [readonly { name: string, run(subject: never): Promise<unknown> }[], () => unknown]>>} Suites */

/** @param {string} name @param {Suites} suites */
async function answer(name, suites) {
  const suite = suites[name];
  if (suite === undefined) return Response.json(Object.keys(suites));
  const [cases, subject] = suite;
  /** @type {string[]} */
  const failures = [];
  /** @type {string[]} */
  const skipped = [];
  for (const { name, run } of cases) {
    try {
      const result = await run(/** @type {never} */ (await subject()));
      if (result !== undefined) skipped.push(`${name}: ${JSON.stringify(result)}`);
    } catch (error) {
      failures.push(`${name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    }
  }
  return Response.json({ cases: cases.length, failures, skipped });
}

/** @typedef {{ database: string, bucket: string, keys: { accessKeyId: string, secretAccessKey: string }, BLOBS: import("sessile/r2").R2BucketBinding, OBJECT: { idFromName(name: string): unknown, get(id: unknown): { fetch(url: string): Promise<Response> } } }} Env */

/** A Durable Object that runs the suites on its own storage. */
export class SuitesObject {
  /** @param {{ storage: import("sessile/sqlite").DurableObjectSql }} ctx @param {Env} env */
  constructor(ctx, env) {
    this.storage = ctx.storage;
    this.bucket = env.BLOBS;
  }

  /** @param {Request} request */
  async fetch(request) {
    const name = decodeURIComponent(new URL(request.url).pathname.slice(1));
    const driver = durableObjectDriver(this.storage);
    if (name === "fill") return Response.json(await fillLargeSession(driver, this.bucket));
    if (name === "wake") return Response.json(await wakeLargeSession(driver, this.bucket));
    return answer(name, {
      "sessions in a Durable Object": [sessionStoreConformance, sessionsInObject(this.storage)],
      // On the tables without a prefix of their own: one case.
      "the index of a Durable Object": [
        indexCases.slice(0, 1),
        () => ({ sessionStore, sqliteSessionBackend, userMessage, driver }),
      ],
      "blobs on R2": [blobStoreConformance, blobsOnR2(this.bucket)],
    });
  }
}

export default {
  /** @param {Request} request @param {Env} env */
  async fetch(request, env) {
    const url = new URL(request.url);
    const [, first, second = ""] = url.pathname.split("/");
    if (first === "object")
      return env.OBJECT.get(env.OBJECT.idFromName("one")).fetch(`http://object/${second}`);
    return answer(decodeURIComponent(first ?? ""), {
      "blobs in memory": [blobStoreConformance, blobsInMemory],
      "sessions in memory": [sessionStoreConformance, sessionsInMemory],
      "sessions in PostgreSQL": [sessionStoreConformance, sessionsInPostgres(env.database)],
      "blobs on S3": [blobStoreConformance, blobsOnS3(env.bucket, env.keys)],
    });
  },
};
