// The conformance suites in workerd, as Cloudflare's workers run it: workers.mjs BUILT-PACKAGE
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
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
  "sessile/attachments": "attachments.js",
  "sessile/postgres": "postgres.js",
  "sessile/anthropic": "anthropic.js",
  "sessile/r2": "r2.js",
  "sessile/s3": "s3.js",
  "sessile/conformance": "conformance.js",
  "sessile/sqlite": "sqlite.js",
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
const storage = mkdtempSync(join(tmpdir(), "sessile-object-"));
const open = () =>
  new Miniflare({
    modules: true,
    script: outputFiles[0]?.text ?? "",
    compatibilityDate: "2026-04-01",
    bindings: { database: database.url, bucket: bucket.url, keys: { ...testKeys } },
    durableObjects: { OBJECT: { className: "SuitesObject", useSQLite: true } },
    durableObjectsPersist: join(storage, "objects"),
    r2Buckets: ["BLOBS"],
    r2Persist: join(storage, "r2"),
  });
let miniflare = open();
let passed = 0;
let failed = 0;

/** @param {string} path */
async function ask(path) {
  const response = await miniflare.dispatchFetch(`http://worker/${path}`);
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response.json();
}

/** @param {string} place of the suites @param {string} name */
async function runSuite(place, name) {
  const { cases, failures, skipped } =
    /** @type {{ cases: number, failures: string[], skipped: string[] }} */ (
      await ask(place + encodeURIComponent(name))
    );
  passed += cases - failures.length - skipped.length;
  failed += failures.length;
  for (const line of failures) console.log(`${name}: ${line}`);
  for (const line of skipped) console.log(`${name}: skipped: ${line}`);
}

/**
 * The memory of the workerd process in bytes, now and at its highest: V8's heap, array buffers, SQLite's cache,
 * and the program itself.
 */
function memory() {
  for (const pid of readdirSync("/proc")) {
    if (!/^\d+$/.test(pid)) continue;
    try {
      const status = readFileSync(`/proc/${pid}/status`, "utf8");
      const field = (/** @type {string} */ name) =>
        new RegExp(`^${name}:\\s+(.+)$`, "m").exec(status)?.[1] ?? "";
      if (field("Name") !== "workerd" || field("PPid") !== String(process.pid)) continue;
      return {
        now: Number.parseInt(field("VmRSS"), 10) * 1024,
        highest: Number.parseInt(field("VmHWM"), 10) * 1024,
      };
    } catch {} // a process that has ended
  }
  throw new Error("no process of workerd");
}

/** An isolate has 128 MB: the session is opened by a new process, whose memory at its highest is compared. */
async function wakeLarge() {
  const { size } = /** @type {{ size: number }} */ (await ask("object/fill"));
  await miniflare.dispose();
  miniflare = open();
  await ask("");
  const before = memory();
  const { entries, body } = /** @type {{ entries: number, body: number }} */ (await ask("object/wake"));
  const grown = memory().highest - before.now;
  const mb = (/** @type {number} */ bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
  console.log(
    `a session of ${mb(size)} and ${entries} entries, a request of ${mb(body)}: ${mb(grown)} of memory`,
  );
  const isShown = size > 100e6 && entries > 1000 && body > 1e6 && grown < 128e6;
  if (isShown) passed++;
  else failed++;
}

try {
  for (const place of ["", "object/"]) {
    for (const name of /** @type {string[]} */ (await ask(place))) await runSuite(place, name);
  }
  await wakeLarge();
} finally {
  await miniflare.dispose();
  await database.close();
  await bucket.close();
  rmSync(storage, { recursive: true, force: true });
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
