// Joins what tsup wrote into few files, since a file costs as much to load as some 30 kB of code: `npm run build` runs it.
// `sessile/node` has 7 files in place of 44 and loads in two thirds of the time (Node 24, fresh processes).
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { rollup } from "rollup";
import { parseAst } from "rollup/parseAst";
import { entries, root } from "./entries.mjs";

const doors = entries.filter(({ page }) => !page).map(({ name }) => name);

/** Expressions that a bundler takes for ones that may act. */
const acts = /^(Call|New|Member|Tagged|Spread|Binary)/;
/** What waits stays as it is: a program does, and no function of ours could. */
const awaits = /^Await/;

if (process.argv[1] === fileURLToPath(import.meta.url)) await joinChunks(join(root, "dist"));

/** @param {string} dist the folder that tsup wrote, which gets the fewer files */
export async function joinChunks(dist) {
  /** @param {string} name */
  const built = (name) => join(dist, `${name}.js`);
  const bundle = await rollup({
    input: Object.fromEntries([...doors, "cli/main"].map((name) => [name, built(name)])),
    external: (specifier) => !/^[./]/.test(specifier),
    treeshake: { moduleSideEffects: false },
  });
  /** @type {Map<string, string> | undefined} */
  let groups;
  const { output } = await bundle.generate({
    format: "es",
    minifyInternalExports: false,
    hoistTransitiveImports: false,
    chunkFileNames: "chunk-[hash].js",
    manualChunks: (id, { getModuleInfo }) => {
      groups ??= groupsOf(built, (one) => getModuleInfo(one) ?? { importedIds: [], code: "" });
      return groups.get(id);
    },
  });
  await bundle.close();
  await rm(dist, { recursive: true });
  for (const file of output) {
    const path = join(dist, file.fileName);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, file.type === "chunk" ? withPureVariables(file.code) : file.source);
  }
}

/**
 * The chunks of `sessile` and `sessile/node` in groups that a process loads together: a chunk's group is the set of kinds of
 * doors that reach it. What a chunk imports has the kinds of the chunk and maybe more, so that no circle arises.
 *
 * @param {(name: string) => string} built
 * @param {(id: string) => { readonly importedIds: readonly string[], readonly code: string | null }} info
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
  return new Map([...node, ...sessile].map((id) => [id, kindsOf(id)]));
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
