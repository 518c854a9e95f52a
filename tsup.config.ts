import { defineConfig } from "tsup";

/** JavaScript of each source in a file of its own, which scripts/chunks.mjs joins by what each door uses. */
export default defineConfig({
  entry: ["src/**/*.ts", "!src/**/*.d.ts"],
  format: "esm",
  platform: "neutral",
  target: "es2023",
  bundle: false,
  outDir: "dist",
  clean: true,
});
