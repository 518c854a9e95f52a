import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { entries, root } from "../../scripts/entries.mjs";
import tsup from "../../tsup.config.js";
import { importsOf, rootModules } from "../support/layers.js";
import { promisedNames } from "../support/promised.js";

const read = (path: string): string => readFileSync(join(root, path), "utf8");
const load = (source: string): Promise<object> => import(pathToFileURL(join(root, source)).href);

describe.each(entries)("$specifier", ({ subpath, specifier, source, output, name }) => {
  it("has types first, beside its JavaScript", () => {
    const target = JSON.parse(read("package.json")).exports[subpath];
    expect(Object.entries(target)).toEqual([
      ["types", `./dist/${name}.d.ts`],
      ["default", `./dist/${name}.js`],
    ]);
  });

  it("is compiled without Node's types by `npm run check`", () => {
    expect(read("test/consumer/use.ts")).toContain(` from "${specifier}";`);
  });

  it("has a source", () => {
    expect(existsSync(join(root, source))).toBe(true);
  });

  it("is built by tsup", () => {
    expect(tsup).toHaveProperty("entry");
    const { entry } = tsup as { entry: Record<string, string> };
    expect(entry[name]).toBe(source);
  });

  it("is documented by typedoc", () => {
    const typedoc: { entryPoints: string[] } = JSON.parse(read("typedoc.json"));
    expect(typedoc.entryPoints).toContain(source);
  });

  it("has a size limit", () => {
    const limits: { name: string; path: string }[] = JSON.parse(read(".size-limit.json"));
    expect(limits.filter((limit) => limit.name === specifier).map(({ path }) => path)).toEqual([output]);
  });

  it("exports every name that it promises", async () => {
    expect(Object.keys(await load(source))).toEqual(
      expect.arrayContaining([...(promisedNames[specifier] ?? [])]),
    );
  });
});

describe("sessile", () => {
  it("has every subpath that promises names", () => {
    const specifiers = entries.map(({ specifier }) => specifier);
    expect(specifiers).toEqual(expect.arrayContaining(Object.keys(promisedNames)));
  });

  it("is typed from the sources in tests and examples", () => {
    const { config } = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile);
    const paths = Object.fromEntries(entries.map(({ specifier, source }) => [specifier, [`./${source}`]]));
    expect(config.compilerOptions.paths).toEqual(paths);
  });

  it("passes on what the modules of the root export, and nothing else", async () => {
    const text = read("src/index.ts");
    const modules = importsOf({ path: "src/index.ts", text }).map(({ specifier }) => specifier);
    const allowed = rootModules.map((module) => `./${module}/index.js`);
    expect(modules.filter((specifier) => !allowed.includes(specifier))).toEqual([]);

    const { statements } = ts.createSourceFile("index.ts", text, ts.ScriptTarget.Latest);
    expect(statements.every((statement) => ts.isExportDeclaration(statement))).toBe(true);

    const parts = await Promise.all(
      ["src/blobs/index.ts", "src/content/index.ts", "src/session/index.ts"].map(load),
    );
    const names = [...parts.flatMap((part) => Object.keys(part)), "project"].sort();
    expect(Object.keys(await load("src/index.ts")).sort()).toEqual(names);
  });
});
