// The conformance suites in workerd, as Cloudflare's workers run it: workers.mjs BUILT-PACKAGE
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { Miniflare } from "miniflare";
import { databaseOverHttp } from "./database-over-http.mjs";

const [built = ""] = process.argv.slice(2);
/** @param {string} name */
const local = (name) => fileURLToPath(new URL(name, import.meta.url));

/** The subpaths that the worker imports, in the built package. */
const subpaths = {
  sessile: "index.js",
  "sessile/blobs/conformance": "blobs/conformance.js",
  "sessile/postgres": "postgres/index.js",
  "sessile/s3": "s3/index.js",
  "sessile/session/conformance": "session/conformance.js",
};
const { outputFiles } = await build({
  entryPoints: [local("worker.mjs")],
  bundle: true,
  write: false,
  format: "esm",
  platform: "browser",
  conditions: ["workerd", "worker", "browser"],
  alias: Object.fromEntries(Object.entries(subpaths).map(([name, file]) => [name, join(built, file)])),
});
/** @type {typeof import("../support/s3/server.js")} */
const { startS3Server } = await loadTypeScript("../support/s3/server.ts");
/** @type {typeof import("../support/s3/signature.js")} */
const { testKeys } = await loadTypeScript("../support/s3/signature.ts");
const database = await databaseOverHttp();
const bucket = await startS3Server();
const miniflare = new Miniflare({
  modules: true,
  script: outputFiles[0]?.text ?? "",
  compatibilityDate: "2026-04-01",
  bindings: { database: database.url, bucket: bucket.url, keys: { ...testKeys } },
});
let passed = 0;
let failed = 0;
try {
  const names = /** @type {string[]} */ (await (await miniflare.dispatchFetch("http://worker/")).json());
  for (const name of names) {
    const response = await miniflare.dispatchFetch(`http://worker/${encodeURIComponent(name)}`);
    const { cases, failures, skipped } =
      /** @type {{ cases: number, failures: string[], skipped: string[] }} */ (await response.json());
    passed += cases - failures.length - skipped.length;
    failed += failures.length;
    for (const line of failures) console.log(`${name}: ${line}`);
    for (const line of skipped) console.log(`${name}: skipped: ${line}`);
  }
} finally {
  await miniflare.dispose();
  await database.close();
  await bucket.close();
}
console.log(JSON.stringify({ passed, failed }));

/** @param {string} name a module without other dependencies than Node's */
async function loadTypeScript(name) {
  const { outputFiles } = await build({
    entryPoints: [local(name)],
    bundle: true,
    write: false,
    format: "esm",
    platform: "node",
  });
  const text = Buffer.from(outputFiles[0]?.contents ?? []).toString("base64");
  return import(`data:text/javascript;base64,${text}`);
}
