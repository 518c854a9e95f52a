import { cpus, release, totalmem, type } from "node:os";
import type { Claim, Table } from "./claim.js";
import { nodesOfPis } from "./runner.js";

/** A claim's table in Markdown under its title. */
export function printClaim({ name, title }: Claim, { head, lines }: Table): string {
  return [`## ${title}`, "", `\`npm run bench -- ${name}\``, "", ...printTable(head, lines), ""].join("\n");
}

/** A table as the formatter leaves it: columns of one width, numbers to the right, first and last column to the left. */
function printTable(head: readonly string[], lines: readonly (readonly string[])[]): readonly string[] {
  const widths = head.map((_, at) => Math.max(3, ...[head, ...lines].map((cells) => cells[at]?.length ?? 0)));
  const isText = (at: number) => at === 0 || at === head.length - 1;
  const padded = (cells: readonly string[]) =>
    cells.map((cell, at) => (isText(at) ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)));
  const rule = widths.map((width, at) => (isText(at) ? "-".repeat(width) : `${"-".repeat(width - 1)}:`));
  return [padded(head), rule, ...lines.map(padded)].map((cells) => `| ${cells.join(" | ")} |`);
}

/** The whole of RESULTS.md. */
export function printResults(
  results: readonly { readonly claim: Claim; readonly table: Table }[],
  rounds: number,
): string {
  const targets = results.flatMap(({ table }) => table.targets);
  const missed = targets.filter(({ met }) => !met).length;
  const cores = cpus();
  return [
    "# Benchmarks",
    "",
    "Written by `npm run bench`; do not edit. Compare the figures with each other, not with those of another machine.",
    "",
    `- Date: ${new Date().toISOString().slice(0, 10)}`,
    `- Machine: ${cores.length} cores, ${cores[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GB, ${type()} ${release()}`,
    `- Node ${process.version}; rows against pi have both sides on the Node of the version: ${nodesOfPis()}`,
    "- pi is @mariozechner/pi-coding-agent 0.73.1 and @earendil-works/pi-coding-agent 1.6.0, the AI SDK ai 6.0.326",
    "- PostgreSQL 15 with its defaults on the same machine; PostgresSaver is @langchain/langgraph-checkpoint-postgres 1.0.5",
    `- Targets: ${targets.length - missed} met, ${missed} missed`,
    "",
    `Each figure is the median of ${rounds} runs, each in a new process, this library and its peer in turns on the same input.`,
    '"Times as fast" is the median over the pairs of runs, with the least and the greatest. Peak memory is the largest',
    "resident set of the whole process, Node itself included, which takes some 45 MB. Of pi only the file that keeps",
    "sessions is loaded.",
    "",
    ...results.map(({ claim, table }) => printClaim(claim, table)),
  ].join("\n");
}
