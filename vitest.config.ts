import { accessSync, constants } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { sourceAliases } from "./scripts/aliases.mjs";
import { root } from "./scripts/entries.mjs";

const slow = "test/**/*.slow.test.ts";
const faults = "test/faults/**/*.test.ts";
const installed = "**/node_modules/**";
/** Tests of adapters with the frameworks themselves, which test/adapters installs. */
const frameworks = "test/adapters/frameworks/*.test.ts";
/** Tests of the package itself: its documents, layers, exports and examples. */
const packaged = "test/package/*.test.ts";
/** Other agents' programs, which are installed on demand: npm run interop. */
const interop = "test/agents/agents/*.test.ts";
/** Programs as processes, and their clients: examples, applications, pages of the guide. */
const harnesses = [
  "test/examples/!(templates).test.ts",
  "test/examples/apps/{*,turn-endpoint/served-session}.test.ts",
  "test/docs/guide.test.ts",
  "test/sync/git.test.ts",
  "test/viewer/page/*.test.ts",
  "test/cli/{completion,process}.test.ts",
];
/** Stores in PostgreSQL, S3 and R2: servers, or what stands for one, in this process. */
const backends = ["test/{databases,mysql,postgres,r2,s3}/*.test.ts"];
/** Tests of files, processes and clocks, and of a main thread's stack, which is smaller than a worker thread's. */
const system = [
  "test/internal/node/**",
  "test/session/node/**",
  "test/blobs/**",
  "test/attachments/node/**",
  "test/providers/claude-agent/node/**",
  "test/agents/node/**",
  "test/adapters/shared",
  "test/adapters/shared/node",
].map((directory) => `${directory}/*.test.ts`);
/** Tests with fewer cases in `npm test`, by test/support/rounds.ts. */
const properties = [
  "test/blobs/{conformance,shared-quotas}.test.ts",
  "test/compaction/{overhead,sequences}.test.ts",
  "test/databases/{conformance,search-property}.test.ts",
  "test/agents/{growth,import-own,pairs,soup}.test.ts",
  "test/memory/{path-state,prompt}.test.ts",
  "test/postgres/quotas.test.ts",
  "test/providers/*/*stream.test.ts",
  "test/providers/{every-stream,every-target,malformed-replies,one-wire,recovery}.test.ts",
  "test/session/{adopt,conformance,open-from-end,properties,tree/tree}.test.ts",
  "test/session/node/{file-store,line-agreement,repair}.test.ts",
  "test/sync/{causality,copy,merge,properties}.test.ts",
  "test/turn/{crash,programs}.test.ts",
];
/** CI runs `properties` too, which has each of these files whole. */
const once = process.env.SESSILE_ROUNDS_PERCENT === undefined ? [] : properties;

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

export default defineConfig({
  resolve: { alias: sourceAliases },
  test: {
    // Many tests wait for a disk, which leaves a processor to another worker.
    maxWorkers: Math.ceil(availableParallelism() * 1.5),
    setupFiles: "test/support/setup.ts",
    // A third of the processor time of a few files, a tenth of `npm test`, in every run and stage but the first.
    experimental: { fsModuleCache: isWritable(join(root, "node_modules")) },
    // What hangs is to be found, not what is slow on a machine that has other work.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 30_000 } },
    coverage: { provider: "v8", include: ["src/**/*.ts"], reporter: ["text-summary", "html"] },
    projects: [
      // Loading the modules anew for each file would take longer than these tests.
      {
        extends: true,
        test: {
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: [
            ...[installed, slow, faults, frameworks, interop, packaged],
            ...[...system, ...harnesses, ...backends, ...once],
          ],
          isolate: false,
          // Cheaper to start, and to hand modules to, than processes.
          pool: "threads",
        },
      },
      {
        extends: true,
        test: { name: "system", include: system, exclude: [slow, ...once], isolate: false },
      },
      {
        extends: true,
        test: {
          name: "backends",
          include: backends,
          exclude: [slow, ...once],
          isolate: false,
          pool: "threads",
        },
      },
      {
        extends: true,
        test: { name: "package", include: [packaged], isolate: false },
      },
      {
        extends: true,
        test: {
          name: "harnesses",
          include: harnesses,
          globalSetup: "test/examples/support/programs.ts",
          isolate: false,
          testTimeout: 600_000,
          hookTimeout: 600_000,
        },
      },
      // Processes that are killed, many times over: they take as long as half of all the rest.
      {
        extends: true,
        test: { name: "faults", include: [faults], testTimeout: 300_000, hookTimeout: 300_000 },
      },
      {
        extends: true,
        test: {
          name: "adapters",
          include: [frameworks],
          globals: true,
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
      // One agent at a time; the first run of a version installs it.
      {
        extends: true,
        test: {
          name: "interop",
          include: [interop],
          fileParallelism: false,
          testTimeout: 900_000,
        },
      },
      // All cases of the tests that have fewer in the projects above.
      {
        extends: true,
        test: {
          name: "properties",
          include: properties,
          isolate: false,
          env: { SESSILE_FAULT_ROUNDS: process.env.SESSILE_FAULT_ROUNDS ?? "10000" },
          testTimeout: 900_000,
          hookTimeout: 300_000,
        },
      },
      // Timings want the processor to themselves: one file at a time.
      {
        extends: true,
        test: {
          name: "slow",
          include: [slow],
          exclude: [installed],
          fileParallelism: false,
          testTimeout: 120_000,
        },
      },
    ],
  },
});
