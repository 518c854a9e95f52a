import { builtinModules } from "node:module";
import { posix } from "node:path";
import ts from "typescript";
import { moduleOf } from "../../scripts/module-graph.mjs";
import { modules } from "../../scripts/modules.mjs";

/** The modules of the library, each with its layer. A module imports from lower layers only; 8 holds the edges. */
export const layers: Readonly<Record<string, number>> = Object.fromEntries(
  modules.map(({ name, layer }) => [name, layer]),
);

/** The modules that the files of `src` itself may pass on, by file. */
export const rootModules: Readonly<Record<string, readonly string[]>> = {
  "src/index.ts": ["content", "session", "blobs", "providers"],
  "src/node.ts": ["storage/files", "agents"],
  "src/schema.ts": ["log", "tether"],
};

/**
 * The chapters of src/session, in order: folders of it. A file imports from its own and from earlier chapters
 * only; `api` may name types of later ones. The files of the folder itself belong to no chapter.
 */
export const sessionChapters: readonly string[] = ["api", "tree", "context", "runtime", "store"];

/**
 * Modules whose folders are modules of their own, each an entry point. They share the folder `shared` and these
 * files, which import none of them.
 */
const dividedModules: Readonly<Record<string, readonly string[]>> = { frameworks: [], agents: ["types.ts"] };
const sharedFolder = "shared";
/** Folders that may import the files of their divided module: they use it as a caller does. */
const drivers: ReadonlySet<string> = new Set(["node", "atif"]);
/** Files that name the folders of their divided module: a row each. */
const tables: ReadonlySet<string> = new Set(["src/agents/table.ts"]);

/** A file of the library: its path from the root of the repository, with forward slashes, and its text. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

export type LayerRule =
  | "unknown module" // a folder in src that the table does not have
  | "node in core" // Node's own modules outside node.ts and node/
  | "node file from core" // a core file imports a file that may use them
  | "upward" // a module of a higher layer
  | "sideways" // another module of the same layer
  | "later chapter" // of src/session, in another order than its chapters have
  | "between siblings" // another folder of a module whose folders stand alone, such as another framework
  | "inner file" // a file of another module that is neither an entry point nor its internal.ts
  | "root" // the root passes on a module that it should not
  | "by name" // a source imports the library by its name, which would get around the other rules
  | "validator"; // zod outside a schema.ts

export interface LayerViolation {
  readonly rule: LayerRule;
  readonly path: string;
  readonly line: number;
  readonly specifier: string;
}

/** True for files that may use Node's own modules: `node.ts`, all in a folder `node`, stores in files, the command line. */
function isNodeFile(path: string): boolean {
  return /(^|\/)node(\.ts$|\/)|^src\/(?:cli|storage\/files)\//.test(path);
}

/**
 * Checks every import of the sources, type imports and `import()` included, against the layers.
 *
 * @param files the sources, `src/…`
 * @param entryPoints the source files that are entry points of the package: what other modules may import, besides a
 *   module's own `index.ts` and `internal.ts`. The files of `core` are open to all.
 */
export function checkLayers(
  files: readonly SourceFile[],
  entryPoints: readonly string[],
): readonly LayerViolation[] {
  return files.flatMap((file) => {
    const own = moduleOf(file.path);
    if (own !== undefined && layers[own] === undefined) {
      return [{ rule: "unknown module", path: file.path, line: 1, specifier: own } as const];
    }
    return importsOf(file).flatMap(({ specifier, line, typeOnly }) => {
      const rule = specifier.startsWith(".")
        ? checkRelative(file.path, resolve(file.path, specifier), typeOnly, entryPoints)
        : checkPackage(file.path, specifier);
      return rule === undefined ? [] : [{ rule, path: file.path, line, specifier }];
    });
  });
}

/** An import, export or `import()` of a file. */
interface ImportOf {
  readonly specifier: string;
  readonly line: number;
  /** It names types alone, so that it is gone from the JavaScript. */
  readonly typeOnly: boolean;
}

/** Every module specifier that a file imports or exports from, with its line. */
export function importsOf(file: SourceFile): readonly ImportOf[] {
  const source = ts.createSourceFile(file.path, file.text, ts.ScriptTarget.Latest);
  const found: ImportOf[] = [];
  const visit = (node: ts.Node): void => {
    const target = importedFrom(node);
    if (target !== undefined && ts.isStringLiteralLike(target)) {
      const line = source.getLineAndCharacterOfPosition(target.getStart(source)).line + 1;
      found.push({ specifier: target.text, line, typeOnly: isTypeOnly(node) });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function isTypeOnly(node: ts.Node): boolean {
  if (ts.isImportTypeNode(node)) return true;
  if (ts.isExportDeclaration(node)) return node.isTypeOnly;
  if (!ts.isImportDeclaration(node) || node.importClause === undefined) return false;
  const { phaseModifier, name, namedBindings } = node.importClause;
  if (phaseModifier === ts.SyntaxKind.TypeKeyword) return true;
  const isNamed = name === undefined && namedBindings !== undefined && ts.isNamedImports(namedBindings);
  return isNamed && namedBindings.elements.every((element) => element.isTypeOnly);
}

function importedFrom(node: ts.Node): ts.Node | undefined {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return node.moduleSpecifier;
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) return node.argument.literal;
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
    return node.arguments[0];
  return undefined;
}

function checkRelative(
  path: string,
  target: string,
  typeOnly: boolean,
  entryPoints: readonly string[],
): LayerRule | undefined {
  const [from, to] = [moduleOf(path), moduleOf(target)];
  if (isNodeFile(target) && !isNodeFile(path)) return "node file from core";
  if (from === to) {
    if (isOtherFolder(path, target)) return "between siblings";
    return isLaterChapter(path, target, typeOnly) ? "later chapter" : undefined;
  }
  if (from === undefined)
    return to !== undefined && rootModules[path]?.includes(to) === true ? inner() : "root";
  const [own, other] = [layers[from] ?? -1, to === undefined ? Infinity : (layers[to] ?? Infinity)];
  if (other > own) return "upward";
  if (other === own) return "sideways";
  return inner();

  function inner(): LayerRule | undefined {
    const names = from === undefined ? "index|schema" : "index|internal";
    const isDoor = new RegExp(`^src/${to}/(?:node/)?(?:${names})\\.ts$`).test(target);
    return to === "core" || isDoor || entryPoints.includes(target) ? undefined : "inner file";
  }
}

/** Whether a file of src/session imports from a later chapter of it. */
function isLaterChapter(path: string, target: string, typeOnly: boolean): boolean {
  if (moduleOf(path) !== "session") return false;
  const [own, other] = [chapterOf(path), chapterOf(target)];
  return own >= 0 && other > own && !(typeOnly && sessionChapters[own] === "api");
}

/**
 * Whether a file imports from another folder of a divided module than its own and the shared one. The files of
 * the module itself import each other; drivers may import them too.
 */
function isOtherFolder(path: string, target: string): boolean {
  const sharedFiles = dividedModules[moduleOf(path) ?? ""];
  if (sharedFiles === undefined) return false;
  const [own = "", other = ""] = [path.split("/")[2], target.split("/")[2]];
  if (other === own || other === sharedFolder || sharedFiles.includes(other)) return false;
  if (tables.has(path)) return false;
  return !other.endsWith(".ts") || !(own.endsWith(".ts") || drivers.has(own));
}

/** The index of a file's chapter; -1 for the files of src/session itself. */
function chapterOf(path: string): number {
  const [, , chapter, rest] = path.split("/");
  return rest === undefined ? -1 : sessionChapters.indexOf(chapter ?? "");
}

function checkPackage(path: string, specifier: string): LayerRule | undefined {
  if (specifier === "sessile" || specifier.startsWith("sessile/")) return "by name";
  if (/^zod($|\/)/.test(specifier)) return posix.basename(path) === "schema.ts" ? undefined : "validator";
  const builtin = specifier.startsWith("node:") || builtinModules.includes(specifier);
  return builtin && !isNodeFile(path) ? "node in core" : undefined;
}

function resolve(path: string, specifier: string): string {
  return posix.join(posix.dirname(path), specifier).replace(/\.js$/, ".ts");
}
