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

/** The number of values of each subpath. A new one needs a reason, and a line in the changelog. */
const valueCounts: Readonly<Record<string, number>> = {
  sessile: 32,
  "sessile/errors": 1,
  "sessile/content": 11,
  "sessile/media": 4,
  "sessile/estimate": 6,
  "sessile/limits": 4,
  "sessile/blobs": 7,
  "sessile/blobs/node": 1,
  "sessile/blobs/conformance": 1,
  "sessile/context-tokens": 10,
  "sessile/session": 13,
  "sessile/session/schema": 2,
  "sessile/session/node": 5,
  "sessile/session/repair": 2,
  "sessile/session/conformance": 1,
  "sessile/attachments": 17,
  "sessile/attachments/node": 1,
  "sessile/compaction": 19,
  "sessile/cost": 4,
  "sessile/projections": 10,
  "sessile/projections/anthropic": 3,
  "sessile/projections/openai": 7,
  "sessile/projections/gemini": 3,
  "sessile/projections/bedrock": 3,
  "sessile/projections/mcp": 1,
  "sessile/projections/acp": 1,
  "sessile/projections/claude-agent": 1,
  "sessile/projections/claude-agent/node": 2,
  "sessile/projections/ai-sdk": 3,
  "sessile/projections/codex": 1,
  "sessile/adapters/claude-agent": 1,
  "sessile/adapters/acp": 2,
  "sessile/adapters/ai-sdk": 6,
  "sessile/s3": 2,
  "sessile/r2": 1,
  "sessile/adapters/langgraph": 1,
  "sessile/adapters/openai-agents": 1,
  "sessile/sync": 3,
  "sessile/memory": 1,
  "sessile/tether": 16,
  "sessile/tether/schema": 6,
  "sessile/postgres": 4,
  "sessile/sqlite": 4,
  "sessile/interop": 6,
  "sessile/interop/claude-code": 1,
  "sessile/interop/codex": 1,
  "sessile/interop/gemini": 1,
  "sessile/interop/opencode": 1,
  "sessile/interop/atif": 1,
  "sessile/interop/node": 3,
  "sessile/viewer": 1,
};

describe.each(entries)("$specifier", ({ subpath, specifier, source, output, name, page }) => {
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

  it(`is built by ${page ? "scripts/viewer.mjs" : "tsup"}`, () => {
    expect(tsup).toHaveProperty("entry");
    const { entry } = tsup as { entry: Record<string, string> };
    expect(entry[name]).toBe(page ? undefined : source);
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

  it("exports as many values as the table has", async () => {
    expect(Object.keys(await load(source))).toHaveLength(valueCounts[specifier] ?? 0);
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
