import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "tsup";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { entries } from "../../scripts/entries.mjs";
import { type Built, buildPackage } from "../support/built.js";
import { nodeNeeds, reachOf } from "../support/chunks.js";

let built: Built;
beforeAll(async () => {
  built = await buildPackage();
});
afterAll(() => built?.[Symbol.dispose]());

/** The entries of `built`; test/viewer/page has that of a page. */
const chunked = entries.filter(({ page }) => !page);
const reach = (name: string) => reachOf(join(built.dir, `${name}.js`));

describe("the built package", () => {
  it.each(chunked.filter(({ node }) => !node))("runs without Node: $specifier", ({ name }) => {
    expect(nodeNeeds(reach(name))).toEqual([]);
  });

  it.each(chunked.filter(({ node }) => node))("names Node's modules with node: $specifier", ({ name }) => {
    const needs = nodeNeeds(reach(name)).filter((need) => !need.includes(" ("));
    expect(needs.length).toBeGreaterThan(0);
    expect(needs.filter((need) => !need.startsWith("node:"))).toEqual([]);
  });

  it.each(chunked.filter(({ name }) => !name.endsWith("schema")))(
    "leaves out zod: $specifier",
    ({ name }) => {
      expect(reach(name).packages).not.toContain("zod");
    },
  );

  const atImport = (path: string) => readFileSync(path, "utf8").replaceAll(/\bimport\(/g, "later(");

  it.each(chunked)("loads few files: $specifier", ({ name }) => {
    // A turn has the models of all providers.
    const most = { index: 11, node: 9, turn: 31 }[name] ?? 18;
    expect(reachOf(join(built.dir, `${name}.js`), atImport).files.length).toBeLessThanOrEqual(most);
  });

  it("loads a command of the program when it is called, and not for the help of all", () => {
    const { files, packages } = reachOf(join(built.dir, "cli/main.js"), atImport);
    const sources = files.flatMap(({ text }) =>
      [...text.matchAll(/^\/\/ (src\/.*)$/gm)].map(([, path]) => path),
    );
    expect(sources).toContain("src/cli/help.ts");
    expect(
      sources.filter(
        (path) =>
          !/^src\/(?:cli\/[^/]+|cli\/commands\/index|core\/errors\/\w+|core\/text)\.ts$/.test(path ?? ""),
      ),
    ).toEqual([]);
    expect(packages.filter((each) => !each.startsWith("node:"))).toEqual([]);
  });

  it("starts as a program, and each of its doors is loaded", () => {
    const node = (...args: readonly string[]) => {
      const { status, stdout, stderr } = spawnSync(process.execPath, args, {
        cwd: built.dir,
        encoding: "utf8",
      });
      return [status, stdout, stderr];
    };
    expect(node("cli/main.js", "ls", "--help")).toEqual([0, expect.stringContaining("sessile ls"), ""]);
    const names = chunked.map(({ name }) => `./${name}.js`);
    const load = `await Promise.all(${JSON.stringify(names)}.map((name) => import(name)));`;
    writeFileSync(join(built.dir, "all.mjs"), load);
    expect(node("all.mjs")).toEqual([0, "", ""]);
  });

  it("bundles no digests with the session backend of SQLite alone", async () => {
    const source = join(built.dir, "alone.mjs");
    writeFileSync(source, 'export { sqliteSessionBackend } from "./sqlite.js";\n');
    const outDir = join(built.dir, "alone");
    await build({
      entry: [source],
      outDir,
      format: ["esm"],
      external: [/^@noble/],
      treeshake: true,
      config: false,
      silent: true,
      dts: false,
    });
    const text = readFileSync(join(outDir, readdirSync(outDir)[0] as string), "utf8");
    expect(text).toContain("sqliteSessionBackend");
    expect(text).not.toMatch(/class BackedBlobStore|from "@noble/);
  });

  it("has zod where it validates", () => {
    expect(reach("schema").packages).toContain("zod");
  });
});

describe("nodeNeeds", () => {
  const needs = (files: Record<string, string>) => nodeNeeds(reachOf("d/a.js", (path) => files[path] ?? ""));

  it("follows imports through chunks", () => {
    const files = {
      "d/a.js": `export { x } from "./sub/b.js";`,
      "d/sub/b.js": `import "../c.js"; export const x = 1;`,
      "d/c.js": `import { open } from "node:fs/promises"; open(process.cwd()); import("./a.js");`,
    };
    expect(needs(files)).toEqual(["node:fs/promises", "process (c.js:1)"]);
  });

  it.each([
    `import fs from "fs";`,
    `const lazily = () => import("node:fs");`,
    `const bytes = Buffer.from("");`,
    `if (typeof process !== "undefined") run();`,
    `const env = globalThis.process?.env;`,
  ])("reports %s", (text) => {
    expect(needs({ "d/a.js": text })).toHaveLength(1);
  });

  it("does not report members and text", () => {
    const text = `task.process(); const t = { Buffer: 1, process() {} }; "process"; // Buffer`;
    expect(needs({ "d/a.js": text })).toEqual([]);
  });
});
