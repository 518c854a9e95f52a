import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { modules, rootSubpath } from "./modules.mjs";

/**
 * The subpaths of the table of modules as the build, the test aliases, the documentation and the package tests use them.
 * `./dist/openai.js` is built from `src/providers/openai/index.ts`, with all declarations of the subpath beside it.
 *
 * @typedef {object} Entry
 * @property {string} subpath as in package.json: "." or "./openai"
 * @property {string} specifier as a user imports it: "sessile" or "sessile/openai"
 * @property {string} source relative to the root: "src/storage/files/index.ts"
 * @property {string} output relative to the root: "dist/openai.js"
 * @property {string} name of the output below dist, without extension: "openai"
 * @property {number} values how many values it exports
 * @property {string} limit of its size
 * @property {string} use what it is for
 * @property {boolean} node whether it may use Node's own modules
 * @property {boolean} page whether it is for pages: one file without imports, which scripts/viewer.mjs builds
 */

/** The root folder of the repository. */
export const root = fileURLToPath(new URL("..", import.meta.url));

/** @type {{ name: string }} */
const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));

/** @type {readonly Entry[]} */
export const entries = [rootSubpath, ...modules.flatMap(({ subpaths }) => subpaths)].map(
  ({ path, file, values, limit, use }) => ({
    subpath: path === "" ? "." : `./${path}`,
    specifier: path === "" ? manifest.name : `${manifest.name}/${path}`,
    source: `src/${file}.ts`,
    output: `dist/${path || "index"}.js`,
    name: path || "index",
    ...{ values, limit, use },
    node: file.split("/").includes("node"),
    page: path === "viewer",
  }),
);
