import { existsSync, readFileSync } from "node:fs";
import { cp, readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/** Copies this repository's own README, manifest and sources: real files for an agent to work on. */
export async function copyProject(to: string): Promise<void> {
  const root = projectRoot(import.meta.dirname);
  for (const name of ["README.md", "package.json", "src"]) {
    if (existsSync(join(root, name))) await cp(join(root, name), join(to, name), { recursive: true });
  }
}

/** What there is to find out about a copy. */
export interface ProjectFacts {
  readonly name: string;
  readonly description: string;
  /** 0 without a README. */
  readonly readmeLines: number;
  /** Files below src that have the word. */
  readonly withSessileError: number;
  readonly sourceLines: number;
}

/** The facts, counted without a shell, to hold an agent's findings against. */
export async function projectFacts(copy: string): Promise<ProjectFacts> {
  const readme = join(copy, "README.md");
  const { name, description } = JSON.parse(await readFile(join(copy, "package.json"), "utf8"));
  const found = await readdir(join(copy, "src"), { recursive: true, withFileTypes: true });
  const files = found.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const texts = files.map((file) => ({ file, text: readFileSync(file, "utf8") }));
  return {
    name: String(name),
    description: String(description),
    readmeLines: existsSync(readme) ? readFileSync(readme, "utf8").split("\n").length : 0,
    withSessileError: texts.filter(({ text }) => text.includes("SessileError")).length,
    sourceLines: texts
      .filter(({ file }) => file.endsWith(".ts"))
      .reduce((lines, { text }) => lines + text.split("\n").length - 1, 0),
  };
}

/** The directory of this package, from its sources and from compiled code alike. */
function projectRoot(from: string): string {
  const manifest = join(from, "package.json");
  if (existsSync(manifest) && JSON.parse(readFileSync(manifest, "utf8")).name === "sessile") return from;
  if (dirname(from) === from) throw new Error("the package sessile is not above this file");
  return projectRoot(dirname(from));
}
