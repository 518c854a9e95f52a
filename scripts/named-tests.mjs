import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "./entries.mjs";

/**
 * Checks that the tests which docs/generated/shown-by.md names passed: `node scripts/named-tests.mjs REPORT.json…`,
 * with the reports that vitest's JSON reporter wrote in this run of CI.
 *
 * @typedef {object} NamedTest
 * @property {string} path
 * @property {string} title whole, behind as many of its describes as tell it apart, for all cases of an `each`
 *
 * @typedef {object} FoundTest
 * @property {readonly string[]} chain its describes, outermost first, and its title
 * @property {string} [status] as vitest reports it; absent if it is not known
 */

/**
 * The tests of each heading of the generated file.
 *
 * @param {string} markdown
 * @returns {readonly (readonly NamedTest[])[]}
 */
export function namedTests(markdown) {
  return markdown
    .split(/^### /m)
    .slice(1)
    .map((block) =>
      [...block.matchAll(/^- `([^`]+)` › (.+)$/gm)].map(([, path = "", title = ""]) => ({ path, title })),
    );
}

/** What vitest puts values in the place of, and `…` for a value that the program itself puts there. */
const places = /%%|%[sdifjoOc#$]|\$[A-Za-z_][\w.]*|…/g;

/**
 * A pattern for a whole title: a title of `it.each` has its places, or the values of one case.
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
 * The tests of a file that a title names: whole, with as many of its describes as it has.
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
 * Compares the generated file with the tests that ran. A machine may lack the means for a test, which then is
 * skipped: that is a problem only if no other test of the heading passed.
 *
 * @param {string} markdown
 * @param {ReadonlyMap<string, readonly FoundTest[]>} tests
 */
export function checkEvidence(markdown, tests) {
  /** @type {string[]} */
  const problems = [];
  /** @type {string[]} */
  const skipped = [];
  let passed = 0;
  for (const row of namedTests(markdown)) {
    const found = row.map((named) => problemOf(named, tests.get(named.path)));
    const notRun = found.flatMap((problem) => (problem?.endsWith(" was skipped") ? [problem] : []));
    const wrong = found.flatMap((problem) =>
      problem !== undefined && !notRun.includes(problem) ? [problem] : [],
    );
    problems.push(...wrong);
    passed += found.length - wrong.length - notRun.length;
    (notRun.length === row.length ? problems : skipped).push(...notRun);
  }
  return { passed, problems, skipped };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const reports = process.argv.slice(2).map((path) => readFileSync(path, "utf8"));
  const markdown = readFileSync(`${root}/docs/generated/shown-by.md`, "utf8");
  const { passed, problems, skipped } = checkEvidence(markdown, reportedTests(reports, root));
  for (const line of skipped) console.log(`  ${line}; another test of the same claim passed`);
  for (const line of problems) console.log(`✗ ${line}`);
  // One stage, one count: these tests were counted as they ran.
  console.log(`${passed} of the tests that shown-by.md names passed, ${problems.length} problems`);
  process.exitCode = problems.length === 0 && passed > 0 ? 0 : 1;
}
