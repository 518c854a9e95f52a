import { defineConfig } from "tsup";
import { entries } from "./scripts/entries.mjs";

export default defineConfig({
  entry: {
    ...Object.fromEntries(entries.filter(({ page }) => !page).map(({ name, source }) => [name, source])),
    // The executable of the package.
    "cli/main": "src/cli/main.ts",
  },
  format: "esm",
  platform: "neutral",
  target: "es2023",
  // Shared chunks: without them each subpath would carry its own SessileError, and instanceof would fail across them.
  splitting: true,
  removeNodeProtocol: false,
  external: [/^node:/],
  clean: true,
});
