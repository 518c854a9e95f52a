import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/**
 * The subpaths of the library, read from the `exports` of package.json: the one list that the build, the test aliases,
 * the documentation and the package tests share. `./dist/a/b.js` is built from `src/a/b.ts`.
 *
 * @typedef {object} Entry
 * @property {string} subpath as in package.json: "." or "./session/node"
 * @property {string} specifier as a user imports it: "sessile" or "sessile/session/node"
 * @property {string} source relative to the root: "src/session/node/index.ts"
 * @property {string} output relative to the root: "dist/session/node/index.js"
 * @property {string} name of the output below dist, without extension: "session/node/index"
 * @property {boolean} node whether it may use Node's own modules
 * @property {boolean} page whether it is for pages: one file without imports, which scripts/viewer.mjs builds
 */

/** The root folder of the repository. */
export const root = fileURLToPath(new URL("..", import.meta.url));

/** @type {{ name: string, exports: Record<string, string | { types: string, default: string }> }} */
const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));

/** @type {readonly Entry[]} */
export const entries = Object.entries(manifest.exports).flatMap(([subpath, target]) => {
  if (typeof target === "string") return []; // package.json itself
  const match = /^\.\/dist\/(.+)\.js$/.exec(target.default);
  if (!match?.[1]) throw new Error(`exports["${subpath}"]: expected ./dist/NAME.js, got ${target.default}`);
  const name = match[1];
  return {
    subpath,
    specifier: manifest.name + subpath.slice(1),
    source: `src/${name}.ts`,
    output: `dist/${name}.js`,
    name,
    node: name.split("/").includes("node"),
    page: name === "viewer/index",
  };
});
