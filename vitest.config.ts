import { defineConfig } from "vitest/config";
import { sourceAliases } from "./scripts/aliases.mjs";

const slow = "test/**/*.slow.test.ts";
const faults = "test/faults/**/*.test.ts";
/** Applications as processes, and their clients: MCP hosts, a Bot API, a browser. */
const harnesses = "test/examples/apps/*.test.ts";
/** What puts a module of its own in the place of another must not leave it to other files. */
const mocked = "test/session/node/simulated-crash.test.ts";
/** Tests of files, processes and clocks. */
const system = [
  "test/internal/node/**",
  "test/session/node/**",
  "test/blobs/**",
  "test/attachments/node/**",
  "test/projections/claude-agent/node/**",
  "test/examples",
].map((directory) => `${directory}/*.test.ts`);

export default defineConfig({
  resolve: { alias: sourceAliases },
  test: {
    // By default a processor is left idle.
    maxWorkers: "100%",
    // What hangs is to be found, not what is slow on a machine that has other work.
    testTimeout: 20_000,
    coverage: { provider: "v8", include: ["src/**/*.ts"], reporter: ["text-summary", "html"] },
    projects: [
      // Loading the modules anew for each file would take longer than these tests.
      {
        extends: true,
        test: {
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: [slow, faults, ...system, harnesses],
          isolate: false,
          // Cheaper to start, and to hand modules to, than processes.
          pool: "threads",
        },
      },
      {
        extends: true,
        test: { name: "system", include: system, exclude: [slow, mocked, harnesses], isolate: false },
      },
      { extends: true, test: { name: "mocked", include: [mocked] } },
      { extends: true, test: { name: "harnesses", include: [harnesses] } },
      // Processes that are killed, many times over: they take as long as half of all the rest.
      { extends: true, test: { name: "faults", include: [faults] } },
      // Timings want the processor to themselves: one file at a time.
      {
        extends: true,
        test: { name: "slow", include: [slow], fileParallelism: false, testTimeout: 120_000 },
      },
    ],
  },
});
