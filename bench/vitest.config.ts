import { defineConfig } from "vitest/config";
import { sourceAliases } from "../scripts/aliases.mjs";

export default defineConfig({
  resolve: { alias: sourceAliases },
  test: {
    name: "peers",
    include: ["peers/**/*.test.ts"],
    setupFiles: ["peers/setup.ts"],
    testTimeout: 60_000,
  },
});
