/** One row of the table in docs/requirements.md. */
interface RequirementRow {
  readonly number: string;
  readonly words: string;
  readonly status: string;
  /** Paths of the code that carries it. */
  readonly paths: readonly string[];
}

const statuses = ["done", "in an example", "partly", "not yet"];

/** Reads the rows `| R1 | requirement | status | where |`, where paths are in backquotes. */
function parseRequirements(markdown: string): readonly RequirementRow[] {
  return markdown
    .split("\n")
    .filter((line) => /^\| *R\d/.test(line))
    .map((line) => {
      const [, number = "", words = "", status = "", where = ""] = line
        .split(/(?<!\\)\|/)
        .map((cell) => cell.trim());
      return {
        number,
        words,
        status,
        paths: [...where.matchAll(/`([^`]+)`/g)].map(([, path = ""]) => path),
      };
    });
}

/** The problems of the table, one sentence each. */
export function checkRequirements(
  markdown: string,
  count: number,
  exists: (path: string) => boolean,
): readonly string[] {
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
    ...rows.flatMap((row) => checkRow(row, exists).map((problem) => `${row.number} ${problem}`)),
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

function checkRow(row: RequirementRow, exists: (path: string) => boolean): readonly string[] {
  const { words, status, paths } = row;
  if (!statuses.includes(status)) return [`has the status "${status}"`];
  if (status === "not yet") return paths.length === 0 ? [] : ["is not yet there, but names a path"];
  const inExamples = paths.length > 0 && paths.every((path) => path.startsWith("examples/"));
  const saysSo = status === "in an example" || words.includes("(harness)");
  return [
    ...(inExamples && !saysSo ? ["is met in an example only, and does not say so"] : []),
    ...(status === "in an example" && !inExamples ? ["is met in an example, and names other paths"] : []),
    ...(paths.length === 0 ? ["names no path"] : []),
    ...paths.filter((path) => !exists(path)).map((path) => `names ${path}, which does not exist`),
  ];
}
