import { readFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { posix } from "node:path";
import ts from "typescript";
import { importsOf, type SourceFile } from "./layers.js";

/** What can be reached from one built file by following its imports. */
export interface Reach {
  /** The built files, the first included. */
  readonly files: readonly SourceFile[];
  /** The packages, Node's own modules included. */
  readonly packages: readonly string[];
}

/** Each file is looked at once: most chunks are those of many subpaths. */
function once<T>(look: (file: SourceFile) => T): (file: SourceFile) => T {
  const seen = new Map<string, T>();
  return (file) => {
    const key = `${file.path}\n${file.text}`;
    const found = seen.get(key) ?? look(file);
    seen.set(key, found);
    return found;
  };
}

const chunkImports = once(importsOf);

/** Follows the imports of a built file, `import()` included, to every chunk that it pulls in. */
export function reachOf(
  path: string,
  read: (path: string) => string = (p) => readFileSync(p, "utf8"),
): Reach {
  const files = new Map<string, SourceFile>();
  const packages = new Set<string>();
  const queue = [path];
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    if (files.has(next)) continue;
    const file = { path: next, text: read(next) };
    files.set(next, file);
    for (const { specifier } of chunkImports(file)) {
      if (specifier.startsWith(".")) queue.push(posix.join(posix.dirname(next), specifier));
      else packages.add(specifier);
    }
  }
  return { files: [...files.values()], packages: [...packages].sort() };
}

/** What of Node a built file needs: its modules, and the globals that browsers lack. */
export function nodeNeeds({ files, packages }: Reach): readonly string[] {
  const modules = packages.filter((name) => name.startsWith("node:") || builtinModules.includes(name));
  return [...modules, ...files.flatMap(nodeGlobals)];
}

const absentInBrowsers = new Set(["process", "Buffer", "require", "__dirname", "__filename", "setImmediate"]);

const nodeGlobals = once((file: SourceFile): readonly string[] => {
  const source = ts.createSourceFile(file.path, file.text, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) && absentInBrowsers.has(node.text) && !isMemberName(node)) {
      const line = source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
      found.push(`${node.text} (${posix.basename(file.path)}:${line})`);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
});

/** True for the `process` in `task.process`, `{ process: 1 }` and `process() {}`; `globalThis.process` is the global. */
function isMemberName(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent)) {
    return parent.name === node && parent.expression.getText() !== "globalThis";
  }
  return (
    (ts.isPropertyAssignment(parent) || ts.isMethodDeclaration(parent) || ts.isPropertyDeclaration(parent)) &&
    parent.name === node
  );
}

/** The built files that define a class of this name. More than one, and instanceof fails between subpaths. */
export function definitionsOf(name: string, files: readonly SourceFile[]): readonly string[] {
  const defines = (node: ts.Node): boolean =>
    // esbuild names a class `_Name` where its static members refer to it
    (ts.isClassLike(node) && (node.name?.text === name || node.name?.text === `_${name}`)) ||
    (ts.isVariableDeclaration(node) &&
      ts.isIdentifier(node.name) &&
      node.name.text === name &&
      node.initializer !== undefined &&
      ts.isClassExpression(node.initializer)) ||
    (ts.forEachChild(node, (child) => defines(child) || undefined) ?? false);
  return files
    .filter(({ path, text }) => defines(ts.createSourceFile(path, text, ts.ScriptTarget.Latest)))
    .map(({ path }) => path);
}
