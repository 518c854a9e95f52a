import ts from "typescript";
import { expect, test } from "vitest";
import { readSources } from "../support/sources.js";

/** Calls that take a list of any length as arguments; from some 100,000 on the engine throws a RangeError. */
const unbounded = /(?:\.(?:push|unshift|splice)|^Math\.(?:max|min)|^String\.from(?:CharCode|CodePoint))$/;

/** Where a text hands a list over as the arguments of such a call. */
function spreadsIn(path: string, text: string): readonly string[] {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && node.arguments.some(ts.isSpreadElement)) {
      const { line } = file.getLineAndCharacterOfPosition(node.getStart());
      if (unbounded.test(node.expression.getText())) found.push(`${path}:${line + 1}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

test("no list is handed over as the arguments of a call that takes any number of them", () => {
  const sources = readSources().filter(({ path }) => !path.includes("/conformance/"));
  expect(sources.flatMap(({ path, text }) => spreadsIn(path, text))).toEqual([]);
});

test.each([
  ["a.push(...b)", 1],
  ["a.list.push(1,\n ...b())", 1],
  ["Math.max(0, ...sizes)", 1],
  ["String.fromCharCode(...bytes)", 1],
  ["a.push([...b], { ...c })", 0],
  ["join(...parts)", 0],
])("%j has %i", (text, count) => {
  expect(spreadsIn("a.ts", text)).toHaveLength(count);
});
