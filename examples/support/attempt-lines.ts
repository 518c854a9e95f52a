import type { Attempt } from "./compacting-agent.js";

/** Attempts to compact as a table, one a line. */
export function attemptLines(attempts: readonly Attempt[]): readonly string[] {
  const rows = attempts.map(({ turn, strategy, trigger, outcome }) => [
    `turn ${turn}`,
    strategy,
    trigger,
    ...outcomeCells(outcome),
  ]);
  const widths = [0, 1, 2, 3].map((at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

function outcomeCells(outcome: Attempt["outcome"]): readonly string[] {
  if (typeof outcome === "string") return [outcome, "nothing was written"];
  if (!("tokensAfter" in outcome)) return [outcome.status];
  const { status, tokensBefore, tokensAfter } = outcome;
  const asked = outcome.status === "compacted" ? `, model asked ${outcome.calls} times` : "";
  return [status, `${tokensBefore} -> ${tokensAfter} tokens${asked}`];
}

/** For a chart: compacted, pruned, or failed. */
export function attemptMark({ outcome }: Attempt): string {
  if (typeof outcome === "string") return "x";
  return outcome.status === "pruned" ? "p" : "C";
}
