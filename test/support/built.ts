import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "tsup";
import { buildChunks } from "../../scripts/chunks.mjs";
import { root } from "../../scripts/entries.mjs";
import config from "../../tsup.config.js";

/** The built JavaScript of the package, in a folder of its own. */
export interface Built extends Disposable {
  readonly dir: string;
}

/**
 * Builds the JavaScript as `npm run build` does, without declarations. Always afresh, since a `dist` that lies there may be
 * older than the sources; below node_modules, so that the chunks find their dependencies and vitest leaves them as they are.
 */
export async function buildPackage(): Promise<Built> {
  if (typeof config !== "object" || Array.isArray(config))
    throw new TypeError("tsup.config.ts: expected one object");
  const cache = join(root, "node_modules", ".cache");
  mkdirSync(cache, { recursive: true });
  const dir = mkdtempSync(join(cache, "sessile-"));
  await build({ ...config, config: false, outDir: dir, silent: true });
  await buildChunks(dir);
  // As in the package: without it, Node parses each file twice to find out that it is a module.
  writeFileSync(join(dir, "package.json"), JSON.stringify({ type: "module", sideEffects: false }));
  return { dir, [Symbol.dispose]: () => rmSync(dir, { recursive: true, force: true }) };
}
