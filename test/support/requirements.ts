import { namedTests } from "../../scripts/named-tests.mjs";
import { namedTestProblem, type Sources } from "./named-tests.js";

/** One row of the table in docs/requirements.md. */
export interface RequirementRow {
  readonly number: string;
  readonly words: string;
  readonly status: string;
  /** Paths of the code that carries it. */
  readonly modules: readonly string[];
  readonly tests: readonly { readonly path: string; readonly title: string }[];
  /** Test references that cannot be read. */
  readonly unreadable: readonly string[];
}

const statuses = ["done", "in an example", "partly", "not yet"];

/**
 * Reads the rows `| R1 | requirement | status | module | test |`. Modules are paths in backquotes; tests are
 * `` `test/path.test.ts` › title ``, and a row with several parts them by `<br>`.
 */
function parseRequirements(markdown: string): readonly RequirementRow[] {
  return markdown
    .split("\n")
    .filter((line) => /^\| *R\d/.test(line))
    .map((line) => {
      const cells = line.split(/(?<!\\)\|/).map((cell) => cell.trim());
      const [, number = "", words = "", status = "", module = "", test = ""] = cells;
      const references = test.split("<br>").filter((part) => part.trim() !== "");
      return {
        number,
        words,
        status,
        modules: [...module.matchAll(/`([^`]+)`/g)].map(([, path = ""]) => path),
        tests: references.flatMap((part) => namedTests(part).rows.flat()),
        unreadable: references.filter((part) => namedTests(part).rows.length === 0),
      };
    });
}

/** What is wrong with the table: one sentence each, none if nothing is. */
export function checkRequirements(markdown: string, count: number, repository: Sources): readonly string[] {
  const rows = parseRequirements(markdown);
  const numbers = rows.map(({ number }) => number);
  const expected = Array.from({ length: count }, (_, index) => `R${index + 1}`);
  return [
    ...expected.filter((number) => !numbers.includes(number)).map((number) => `${number} is missing`),
    ...numbers
      .filter((number) => !expected.includes(number))
      .map((number) => `${number} is not a requirement`),
    ...numbers
      .filter((number, index) => numbers.indexOf(number) < index)
      .map((number) => `${number} is there twice`),
    ...numbers
      .filter((number, index) => Number(number.slice(1)) < Number(numbers[index - 1]?.slice(1) ?? 0))
      .map((number) => `${number} is out of order`),
    ...rows.flatMap((row) => checkRow(row, repository).map((problem) => `${row.number} ${problem}`)),
    ...checkReasons(markdown, rows),
  ];
}

/** A row that is not met has its reason in the second table, `| 23 | reason |`, and no other row has one. */
function checkReasons(markdown: string, rows: readonly RequirementRow[]): readonly string[] {
  const reasons = [...markdown.matchAll(/^\| *(\d+) *\| *[^ |]/gm)].map(([, number]) => `R${number}`);
  const unmet = rows.filter(({ status }) => status === "partly" || status === "not yet");
  return [
    ...unmet.filter(({ number }) => !reasons.includes(number)).map(({ number }) => `${number} has no reason`),
    ...reasons
      .filter((number) => !unmet.some((row) => row.number === number))
      .map((number) => `${number} has a reason, and is met`),
  ];
}

function checkRow(row: RequirementRow, repository: Sources): readonly string[] {
  const { words, status, modules, tests, unreadable } = row;
  const named = modules.length + tests.length + unreadable.length;
  if (!statuses.includes(status)) return [`has the status "${status}"`];
  if (status === "not yet") return named === 0 ? [] : ["is not yet there, but names a module or a test"];
  const inExamples = modules.length > 0 && modules.every((path) => path.startsWith("examples/"));
  const saysSo = status === "in an example" || words.includes("(harness)");
  return [
    ...(inExamples && !saysSo ? ["is met in an example only, and does not say so"] : []),
    ...(status === "in an example" && !inExamples ? ["is met in an example, and names other modules"] : []),
    ...(modules.length === 0 ? ["names no module"] : []),
    ...(tests.length + unreadable.length === 0 ? ["names no test"] : []),
    ...modules
      .filter((path) => !repository.exists(path))
      .map((path) => `names ${path}, which does not exist`),
    ...unreadable.map((text) => `has a test that cannot be read: ${text.trim()}`),
    ...tests.flatMap((named) => {
      const problem = namedTestProblem(named, repository);
      return problem === undefined ? [] : [`names a test: ${problem}`];
    }),
  ];
}
