import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../../scripts/entries.mjs";
import { importsOf } from "../support/layers.js";

const read = (path: string): string => readFileSync(join(root, path), "utf8");
const linesOf = (path: string): number => read(path).split("\n").length - 1;
const programs = readdirSync(join(root, "examples"))
  .filter((name) => /^\d\d-.+\.ts$/.test(name))
  .map((name) => `examples/${name}`);

/** Programs on the code of an application, which has a page of its own. */
const onApplications: Readonly<Record<string, string>> = {
  "examples/06-snapshots.ts": "examples/apps/git-snapshots/",
};

/** The files of the repository that a program imports, with those that they import. */
function supportOf(program: string): readonly string[] {
  const found = new Set<string>();
  const add = (path: string) => {
    for (const { specifier } of importsOf({ path, text: read(path) })) {
      if (!specifier.startsWith(".")) continue;
      const file = posix.join(dirname(path), specifier.replace(/\.js$/, ".ts"));
      if (found.has(file) || file.startsWith(onApplications[program] ?? "none")) continue;
      found.add(file);
      add(file);
    }
  };
  add(program);
  return [...found].sort();
}

describe("an example is a template", () => {
  it("with a row in the table", () => {
    const names = programs.map((path) => path.slice("examples/".length, -".ts".length));
    expect(names.map((name) => Number(name.slice(0, 2)))).toEqual(programs.map((_, at) => at + 1));
    const readme = read("README.md");
    for (const name of names) expect(readme).toContain(`\`${name}\``);
    const table = read("examples/README.md");
    for (const path of programs) expect(table).toContain(`](${path.slice("examples/".length)})`);
    const apps = readdirSync(join(root, "examples/apps"), { withFileTypes: true });
    const folders = apps
      .filter((entry) => entry.isDirectory() && entry.name !== "support")
      .map(({ name }) => name);
    for (const name of folders) expect(table).toContain(`](apps/${name})`);
  });

  it.each(programs)("%s stands on the library and at most 168 lines of support", (program) => {
    const support = supportOf(program);
    for (const path of support) expect(path).toMatch(/^examples\/support\/[\w-]+\.ts$/);
    expect(support.reduce((sum, path) => sum + linesOf(path), 0)).toBeLessThanOrEqual(168);
    expect(linesOf(program)).toBeLessThanOrEqual(250);
  });

  it("and there is no support that none imports", () => {
    const used = new Set(programs.flatMap(supportOf));
    const files = readdirSync(join(root, "examples/support")).map((name) => `examples/support/${name}`);
    expect(files.filter((path) => !used.has(path))).toEqual([]);
  });
});
