import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { pathToFileURL } from "node:url";
import { entries, root } from "./entries.mjs";

/**
 * Runs the tests of units and of the system that reach a file that changed since main, and names the other stages that do:
 * `npm run affected`. `-- --list` only prints the files of each stage; `-- BASE` compares with another commit. `vitest
 * --changed` takes 40 s to find them (2 cores), and misses tests that start a process or read a file.
 */

/** What every test depends on. */
const common = ["package-lock.json", "tsconfig.json", "vitest.config.ts", "test/support/setup.ts"];
/** A file that loads or reads others. */
const program = /\.(?:ts|tsx|mjs)$/;
/** Types are gone at run time, and comments name what they like. */
const unread = /^(?:import|export) type [^;]*? from "[^"]+";$|^\s*(?:\/\*|\*|\/\/).*$/gm;
/** What a module loads, and the paths that a test or a script names: with a slash, or below the root. */
const imported = /(?:from|import|\.mock\()\s*\(?"([^"\n]+)"/g;
const quoted = /["'`](\.{0,2}[\w@./-]*\/[\w@./-]*)["'`]/g;
const fromRoot = /\broot, "([^"\n]+)"/g;

const sourceOf = new Map(entries.map(({ specifier, source }) => [specifier, source]));

/**
 * The files that reach one of `changed`, over any number of others. A file reaches those that its text names: by a
 * specifier of the library, or by a path from itself or from the root, which may be a folder.
 *
 * @param {readonly string[]} paths of all files, from the root
 * @param {readonly string[]} changed
 * @param {(path: string) => string} read
 * @returns {ReadonlySet<string>} `changed` included
 */
export function reaching(paths, changed, read) {
  const known = new Set([...paths, ...changed]);
  /** @type {Map<string, string[]>} */
  const namedBy = new Map();
  for (const path of paths.filter((name) => program.test(name))) {
    const text = read(path).replaceAll(unread, "");
    for (const pattern of path.startsWith("src/") ? [imported] : [imported, quoted, fromRoot]) {
      for (const [, name = ""] of text.matchAll(pattern)) {
        const target = (pattern === imported && sourceOf.get(name)) || targetOf(path, name);
        namedBy.set(target, [...(namedBy.get(target) ?? []), path]);
      }
    }
  }
  const reached = new Set(changed);
  for (const path of reached) {
    for (const name of [path, ...foldersOf(path)]) {
      for (const by of namedBy.get(name) ?? []) reached.add(by);
    }
  }
  return reached;

  /**
   * A file, a folder, or no path.
   *
   * @param {string} path
   * @param {string} name
   */
  function targetOf(path, name) {
    const target = name.startsWith(".") ? posix.join(posix.dirname(path), name) : name;
    const modules = [".ts", ".tsx"].map((ending) => target.replace(/\.js$/, ending));
    return [target, ...modules].find((each) => known.has(each)) ?? target.replace(/\/$/, "");
  }
}

/** @param {string} path */
function foldersOf(path) {
  const parts = path.split("/").slice(0, -1);
  return parts.map((_, at) => parts.slice(0, at + 1).join("/"));
}

/**
 * @param {string} file
 * @param {readonly string[]} args
 */
function lines(file, ...args) {
  const text = execFileSync(file, args, { cwd: root, encoding: "utf8", maxBuffer: 2 ** 26 });
  return text.split("\n").filter(Boolean);
}

function main() {
  const [base = "main"] = process.argv.slice(2).filter((arg) => !arg.startsWith("-"));
  const [start = base] = lines("git", "merge-base", base, "HEAD");
  const untracked = lines("git", "ls-files", "--others", "--exclude-standard");
  const changed = [...lines("git", "diff", "--name-only", start), ...untracked];
  const paths = [...lines("git", "ls-files", "--cached"), ...untracked];
  const deleted = new Set(lines("git", "ls-files", "--deleted"));
  const present = paths.filter((path) => !deleted.has(path));
  const all = changed.some((path) => common.includes(path));
  const reached = all
    ? new Set(paths)
    : reaching(present, changed, (path) => readFileSync(join(root, path), "utf8"));

  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  /** @type {Map<string, { own: string[], count: number }>} */
  const projects = new Map();
  for (const line of lines(process.execPath, vitest, "list", "--filesOnly")) {
    const [, project = "", path = ""] = /^\[(.+?)\] (.+)$/.exec(line) ?? [];
    const found = projects.get(project) ?? { own: [], count: 0 };
    found.count++;
    if (reached.has(path)) found.own.push(path);
    projects.set(project, found);
  }
  const isListing = process.argv.includes("--list");
  console.log(`${changed.length} files changed since ${base}`);
  for (const [project, { own, count }] of projects) {
    console.log(`${project}: ${own.length} of ${count} files`);
    if (isListing) for (const path of own) console.log(`  ${path}`);
  }
  for (const [stage, pattern] of stages) {
    if ([...reached].some((path) => pattern.test(path))) console.log(`${stage}: reached`);
  }
  const run = ["unit", "system"].flatMap((project) => projects.get(project)?.own ?? []);
  if (isListing || run.length === 0) return;
  const { status } = spawnSync(
    process.execPath,
    [vitest, "run", "--project", "unit", "--project", "system", ...run],
    { cwd: root, stdio: "inherit" },
  );
  process.exitCode = status ?? 1;
}

/** Stages of .ci/run beside vitest's projects, by a file that they run or read. */
const stages = /** @type {const} */ ([
  ["npm run check", /^(?:src|scripts|test|examples)\/|^[^/]+\.(?:json|ts|mjs)$/],
  ["npm run examples", /^examples\/[^/]+\.ts$/],
  ["npm run test:runtimes", /^test\/runtimes\//],
  ["npm run peers", /^bench\/peers\//],
  ["npm run docs", /^(?:src|docs)\//],
]);

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) main();
