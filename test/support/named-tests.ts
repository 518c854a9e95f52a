import ts from "typescript";
import { namedTests, testsOf, wholeTitle } from "../../scripts/named-tests.mjs";

/** How the check reads the repository; paths are relative to its root. */
export interface Sources {
  exists(path: string): boolean;
  read(path: string): string;
}

/** A call of `it` or `test`: its describes, outermost first, and its title, with `…` for what is known when it runs. */
interface WrittenTest {
  readonly chain: readonly string[];
}

const groups = ["describe", "suite"];
const cases = ["it", "test"];

/** The name that a call begins with: `it` of `it("…")`, `it.each(rows)("…")` and `it.skipIf(reason)("…")`. */
function calledName(node: ts.Expression): string {
  if (ts.isIdentifier(node)) return node.text;
  if (ts.isCallExpression(node) || ts.isPropertyAccessExpression(node)) return calledName(node.expression);
  return ts.isTaggedTemplateExpression(node) ? calledName(node.tag) : "";
}

function titleOf(node: ts.Expression | undefined): string {
  if (node === undefined) return "…";
  if (ts.isStringLiteralLike(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return "…";
  return node.head.text + node.templateSpans.map(({ literal }) => `…${literal.text}`).join("");
}

/** By the text of the file: documents name many tests of the same one. */
const written = new Map<string, readonly WrittenTest[]>();

/** The tests that a file writes. */
function writtenTests(source: string): readonly WrittenTest[] {
  const known = written.get(source);
  if (known) return known;
  const tests: WrittenTest[] = [];
  const visit = (node: ts.Node, chain: readonly string[]): void => {
    let within = chain;
    if (ts.isCallExpression(node) && node.arguments.length > 1) {
      const name = calledName(node.expression);
      if (groups.includes(name)) within = [...chain, titleOf(node.arguments[0])];
      else if (cases.includes(name)) tests.push({ chain: [...chain, titleOf(node.arguments[0])] });
    }
    ts.forEachChild(node, (child) => visit(child, within));
  };
  visit(ts.createSourceFile("test.ts", source, ts.ScriptTarget.Latest, false), []);
  written.set(source, tests);
  return tests;
}

/**
 * What is wrong with a named test as its file writes it; undefined if nothing is. A title that is put together when it
 * runs may be any that fits; `scripts/named-tests.mjs`, which looks at the tests that ran, has the last word.
 */
export function namedTestProblem(
  { path, title }: { readonly path: string; readonly title: string },
  sources: Sources,
): string | undefined {
  if (!sources.exists(path)) return `${path} does not exist`;
  if (path.endsWith(".slow.test.ts")) return `${path} is in a project that CI never runs`;
  if (!path.endsWith(".test.ts")) return `${path} is no file of tests`;
  const tests = writtenTests(sources.read(path));
  const equal = tests.filter(({ chain }) => ` › ${chain.join(" › ")}`.endsWith(` › ${title}`));
  const same = equal.length > 0 ? equal : testsOf(title, tests);
  if (same.length > 1) return `${path} has ${same.length} tests "${title}": name the describe`;
  if (same.length === 1) return undefined;
  const parts = title.split(" › ");
  const fits = tests.some(({ chain }) => {
    const last = chain.slice(-parts.length).map(wholeTitle);
    return last.length === parts.length && last.every((pattern, index) => pattern.test(parts[index] ?? ""));
  });
  return fits ? undefined : `${path} has no test "${title}"`;
}

/** What is wrong with the tests that a document names: one sentence each, none if nothing is. */
export function checkNamedTests(markdown: string, sources: Sources): readonly string[] {
  const { rows, unreadable } = namedTests(markdown);
  return [
    ...(unreadable === 0 ? [] : [`${unreadable} references to tests cannot be read`]),
    ...rows.flat().flatMap((named) => namedTestProblem(named, sources) ?? []),
  ];
}
