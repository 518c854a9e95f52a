import { join } from "node:path";
import ts from "typescript";
import { root } from "../../scripts/entries.mjs";

/** A code example in a doc comment or in Markdown, and where it begins. */
export interface DocExample {
  /** `path:line`. */
  readonly place: string;
  readonly code: string;
}

/** The ts examples of a text: those behind `@example` in doc comments, or every ts fence of a Markdown file. */
export function examplesOf(path: string, text: string): readonly DocExample[] {
  const examples: DocExample[] = [];
  const lines = text.split("\n");
  let code: string[] | undefined;
  let start = 0;
  lines.forEach((line, index) => {
    const bare = path.endsWith(".md") ? line : line.replace(/^\s*\* ?/, "");
    if (code === undefined && bare.trim() === "```ts") {
      code = [];
      start = index + 1;
    } else if (code !== undefined && bare.trim() === "```") {
      examples.push({ place: `${path}:${start}`, code: code.join("\n") });
      code = undefined;
    } else {
      code?.push(bare);
    }
  });
  return examples;
}

/** An expression of an example, and the value that its comment promises, both as source. */
export interface Promised {
  readonly expression: string;
  readonly value: string;
}

/** Lines of the form `expression; // value`, where the value is a literal. Multi-line expressions end with such a line. */
export function promisesOf(code: string): readonly Promised[] {
  const promises: Promised[] = [];
  const statements = code.split(/(?<=;.*)\n/);
  for (const statement of statements) {
    const [, expression, value] =
      /^([^;]*);\s*(?:\/\/\s*|\n\/\/\s*)("[^"]*"|\d+|true|false|undefined|\[.*\])$/s.exec(statement.trim()) ??
      [];
    if (
      expression !== undefined &&
      value !== undefined &&
      !/^\s*(const|let|await|import|for)\b/.test(expression)
    ) {
      promises.push({ expression, value });
    }
  }
  return promises;
}

/** A type error in a module. */
export interface TypeProblem {
  /** The name of the module. */
  readonly name: string;
  /** From 1. */
  readonly line: number;
  readonly message: string;
}

/** Type errors of modules by name, all in one program: with the options of this repository, and the official clients. */
export function typeProblems(modules: ReadonlyMap<string, string>): readonly TypeProblem[] {
  const { config } = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [] }, ts.sys, root);
  const names = new Map([...modules.keys()].map((name, at) => [join(root, `module-${at}.ts`), name]));
  const codeOf = (path: string) => modules.get(names.get(path) ?? "");
  const host = ts.createCompilerHost(options);
  const { readFile, fileExists, getSourceFile } = host;
  host.readFile = (path) => codeOf(path) ?? readFile(path);
  host.fileExists = (path) => names.has(path) || fileExists(path);
  host.getSourceFile = (path, target, ...rest) => {
    const code = codeOf(path);
    if (code === undefined) return getSourceFile(path, target, ...rest);
    return ts.createSourceFile(path, `${code}\nexport {};`, target);
  };
  const program = ts.createProgram([...names.keys()], { ...options, noEmit: true }, host);
  return [...names].flatMap(([path, name]) => {
    const file = program.getSourceFile(path);
    const found = [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)];
    return found.map(({ messageText, start = 0 }) => ({
      name,
      line: (file?.getLineAndCharacterOfPosition(start).line ?? 0) + 1,
      message: ts.flattenDiagnosticMessageText(messageText, " "),
    }));
  });
}
