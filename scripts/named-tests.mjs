import { relative } from "node:path";

/**
 * Compares tests by their titles with the reports that vitest's JSON reporter wrote.
 *
 * @typedef {object} NamedTest
 * @property {string} path
 * @property {string} title whole, behind as many of its describes as tell it apart, for all cases of an `each`
 *
 * @typedef {object} FoundTest
 * @property {readonly string[]} chain its describes, outermost first, and its title
 * @property {string} [status] as vitest reports it; absent if it is not known
 */

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
 * Compares the tests of each claim with the tests that ran. A machine may lack the means for a test, which then is
 * skipped: that is a problem only if no other test of the claim passed.
 *
 * @param {readonly (readonly NamedTest[])[]} claims the tests of each
 * @param {ReadonlyMap<string, readonly FoundTest[]>} tests
 */
export function checkEvidence(claims, tests) {
  /** @type {string[]} */
  const problems = [];
  /** @type {string[]} */
  const skipped = [];
  let passed = 0;
  for (const row of claims) {
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
