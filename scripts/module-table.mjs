import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { entries, root } from "./entries.mjs";
import { sourceGraph } from "./module-graph.mjs";
import { modules } from "./modules.mjs";

/**
 * Writes the parts of files that follow from the table of modules: `npm run modules`. With `--check` it writes nothing, and
 * fails if a part is stale.
 */

/** @param {string} text */
const camelCase = (text) => text.replace(/[/-](\w)/g, (_, letter) => letter.toUpperCase());

/**
 * @param {readonly string[]} names
 * @param {readonly (readonly string[])[]} rows
 */
const table = (names, rows) =>
  [names, names.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |\n`).join("");

const byLayer = [...modules].sort((a, b) => a.layer - b.layer);

/** @param {unknown} value */
const json = (value) => JSON.stringify(value, undefined, 2);

/**
 * The generated parts: the text around each is a pattern with the part as its second group.
 *
 * @type {readonly { path: string, place: RegExp, part: string }[]}
 */
const parts = [
  {
    path: "package.json",
    place: /(\n {2}"exports": )(\{.*?\n {2}\})(?=,)/s,
    part: json({
      ...Object.fromEntries(
        entries.map(({ subpath, name }) => [
          subpath,
          { types: `./dist/${name}.d.ts`, default: `./dist/${name}.js` },
        ]),
      ),
      "./package.json": "./package.json",
    }).replaceAll("\n", "\n  "),
  },
  {
    path: "tsconfig.json",
    place: /("paths": )(\{.*?\})/s,
    part: `{\n${entries.map(({ specifier, source }) => `      "${specifier}": ["./${source}"]`).join(",\n")}\n    }`,
  },
  {
    path: "test/consumer/use.ts",
    place: /(\n\n)((?:export \* as .*\n)+)/,
    part: entries
      .map(({ specifier }) => specifier)
      .sort()
      .map((specifier) => {
        const name = specifier === "sessile" ? "all" : camelCase(specifier.slice("sessile/".length));
        return `export * as ${name} from "${specifier}";\n`;
      })
      .join(""),
  },
  {
    path: "README.md",
    place: /(## Which module do I need\n\n)((?:\|.*\n)+)/,
    part: table(
      ["import", "for", "gzip"],
      entries
        .filter(({ subpath }) => subpath !== ".")
        .map(({ specifier, use, limit }) => [`\`${specifier}\``, use, limit]),
    ),
  },
  {
    path: "docs/contributing/architecture.md",
    place: /(## Layers\n\n)((?:\|.*\n)+)/,
    part: table(
      ["layer", "module", "owns", "does not know"],
      byLayer.map(({ layer, name, owns, ignores }) => [`${layer}`, name, owns, ignores]),
    ),
  },
  {
    path: "docs/contributing/architecture.md",
    place: /(<!-- imports of src, by npm run modules -->\n)(.*?)(?=<!-- end of imports -->)/s,
    part: sourceGraph(),
  },
];

/**
 * The files that have stale parts, as they should be.
 *
 * @param {(path: string) => string} read
 * @returns {ReadonlyMap<string, string>}
 */
export function staleFiles(read) {
  /** @type {Map<string, string>} */
  const texts = new Map();
  for (const { path, place, part } of parts) {
    const text = texts.get(path) ?? read(path);
    if (!place.test(text)) throw new Error(`${path}: expected a part like ${place}`);
    texts.set(
      path,
      text.replace(place, (_, before) => before + part),
    );
  }
  return new Map([...texts].filter(([path, text]) => text !== read(path)));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const stale = staleFiles((path) => readFileSync(join(root, path), "utf8"));
  const checks = process.argv.includes("--check");
  for (const [path, text] of stale) {
    if (!checks) writeFileSync(join(root, path), text);
    console.log(`${path}: ${checks ? "stale, run npm run modules" : "written"}`);
  }
  if (checks && stale.size > 0) process.exitCode = 1;
}
