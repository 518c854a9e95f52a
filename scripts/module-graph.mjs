import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { root } from "./entries.mjs";
import { modules } from "./modules.mjs";

/** The picture in architecture.md: which module imports which, read from the sources. */

const names = new Set(modules.map(({ name }) => name));

/**
 * The innermost folder of a file that is a module, else its first folder; undefined for the files of `src` itself.
 * @param {string} path `src/session/index.ts`
 */
export function moduleOf(path) {
  const folders = posix.dirname(path).split("/").slice(1);
  const found = folders.map((_, cut) => folders.slice(0, folders.length - cut).join("/"));
  return found.find((name) => names.has(name)) ?? folders[0];
}

/**
 * The modules that each module imports, types included.
 * @param {Iterable<readonly [path: string, text: string]>} files
 */
export function moduleImports(files) {
  /** @type {Map<string, Set<string>>} */
  const imports = new Map([...names].map((name) => [name, new Set()]));
  for (const [path, text] of files) {
    const own = imports.get(moduleOf(path) ?? "");
    for (const [, specifier = ""] of text.matchAll(/\b(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)) {
      const other = moduleOf(posix.join(posix.dirname(path), specifier));
      if (other !== undefined && other !== moduleOf(path)) own?.add(other);
    }
  }
  return imports;
}

/**
 * A Mermaid graph of imports without circles. An arrow that others imply is left out.
 * @param {ReadonlyMap<string, ReadonlySet<string>>} imports
 */
export function mermaid(imports) {
  /** @param {string} from @param {string} to @returns {boolean} */
  const reaches = (from, to) =>
    [...(imports.get(from) ?? [])].some((next) => next === to || reaches(next, to));
  const id = (/** @type {string} */ name) => name.replaceAll("/", "_");
  const lines = [...imports].map(([name, all]) => {
    const direct = [...all].filter((to) => ![...all].some((other) => other !== to && reaches(other, to)));
    const arrow = direct.length === 0 ? "" : ` --> ${direct.map(id).sort().join(" & ")}`;
    return `  ${id(name)}${name.includes("/") ? `["${name}"]` : ""}${arrow}`;
  });
  return `\`\`\`mermaid\nflowchart TD\n${lines.join("\n")}\n\`\`\`\n`;
}

export function sourceGraph() {
  const paths = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" });
  const sources = paths
    .filter((path) => /\.tsx?$/.test(path))
    .map((path) => `src/${path.replaceAll("\\", "/")}`);
  return mermaid(moduleImports(sources.map((path) => [path, readFileSync(join(root, path), "utf8")])));
}
