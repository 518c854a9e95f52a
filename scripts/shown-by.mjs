import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import ts from "typescript";
import { root } from "./entries.mjs";
import { checkEvidence, reportedTests, testsOf, wholeTitle } from "./named-tests.mjs";

/**
 * Prints the tests of requirements and claims of the documents: `npm run shown-by -- R41 durability` prints those of one
 * requirement and of all claims of one page, without arguments those of all. A tag is a comment directly above a test:
 * `// @covers R41 durability:torn-tail`. If the title is known only when the test runs, or one case of several is meant,
 * the tag ends in that title: `// @covers R175 › takes the reserved kind`.
 * `node scripts/shown-by.mjs --passed REPORT.json…` fails if one of these tests did not pass in the reports of vitest.
 *
 * @typedef {object} Claim
 * @property {string} id `R41`, `durability:torn-tail`
 * @property {string} text
 * @property {boolean} tested whether a test must show it; if false, no test may
 *
 * @typedef {object} Tag
 * @property {readonly string[]} ids
 * @property {string} path
 * @property {string} title whole, behind as many of its describes as tell it from the other tests of the file
 *
 * @typedef {object} Shown a claim with its tests
 * @property {string} id
 * @property {string} text
 * @property {readonly Tag[]} tests
 *
 * @typedef {object} WrittenTest
 * @property {readonly string[]} chain its describes, outermost first, and its title; `…` is unknown until it runs
 * @property {number} line the line on which its call begins, from 0
 */

const groups = ["describe", "suite"];
const cases = ["it", "test"];

/**
 * The name that a call begins with: `it` of `it("…")`, `it.each(rows)("…")` and `it.skipIf(reason)("…")`.
 *
 * @param {ts.Expression} node
 * @returns {string}
 */
function calledName(node) {
  if (ts.isIdentifier(node)) return node.text;
  if (ts.isCallExpression(node) || ts.isPropertyAccessExpression(node)) return calledName(node.expression);
  return ts.isTaggedTemplateExpression(node) ? calledName(node.tag) : "";
}

/** @param {ts.Expression | undefined} node */
function titleOf(node) {
  if (node === undefined) return "…";
  if (ts.isStringLiteralLike(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return "…";
  return node.head.text + node.templateSpans.map(({ literal }) => `…${literal.text}`).join("");
}

/**
 * The tests that a file writes.
 *
 * @param {string} source
 * @returns {readonly WrittenTest[]}
 */
function writtenTests(source) {
  const file = ts.createSourceFile("test.ts", source, ts.ScriptTarget.Latest, true);
  /** @type {WrittenTest[]} */
  const tests = [];
  /**
   * @param {ts.Node} node
   * @param {readonly string[]} chain
   */
  const visit = (node, chain) => {
    let within = chain;
    if (ts.isCallExpression(node) && node.arguments.length > 1) {
      const name = calledName(node.expression);
      const own = [...chain, titleOf(node.arguments[0])];
      if (groups.includes(name)) within = own;
      else if (cases.includes(name)) {
        tests.push({ chain: own, line: file.getLineAndCharacterOfPosition(node.getStart(file)).line });
      }
    }
    ts.forEachChild(node, (child) => visit(child, within));
  };
  visit(file, []);
  return tests;
}

/**
 * The shortest end of a test's chain that no other test of the file has; undefined if there is none.
 *
 * @param {WrittenTest} test
 * @param {readonly WrittenTest[]} tests
 */
function ownTitle(test, tests) {
  for (let from = test.chain.length - 1; from >= 0; from -= 1) {
    const end = test.chain.slice(from).join(" › ");
    const same = tests.filter(({ chain }) => ` › ${chain.join(" › ")}`.endsWith(` › ${end}`));
    if (same.length === 1) return end;
  }
  return undefined;
}

/**
 * Whether a test as it is written can have a title as it runs.
 *
 * @param {string} title
 * @param {WrittenTest} test
 */
function canBe(title, test) {
  const parts = title.split(" › ");
  const last = test.chain.slice(-parts.length);
  const fits = last.every((written, index) => wholeTitle(written).test(parts[index] ?? ""));
  return (last.length === parts.length && fits) || testsOf(title, [test]).length > 0;
}

/**
 * The tags of a file of tests, and one sentence for each that is wrong.
 *
 * @param {string} path
 * @param {string} source
 */
export function readTags(path, source) {
  /** @type {Tag[]} */
  const tags = [];
  /** @type {string[]} */
  const problems = [];
  const lines = source.split("\n");
  const tests = source.includes("// @covers ") ? writtenTests(source) : [];
  for (const [line, text] of lines.entries()) {
    const [, ids, named] = /^\s*\/\/ @covers (.*?)(?: › (.+))?$/.exec(text) ?? [];
    if (ids === undefined) continue;
    let at = line + 1;
    while (/^\s*\/\//.test(lines[at] ?? "")) at += 1;
    const below = tests.filter((test) => test.line === at);
    const [test] = below;
    const where = `${path}:${line + 1}`;
    if (test === undefined || below.length > 1) {
      problems.push(`${where}: the tag stands above ${below.length} tests, not one`);
      continue;
    }
    const title = named ?? ownTitle(test, tests);
    if (path.endsWith(".slow.test.ts")) problems.push(`${where}: CI never runs the tests of this project`);
    else if (named !== undefined && !canBe(named, test))
      problems.push(`${where}: the test below cannot have the title "${named}"`);
    else if (title === undefined) problems.push(`${where}: another test of the file has the same titles`);
    else if (title.split(" › ").at(-1) === "…") problems.push(`${where}: the tag must end in the title`);
    else tags.push({ ids: ids.split(" "), path, title });
  }
  return { tags, problems };
}

/**
 * The cells of each row of a table, without its head.
 *
 * @param {string} markdown
 */
const rowsOf = (markdown) =>
  markdown
    .split("\n")
    .filter((line) => line.startsWith("| "))
    .map((line) => line.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|")))
    .slice(2);

/**
 * The requirements of docs/requirements.md.
 *
 * @param {string} markdown
 * @returns {readonly Claim[]}
 */
export function requirementClaims(markdown) {
  return rowsOf(markdown).flatMap(([, id = "", words = "", status = ""]) =>
    /^R\d+$/.test(id)
      ? {
          id,
          text: status === "in an example" ? `${words} (met in an example only)` : words,
          tested: status !== "not yet",
        }
      : [],
  );
}

/**
 * The claims of a table: the last cell of a row is its id in backquotes, or the reason for having no test.
 *
 * @param {string} name
 * @param {string} markdown
 * @returns {readonly Claim[]}
 */
export function tableClaims(name, markdown) {
  return rowsOf(markdown).flatMap(([, text = "", ...cells]) => {
    const id = /^`([a-z0-9-]+)`$/.exec(cells.at(-2) ?? "")?.[1];
    return id === undefined ? [] : { id: `${name}:${id}`, text, tested: true };
  });
}

/**
 * The claims with their tests, and one sentence for each thing that is wrong with the claims and the tags.
 *
 * @param {readonly Claim[]} claims
 * @param {readonly Tag[]} tags
 */
export function shownBy(claims, tags) {
  const known = claims.map(({ id }) => id);
  const problems = known.filter((id, index) => known.indexOf(id) < index).map((id) => `${id} is there twice`);
  for (const { ids, path, title } of tags) {
    for (const id of ids) if (!known.includes(id)) problems.push(`${path} › ${title}: nothing is ${id}`);
  }
  /** @type {Shown[]} */
  const shown = [];
  for (const { id, text, tested } of claims) {
    const tests = tags.filter(({ ids }) => ids.includes(id));
    if (tested && tests.length === 0) problems.push(`${id} is shown by no test`);
    if (!tested && tests.length > 0) problems.push(`${id} is not met, and has a test`);
    if (tests.length > 0) shown.push({ id, text, tests });
  }
  return { shown, problems };
}

/**
 * The claims that words name, by their ids or by what stands before the colon of them; all if there is no word.
 *
 * @param {readonly Shown[]} shown
 * @param {readonly string[]} words
 */
export function printShown(shown, words) {
  const wanted = shown.filter(
    ({ id }) => words.length === 0 || words.some((word) => id === word || id.startsWith(`${word}:`)),
  );
  return wanted
    .map(({ id, text, tests }) =>
      [`${id}  ${text}`, ...tests.map(({ path, title }) => `  ${path} › ${title}`), ""].join("\n"),
    )
    .join("\n");
}

/**
 * The files of tests below a directory, in order.
 *
 * @param {string} directory
 * @returns {readonly string[]}
 */
function testFiles(directory) {
  const entries = readdirSync(join(root, directory), { withFileTypes: true });
  return entries
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = `${directory}/${entry.name}`;
      if (entry.isDirectory()) return entry.name === "node_modules" ? [] : testFiles(path);
      return entry.name.endsWith(".test.ts") ? path : [];
    });
}

/** Reads the documents and the tests of the repository. */
export function repositoryShownBy() {
  /** @param {string} path */
  const read = (path) => readFileSync(join(root, path), "utf8");
  const [, durability = ""] =
    /\n## Guarantees\n(.*?)\n## Runs by hand\n/s.exec(read("docs/reference/durability.md")) ?? [];
  const files = [...testFiles("test"), ...testFiles("bench")].map((path) => readTags(path, read(path)));
  const { shown, problems } = shownBy(
    [
      ...requirementClaims(read("docs/requirements.md")),
      ...tableClaims("durability", durability),
      ...tableClaims("security", read("SECURITY.md")),
    ],
    files.flatMap(({ tags }) => tags),
  );
  return { shown, problems: [...files.flatMap((file) => file.problems), ...problems] };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const { shown, problems } = repositoryShownBy();
  const [first, ...rest] = process.argv.slice(2);
  if (first === "--passed") {
    const reports = rest.map((path) => readFileSync(path, "utf8"));
    const evidence = checkEvidence(
      shown.map(({ tests }) => tests),
      reportedTests(reports, root),
    );
    for (const line of evidence.skipped) console.log(`  ${line}; another test of the same claim passed`);
    for (const line of evidence.problems) console.log(`✗ ${line}`);
    // One stage, one count: these tests were counted as they ran.
    console.log(`${evidence.passed} of the tests of claims passed, ${evidence.problems.length} problems`);
    process.exitCode = evidence.problems.length === 0 && evidence.passed > 0 ? 0 : 1;
  } else {
    const text = printShown(shown, process.argv.slice(2));
    process.stdout.write(text);
    for (const problem of problems) console.error(`✗ ${problem}`);
    process.exitCode = problems.length === 0 && text !== "" ? 0 : 1;
  }
}
