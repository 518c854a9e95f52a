/** The table of results in docs/reference/interop.md: rows to Markdown and back. */

import type { AgentName } from "./agents.js";

export interface ResultRow {
  readonly agent: AgentName;
  readonly version: string;
  readonly check: string;
  /** `yes`, `no`, or a remark about a check that passed. */
  readonly result: string;
  /** Of the run, as ISO 8601. */
  readonly day: string;
}

const begin = "<!-- results of npm run interop: do not edit -->";
const end = "<!-- end of results -->";
const head = ["| agent | version | check | result | day |", "| --- | --- | --- | --- | --- |"];

/** The rows between the markers of a page. */
export function parseResults(page: string): readonly ResultRow[] {
  const { from, to } = bounds(page);
  return page
    .slice(from, to)
    .split("\n")
    .filter((line) => line.startsWith("| ") && !head.includes(line))
    .map((line) => {
      const [agent = "", version = "", check = "", result = "", day = ""] = line
        .slice(2, -2)
        .split(/ \| /)
        .map((cell) => cell.replaceAll("\\|", "|"));
      return { agent: agent as AgentName, version, check, result, day };
    });
}

/** The table, ordered by agent, version and check. */
export function printResults(rows: readonly ResultRow[]): string {
  const order = (a: ResultRow, b: ResultRow): number =>
    a.agent.localeCompare(b.agent) ||
    a.version.localeCompare(b.version, "en", { numeric: true }) ||
    a.check.localeCompare(b.check);
  const lines = [...rows].sort(order).map(({ agent, version, check, result, day }) => {
    const cells = [agent, version, check, result, day].map((cell) => cell.replaceAll("|", "\\|"));
    return `| ${cells.join(" | ")} |`;
  });
  return [...head, ...lines].join("\n");
}

/** The page with another table between its markers. */
export function replaceResults(page: string, table: string): string {
  const { from, to } = bounds(page);
  return `${page.slice(0, from)}\n\n${table}\n\n${page.slice(to)}`;
}

function bounds(page: string): { readonly from: number; readonly to: number } {
  const from = page.indexOf(begin) + begin.length;
  const to = page.indexOf(end);
  if (from < begin.length || to < from) {
    throw new Error("docs/reference/interop.md has no markers for results");
  }
  return { from, to };
}
