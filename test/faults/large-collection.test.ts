import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { useProgram } from "./start-child.js";

const program = useProgram(new URL("./large-collection-child.ts", import.meta.url));
const bucket = useProgram(new URL("./large-bucket-child.ts", import.meta.url));
const database = useProgram(new URL("./large-database-child.ts", import.meta.url));

test("a collection of 100,000 sessions and a million blobs takes 45 bytes a referenced blob", async () => {
  const run = promisify(execFile);
  const limits = ["--max-old-space-size=40", "--max-semi-space-size=2"];
  const args = [...limits, program(), "100000", "1000000"];
  const { stdout } = await run(process.execPath, args, { timeout: 240_000 });
  const { megabytes, ...report } = JSON.parse(stdout) as { readonly megabytes: number };
  const of = (count: number) => ({ count, bytes: 100 * count });
  expect(report).toMatchObject({
    roots: { count: 100_001, refs: 1_000_003, first: 100 },
    kept: of(900_000),
    recent: of(10_000),
    trashed: of(90_000),
    restored: of(1),
    deleted: of(999),
    missing: { count: 2 },
    counts: { trashed: 90_000, restored: 1, deleted: 999 },
  });
  // A process of Node has 45 MB, the heap at most 44 more, and the set has 41.
  expect(megabytes).toBeLessThan(160);
});

test("a collection of 10,000 sessions in PGlite and 100,000 blobs reads each line once, in bounded memory", async () => {
  const run = promisify(execFile);
  // Not bundled: it finds files beside its own.
  const pglite = createRequire(import.meta.url).resolve("@electric-sql/pglite");
  const args = ["--max-old-space-size=64", database(), "10000", "100000", pglite];
  const { stdout } = await run(process.execPath, args, { timeout: 240_000 });
  const [first, second] = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { readonly grown: number; readonly ms: number });
  const counts = { kept: 90_000, trashed: 10_000, missing: 0 };
  expect([first, second]).toMatchObject([counts, counts]);
  // The server in the process grows too.
  expect(first?.grown).toBeLessThan(300);
  expect(second?.grown).toBeLessThan(100);
  expect(second?.ms).toBeLessThan((first?.ms ?? 0) / 2);
});

test("a partition of 100,000 blobs on S3 is listed and collected by its pages, in bounded memory", async () => {
  const run = promisify(execFile);
  const args = ["--max-old-space-size=64", bucket(), "100000", "10000"];
  const { stdout } = await run(process.execPath, args, { timeout: 240_000 });
  const { list, verify, collection, megabytes } = JSON.parse(stdout);
  const found = 100_000;
  expect(list).toMatchObject({ found, requests: { list: 100 } });
  expect(verify).toMatchObject({ found: 10_000, requests: { GET: 10_000 } });
  // The list, the trash, staged objects and uploads.
  expect(collection).toMatchObject({ found, requests: { list: 102, uploads: 1 } });
  // The bucket of the test has 25 of these.
  expect(megabytes).toBeLessThan(200);
});
