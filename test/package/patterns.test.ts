import ts from "typescript";
import { expect, test } from "vitest";
import { readSources } from "../support/sources.js";

/**
 * The engine keeps a place for each repetition of an expression: over a stored text of some million characters
 * an unbounded one throws a RangeError, or takes time by the square of the text. `collapsed`, `spaced`, `isOf`
 * and `stripped` of src/core/text.ts, `trimStart` and loops take any text.
 */
const maxRepetitions = 65_536;

/** Patterns that see no stored text, with the bound of what they see. */
const allowed: Readonly<Record<string, string>> = {
  "src/storage/objects/s3/xml.ts":
    "the answer of an object store to a request, which its client reads up to a bound",
  "src/log/decode.ts": "lines of at most 64 bytes",
  "src/cli/commands/resume.ts":
    "a path, a word of a command, and the configuration of an agent on this machine",
  "src/cli/commands/serve.ts": "the path of a request, which Node bounds",
  "src/cli/house.ts": "a word of a command",
  "src/cli/stores.ts": "an argument of the command",
};

/** Expressions that are made of something else than expressions of the file, and what they are made of. */
const made: Readonly<Record<string, string>> = {
  "src/cli/commands/resume.ts": "names of keys, over the configuration of an agent on this machine",
  "src/cli/commands/redact.ts": "an expression of the person who runs the command",
  "src/compaction/prompts.ts": "names of tags and roles",
  "src/core/schema.ts": "names of types",
  "src/agents/find-secrets.ts": "strings of this file, of which the test sees each",
  "src/agents/secret-rules.ts": "expressions of this file, and those of the caller, as documented",
  "src/compaction/triggers.ts": "expressions of this file",
  "src/providers/block-reader.ts": "a class of characters",
  "src/providers/rejection.ts":
    "names of members of a request; expressions of this file, over at most 4000 characters",
  "src/providers/media-part.ts": "a random name",
  "src/providers/pair-tool-calls.ts": "a class of characters of a target",
  "src/providers/transcript.ts": "a class of characters, and words",
  "src/log/decode.ts": "strings of this file, over lines of at most 64 bytes",
  "src/log/search-words.ts": "a class of characters",
  "src/viewer/app/message-row.tsx": "an escaped text",
  "src/viewer/model/search.ts": "an escaped text",
};

/** The repetitions of an expression that have no bound, or too large a one. */
function repetitionsIn(pattern: string): readonly string[] {
  const plain = pattern.replace(/\\./gs, "_").replace(/\[(?:[^\]])*\]/g, "_");
  return (plain.match(/(?<!\()[*+]|\{\d+,\d*\}/g) ?? []).filter((found) => {
    const [, most] = /\{\d+,(\d+)\}/.exec(found) ?? [];
    return most === undefined || Number(most) > maxRepetitions;
  });
}

interface Found {
  /** The expressions, and the strings that expressions are made of. */
  readonly patterns: readonly string[];
  /** Whether an expression is made of other parts than strings. */
  readonly isMade: boolean;
}

const methods: ReadonlySet<string> = new Set(["match", "matchAll", "search"]);

function patternsIn(path: string, text: string): Found {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const patterns: string[] = [];
  let isMade = false;
  const addParts = (node: ts.Node): void => {
    if (ts.isStringLiteralLike(node)) patterns.push(node.text);
    else if (ts.isTemplateExpression(node)) {
      patterns.push(node.head.text, ...node.templateSpans.map(({ literal }) => literal.text));
      isMade = true;
    } else if (!ts.isRegularExpressionLiteral(node)) isMade = true;
  };
  const visit = (node: ts.Node): void => {
    if (ts.isRegularExpressionLiteral(node)) patterns.push(node.text.slice(1, node.text.lastIndexOf("/")));
    if ((ts.isNewExpression(node) || ts.isCallExpression(node)) && node.arguments?.[0] !== undefined) {
      const { expression } = node;
      if (expression.getText() === "RegExp") addParts(node.arguments[0]);
      const isSearch = ts.isPropertyAccessExpression(expression) && methods.has(expression.name.text);
      if (isSearch && ts.isStringLiteralLike(node.arguments[0])) addParts(node.arguments[0]);
    }
    // Strings with the escapes of an expression are parts of one.
    if (ts.isTaggedTemplateExpression(node) && node.tag.getText() === "String.raw") {
      const { template } = node;
      const parts = ts.isNoSubstitutionTemplateLiteral(template)
        ? [template]
        : [template.head, ...template.templateSpans.map(({ literal }) => literal)];
      patterns.push(...parts.map((part) => part.rawText ?? ""));
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return { patterns, isMade };
}

const found = readSources().map(({ path, text }) => ({ path, ...patternsIn(path, text) }));

test("no expression repeats without a bound, but those that see no stored text", () => {
  const unbounded = found.flatMap(({ path, patterns }) =>
    patterns.filter((pattern) => repetitionsIn(pattern).length > 0).map((pattern) => `${path}: ${pattern}`),
  );
  const paths = new Set(unbounded.map((each) => each.slice(0, each.indexOf(": "))));
  expect(
    unbounded.filter((each) => !Object.keys(allowed).some((path) => each.startsWith(`${path}: `))),
  ).toEqual([]);
  // An exception that is none any more is left out.
  expect(Object.keys(allowed).filter((path) => !paths.has(path))).toEqual([]);
});

test("expressions that are made of parts are known", () => {
  const paths = found.filter(({ isMade }) => isMade).map(({ path }) => path);
  expect(paths.filter((path) => made[path] === undefined)).toEqual([]);
  expect(Object.keys(made).filter((path) => !paths.includes(path))).toEqual([]);
});

test("every expression of the sources is seen", () => {
  expect(found.reduce((count, { patterns }) => count + patterns.length, 0)).toBeGreaterThan(400);
});

test.each([
  ["const a = /x+/g", 1],
  ["const a = /[a-z]*$/", 1],
  [String.raw`const a = /\d{3,}/`, 1],
  ["const a = /x{1,100000}/", 1],
  ["text.replace(/(?:a|b)+/g, '')", 1],
  ["new RegExp('x+')", 1],
  ["new RegExp(`$" + "{a}[b]*`)", 1],
  ["text.match('.*')", 1],
  ["String.raw`\\s+`", 1],
  ["const a = /.+?/s", 1],
  ["const a = /x{1,64}[+*]{3}\\+\\*(?:y)?[\\]+]/", 0],
  ["const a = 'x+'", 0],
])("%j has %i", (text, count) => {
  const { patterns } = patternsIn("a.ts", text);
  expect(patterns.flatMap(repetitionsIn)).toHaveLength(count);
});
