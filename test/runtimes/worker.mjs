// A worker that runs the conformance suites inside workerd, through drivers that have only fetch.
import { neon, neonConfig } from "@neondatabase/serverless";
import { AwsClient } from "aws4fetch";
import { blobStore, memoryBlobStore, memorySessionStore, sessionStore } from "sessile";
import { blobStoreConformance } from "sessile/blobs/conformance";
import { postgresSessionBackend } from "sessile/postgres";
import { s3BlobBackend } from "sessile/s3";
import { sessionStoreConformance } from "sessile/session/conformance";

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
  };
}

function blobsInMemory() {
  const { backend } = memoryBlobStore();
  return {
    /** @param {import("sessile/blobs").BlobStoreOptions} [options] */
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
      /** @param {import("sessile/blobs").BlobStoreOptions} [options] */
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

export default {
  /** @param {Request} request @param {{ database: string, bucket: string, keys: { accessKeyId: string, secretAccessKey: string } }} env */
  async fetch(request, env) {
    /** @type {Readonly<Record<string, readonly [readonly { name: string, run(subject: never): Promise<unknown> }[], () => unknown]>>} */
    const suites = {
      "blobs in memory": [blobStoreConformance, blobsInMemory],
      "sessions in memory": [sessionStoreConformance, sessionsInMemory],
      "sessions in PostgreSQL": [sessionStoreConformance, sessionsInPostgres(env.database)],
      "blobs on S3": [blobStoreConformance, blobsOnS3(env.bucket, env.keys)],
    };
    const name = decodeURIComponent(new URL(request.url).pathname.slice(1));
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
  },
};
