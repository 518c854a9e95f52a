import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import ts from "typescript";
import { describe, expect, it, test } from "vitest";
import { sources } from "../../scripts/chunks.mjs";
import { entries, root } from "../../scripts/entries.mjs";
import { staleFiles } from "../../scripts/module-table.mjs";
import { importsOf, rootModules } from "../support/layers.js";
import { promisedNames } from "../support/promised.js";

const read = (path: string): string => readFileSync(join(root, path), "utf8");
const load = (source: string): Promise<object> => import(pathToFileURL(join(root, source)).href);

describe.each(entries)("$specifier", ({ specifier, source, name, values, page }) => {
  it("has a source", () => {
    expect(existsSync(join(root, source))).toBe(true);
  });

  it(`is built by ${page ? "scripts/viewer.mjs" : "scripts/chunks.mjs"}`, () => {
    expect((sources as Record<string, string>)[name]).toBe(page ? undefined : source);
  });

  it("exports every name that it promises", async () => {
    expect(Object.keys(await load(source))).toEqual(
      expect.arrayContaining([...(promisedNames[specifier] ?? [])]),
    );
  });

  it("exports as many values as the table has", async () => {
    expect(Object.keys(await load(source))).toHaveLength(values);
  });
});

describe("the files that follow from the table of modules", () => {
  it("are what `npm run modules` writes", () => {
    expect([...staleFiles(read).keys()]).toEqual([]);
  });

  it.each([
    ["package.json", '"./dist/openai.d.ts"', '"./dist/providers/index.d.ts"'],
    ["tsconfig.json", '"sessile/node": ["./src/node.ts"],', ""],
    ["test/consumer/use.ts", 'export * as node from "sessile/node";\n', ""],
    ["README.md", "| `sessile/node` |", "| `sessile/files` |"],
    ["docs/contributing/architecture.md", "| 5 | session |", "| 4 | session |"],
  ])("are stale if %s has another row than %s", (path, part, other) => {
    expect(read(path)).toContain(part);
    const changed = (name: string) => (name === path ? read(name).replace(part, other) : read(name));
    expect([...staleFiles(changed)]).toEqual([[path, read(path)]]);
  });
});

describe("sessile", () => {
  it("has every subpath that promises names", () => {
    const specifiers = entries.map(({ specifier }) => specifier);
    expect(specifiers).toEqual(expect.arrayContaining(Object.keys(promisedNames)));
  });

  it.each(Object.entries(rootModules))(
    "%s passes on what modules export, and nothing else",
    async (file, allowed) => {
      const text = read(file);
      const targets = importsOf({ path: file, text }).map(({ specifier }) => specifier);
      const isAllowed = (specifier: string) => allowed.some((module) => specifier.startsWith(`./${module}/`));
      expect(targets.filter((specifier) => !isAllowed(specifier))).toEqual([]);

      const { statements } = ts.createSourceFile("index.ts", text, ts.ScriptTarget.Latest);
      expect(statements.every((statement) => ts.isExportDeclaration(statement))).toBe(true);

      const parts = await Promise.all(
        targets.map((target) => load(`src/${target.slice(2).replace(/js$/, "ts")}`)),
      );
      const names = parts.flatMap((part) => Object.keys(part)).sort();
      expect(Object.keys(await load(file)).sort()).toEqual(names);
    },
  );
});

/** Most exported names of all subpaths. A door adds one or two; else they only fall. The goals are 150 and 350. */
const limits = { values: 235, types: 380 };

test("the subpaths export at most so many values and types", () => {
  const options = { module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext };
  const program = ts.createProgram(
    entries.map(({ source }) => join(root, source)),
    { ...options, noLib: true, types: [], jsx: ts.JsxEmit.ReactJSX },
  );
  const checker = program.getTypeChecker();
  const counted = { values: new Set<string>(), types: new Set<string>() };
  for (const { source } of entries) {
    const file = program.getSourceFile(join(root, source));
    const module = file && checker.getSymbolAtLocation(file);
    for (const name of module === undefined ? [] : checker.getExportsOfModule(module)) {
      const target = name.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(name) : name;
      counted[target.flags & ts.SymbolFlags.Value ? "values" : "types"].add(name.name);
    }
  }
  for (const kind of ["values", "types"] as const) {
    expect(counted[kind].size).toBeLessThanOrEqual(limits[kind]);
    expect(counted[kind].size).toBeGreaterThan(limits[kind] * 0.95);
  }
});
