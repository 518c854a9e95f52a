import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { sourceAliases } from "../scripts/aliases.mjs";

export default defineConfig({
  resolve: { alias: sourceAliases },
  test: {
    name: "peers",
    include: ["peers/**/*.test.ts"],
    setupFiles: ["peers/setup.ts"],
    // What hangs is to be found, not what is slow on a machine that has other work.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    maxWorkers: availableParallelism(),
    // Loading pi anew for each file would take as long as these tests.
    isolate: false,
  },
});
