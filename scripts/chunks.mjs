// Joins the JavaScript of the sources, which tsup wrote into a folder, to the files of the package there: each door with few
// files that it shares with others, since a file costs as much to load as some 30 kB of code. `npm run build` runs both.
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { rollup } from "rollup";
import { parseAst } from "rollup/parseAst";
import { entries, root } from "./entries.mjs";

/** The sources of what is built, by names below the folder: the doors, and the executable of the package. */
export const sources = {
  ...Object.fromEntries(entries.filter(({ page }) => !page).map(({ name, source }) => [name, source])),
  "cli/main": "src/cli/main.ts",
};
const doors = Object.keys(sources).filter((name) => name !== "cli/main");

/** Characters of a chunk that is joined with others of its kind. */
const rowSize = 6000;

/** Expressions that a bundler takes for ones that may act. */
const acts = /^(Call|New|Member|Tagged|Spread|Binary)/;
/** What waits stays as it is: a program does, and no function of ours could. */
const awaits = /^Await/;

const common = /** @type {const} */ ({
  external: (/** @type {string} */ specifier) => !/^[./]/.test(specifier),
  treeshake: { moduleSideEffects: false },
  onwarn: () => undefined,
});
const shape = /** @type {const} */ ({
  format: "es",
  minifyInternalExports: false,
  hoistTransitiveImports: false,
  chunkFileNames: "chunk-[hash].js",
});

if (process.argv[1] === fileURLToPath(import.meta.url))
  await buildChunks(resolve(process.argv[2] ?? join(root, "dist")));

/** @param {string} dist the folder with the JavaScript of each source, whose files it replaces */
export async function buildChunks(dist) {
  const split = await splitSources(dist);
  /** @param {string} name */
  const built = (name) => join(root, `${name}.js`);
  const bundle = await rollup({
    ...common,
    input: Object.fromEntries(Object.keys(sources).map((name) => [name, built(name)])),
    plugins: [
      {
        name: "split",
        resolveId: (specifier, importer) => {
          if (importer === undefined) return specifier;
          return /^\.\.?\//.test(specifier) ? join(dirname(importer), specifier) : undefined;
        },
        load: (id) => split.get(relative(root, id)),
      },
    ],
  });
  /** @type {Map<string, string> | undefined} */
  let groups;
  const { output } = await bundle.generate({
    ...shape,
    manualChunks: (id, { getModuleInfo }) => {
      groups ??= groupsOf(
        built,
        (one) => getModuleInfo(one) ?? { importedIds: [], dynamicallyImportedIds: [], code: "" },
      );
      return groups.get(id);
    },
  });
  await bundle.close();
  await rm(dist, { recursive: true, force: true });
  for (const file of output) {
    const path = join(dist, file.fileName);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, file.type === "chunk" ? withPureVariables(file.code) : file.source);
  }
}

/**
 * The sources in the most chunks that doors and later imports tell apart, by their names. A door reaches the files that have
 * what it uses, and not those that an index between them names too.
 *
 * @param {string} dist
 */
async function splitSources(dist) {
  const bundle = await rollup({
    ...common,
    input: Object.fromEntries(
      Object.entries(sources).map(([name, source]) => [
        name,
        join(dist, source.replace(/^src\//, "").replace(/\.ts$/, ".js")),
      ]),
    ),
    plugins: [
      {
        name: "sources",
        resolveId: (specifier, importer) =>
          /^\.\.?\//.test(specifier) && importer ? resolve(dirname(importer), specifier) : undefined,
      },
    ],
  });
  const { output } = await bundle.generate(shape);
  await bundle.close();
  /** @type {Map<string, string>} */
  const split = new Map();
  for (const file of output) {
    if (file.type !== "chunk") continue;
    let code = "";
    let rest = file.code;
    for (const [id, { code: own }] of Object.entries(file.modules)) {
      const at = own ? rest.indexOf(own) : -1;
      if (own === null || at < 0) continue;
      // Tests and readers of the package see where code comes from.
      code += `${rest.slice(0, at)}// src/${relative(dist, id).replace(/\.js$/, ".ts")}\n${own}`;
      rest = rest.slice(at + own.length);
    }
    split.set(file.fileName, code + rest);
  }
  return split;
}

/**
 * The chunks of `sessile` and `sessile/node` in groups that a process loads together: a chunk's group is the set of kinds of
 * doors that reach it. What a chunk imports has the kinds of the chunk and maybe more, so that no circle arises.
 *
 * @param {(name: string) => string} built
 * What is loaded when it is needed stays alone: its first user would load the rest of a group with it.
 *
 * @param {(id: string) => { readonly importedIds: readonly string[], readonly dynamicallyImportedIds: readonly string[],
 *   readonly code: string | null }} info
 */
function groupsOf(built, info) {
  /** @param {string} name */
  const reached = (name) => {
    const ids = new Set([built(name)]);
    for (const id of ids) for (const imported of info(id).importedIds) ids.add(imported);
    ids.delete(built(name));
    return ids;
  };
  /** @param {ReadonlySet<string>} ids */
  const size = (ids) => [...ids].reduce((sum, id) => sum + (info(id).code?.length ?? 0), 0);
  const [start, sessile, node] = [reached("cli/main"), reached("index"), reached("node")];
  const providers = ["anthropic", "openai", "gemini", "bedrock"].map(reached);
  const light = doors.map(reached).filter((ids) => size(ids) < size(sessile) / 3);
  // Databases run without Node's modules.
  const others = entries.filter((entry) => !entry.node && !entry.page).map(({ name }) => reached(name));
  /** @param {string} id */
  const kindsOf = (id) => {
    if (start.has(id)) return "start";
    const among = (/** @type {readonly ReadonlySet<string>[]} */ sets) => sets.some((ids) => ids.has(id));
    const kinds = {
      providers: among(providers),
      light: among(light),
      sessile: sessile.has(id),
      node: node.has(id),
    };
    const shared = !kinds.sessile && among(others);
    return JSON.stringify({ ...kinds, shared });
  };
  // Rows of the table of agents, each in a file of its own otherwise.
  const rows = [...reached("interop")].filter((id) => size(new Set([id])) < rowSize);
  const later = new Set([...node, ...sessile].flatMap((id) => info(id).dynamicallyImportedIds));
  return new Map([
    ...rows.map((id) => /** @type {const} */ ([id, "rows"])),
    ...[...node, ...sessile].map((id) => /** @type {const} */ ([id, kindsOf(id)])),
    // Without a name of its own a file goes with whoever imports it.
    ...[...later].map((id) => /** @type {const} */ ([id, id])),
  ]);
}

/**
 * The code with each variable of the file annotated as pure, as `sideEffects` of package.json has it for files: a bundler
 * drops what a user of one door does not need. Within the function a bundler does not look for reads of members.
 *
 * @param {string} code
 */
function withPureVariables(code) {
  /** @type {[at: number, text: string][]} */
  const insertions = [];
  for (const statement of parseAst(code).body)
    if (statement.type === "VariableDeclaration")
      for (const { init } of statement.declarations) {
        if (!init || !has(init, acts) || has(init, awaits)) continue;
        const { start, end } = /** @type {typeof init & { start: number, end: number }} */ (init);
        insertions.push([start, "/* @__PURE__ */ (() => ("], [end, "))()"]);
      }
  let annotated = code;
  for (const [at, text] of insertions.reverse())
    annotated = `${annotated.slice(0, at)}${text}${annotated.slice(at)}`;
  return annotated;
}

/**
 * @param {unknown} node
 * @param {RegExp} kind
 * @returns {boolean} whether an expression has one of a kind, outside of functions and classes
 */
function has(node, kind) {
  if (typeof node !== "object" || node === null) return false;
  const { type } = /** @type {{ type?: string }} */ (node);
  if (type !== undefined && /Function|Class/.test(type)) return false;
  return kind.test(type ?? "") || Object.values(node).some((value) => has(value, kind));
}
