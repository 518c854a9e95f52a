import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "./entries.mjs";

/**
 * Whether the tests that documents name were among those that passed: `node scripts/named-tests.mjs REPORT.json…`, with the
 * reports that vitest's JSON reporter wrote in this run of CI.
 */

/** The documents that name tests as evidence. */
const documents = ["docs/requirements.md", "docs/durability.md", "SECURITY.md"];

/**
 * A test that a document names: `` `path.test.ts` › title ``, or `` `path.test.ts` › describe › title `` if two tests of
 * the file have the title. Of `it.each` and `describe.each` all cases are meant.
 *
 * @typedef {object} NamedTest
 * @property {string} path
 * @property {string} title
 */

/**
 * A test of a file: its describes, outermost first, and its title.
 *
 * @typedef {object} FoundTest
 * @property {readonly string[]} chain
 * @property {string} [status] as vitest reports it; absent if it is not known
 */

/**
 * The tests that each line of a document names, for the lines that name any, and how many references cannot be read.
 *
 * @param {string} markdown
 */
export function namedTests(markdown) {
  /** @type {(readonly NamedTest[])[]} */
  const rows = [];
  let unreadable = markdown.split("› ").length - 1;
  for (const line of markdown.split("\n")) {
    const row = line
      .split(/<br>|(?<!\\)\|/)
      .map((part) => /^\s*`((?:test|src|bench)\/[^`]+)` › (.+?)\s*$/.exec(part))
      .flatMap((match) =>
        match?.[1] && match[2] ? [{ path: match[1], title: match[2].replaceAll("\\|", "|") }] : [],
      );
    unreadable -= row.reduce((sum, { title }) => sum + title.split("› ").length, 0);
    if (row.length > 0) rows.push(row);
  }
  return { rows, unreadable };
}

/** What vitest puts values in the place of, and `…` for a value that the program itself puts there. */
const places = /%%|%[sdifjoOc#$]|\$[A-Za-z_][\w.]*|…/g;

/**
 * A pattern for a whole title: a title of `it.each` is written with its places, or with the values of one case.
 *
 * @param {string} title
 */
export function wholeTitle(title) {
  /** @param {string} text */
  const literal = (text) => text.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&");
  let pattern = "";
  let end = 0;
  for (const match of title.matchAll(places)) {
    pattern += literal(title.slice(end, match.index));
    pattern += match[0] === "%%" ? "%" : `(?:${literal(match[0])}|.*)`;
    end = match.index + match[0].length;
  }
  return new RegExp(`^${pattern}${literal(title.slice(end))}$`, "s");
}

/**
 * The tests of a file that a title means: whole, with as many of its describes as the document writes.
 *
 * @template {FoundTest} T
 * @param {string} title
 * @param {readonly T[]} tests
 */
export function testsOf(title, tests) {
  const parts = title.split(" › ").map(wholeTitle);
  return tests.filter(({ chain }) => {
    const last = chain.slice(-parts.length);
    return last.length === parts.length && parts.every((part, index) => part.test(last[index] ?? ""));
  });
}

/**
 * What is wrong with a named test, given the tests of its file; undefined if nothing is.
 *
 * @param {NamedTest} named
 * @param {readonly FoundTest[] | undefined} tests undefined if the file is none of those that ran
 * @returns {string | undefined}
 */
function problemOf({ path, title }, tests) {
  if (tests === undefined) return `${path} is no file of tests that CI ran`;
  const found = testsOf(title, tests);
  if (found.length === 0) return `${path} has no test "${title}"`;
  const bad = found.find(({ status }) => status === "failed");
  if (bad) return `${path} › ${title} failed`;
  const ran = found.every(({ status }) => status === undefined || status === "passed");
  return ran ? undefined : `${path} › ${title} was skipped`;
}

/**
 * The tests of each file, out of what vitest's JSON reporter wrote.
 *
 * @param {readonly string[]} reports
 * @param {string} base the directory that paths are relative to
 * @returns {Map<string, FoundTest[]>}
 */
export function reportedTests(reports, base) {
  /** @type {Map<string, FoundTest[]>} */
  const tests = new Map();
  for (const report of reports) {
    /** @type {{ testResults: { name: string, assertionResults: { ancestorTitles: string[], title: string, status: string }[] }[] }} */
    const { testResults } = JSON.parse(report);
    for (const { name, assertionResults } of testResults) {
      const path = relative(base, name).replaceAll("\\", "/");
      const of = assertionResults.map(({ ancestorTitles, title, status }) => ({
        chain: [...ancestorTitles.filter((ancestor) => ancestor !== ""), title],
        status,
      }));
      tests.set(path, [...(tests.get(path) ?? []), ...of]);
    }
  }
  return tests;
}

/**
 * Compares documents with what ran. A machine may lack what a test needs, which then is skipped: that is a problem only if
 * no other test of the row passed.
 *
 * @param {readonly string[]} markdown
 * @param {ReadonlyMap<string, readonly FoundTest[]>} tests
 */
export function checkEvidence(markdown, tests) {
  /** @type {string[]} */
  const problems = [];
  /** @type {string[]} */
  const skipped = [];
  let passed = 0;
  for (const { rows, unreadable } of markdown.map(namedTests)) {
    if (unreadable !== 0) problems.push(`${unreadable} references to tests cannot be read`);
    for (const row of rows) {
      const found = row.map((named) => problemOf(named, tests.get(named.path)));
      const notRun = found.flatMap((problem) => (problem?.endsWith(" was skipped") ? [problem] : []));
      const wrong = found.flatMap((problem) =>
        problem !== undefined && !notRun.includes(problem) ? [problem] : [],
      );
      problems.push(...wrong);
      passed += found.length - wrong.length - notRun.length;
      (notRun.length === row.length ? problems : skipped).push(...notRun);
    }
  }
  return { passed, problems, skipped };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const reports = process.argv.slice(2).map((path) => readFileSync(path, "utf8"));
  const texts = documents.map((path) => readFileSync(`${root}/${path}`, "utf8"));
  const { passed, problems, skipped } = checkEvidence(texts, reportedTests(reports, root));
  for (const line of skipped) console.log(`  ${line}; another test of the row passed`);
  for (const line of problems) console.log(`✗ ${line}`);
  // One stage, one count: these tests were counted as they ran.
  console.log(`${passed} of the tests that documents name passed, ${problems.length} problems`);
  process.exitCode = problems.length === 0 ? 0 : 1;
}
