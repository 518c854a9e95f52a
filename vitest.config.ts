import { defineConfig } from "vitest/config";
import { sourceAliases } from "./scripts/aliases.mjs";

const slow = "test/**/*.slow.test.ts";

export default defineConfig({
  resolve: { alias: sourceAliases },
  test: {
    coverage: { provider: "v8", include: ["src/**/*.ts"], reporter: ["text-summary", "html"] },
    projects: [
      { extends: true, test: { name: "unit", include: ["test/**/*.test.ts"], exclude: [slow] } },
      // Timings want the processor to themselves: one file at a time.
      {
        extends: true,
        test: { name: "slow", include: [slow], fileParallelism: false, testTimeout: 120_000 },
      },
    ],
  },
});
