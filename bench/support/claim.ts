import type { Runner } from "./runner.js";

/** What one side of a row took; medians over the rounds. */
export interface Figure {
  readonly ms: number;
  readonly peakMb: number;
}

/** A condition that a row has to meet. */
export interface Target {
  readonly text: string;
  readonly met: boolean;
}

/** One line of the results. */
export interface Row {
  readonly what: string;
  readonly ours: Figure;
  /** Absent where the claim is about this library alone. */
  readonly peer?: Figure;
  /** How many times faster this library is: the median over pairs of runs, and the least and the greatest. */
  readonly ratio?: { readonly median: number; readonly min: number; readonly max: number };
  /** Empty for a row that is there for comparison. */
  readonly targets: readonly Target[];
}

/** What a claim comes to, as it is printed: the first and the last column are text, those between are numbers. */
export interface Table {
  readonly head: readonly string[];
  readonly lines: readonly (readonly string[])[];
  readonly targets: readonly Target[];
}

/** Something that the documentation says of speed, memory or error, and the program that shows whether it holds. */
export interface Claim {
  readonly name: string;
  readonly title: string;
  measure(runner: Runner): Promise<Table>;
}

/** The target of being at least so many times as fast as the peer. */
export function fasterThan(peer: string, row: Pick<Row, "ratio">, atLeast: number): Target {
  return {
    text: atLeast === 1 ? `at least as fast as ${peer}` : `at least ${atLeast} times as fast as ${peer}`,
    met: row.ratio !== undefined && row.ratio.median >= atLeast,
  };
}

/** The target of less peak memory than the peer, or of so small a part of it. */
export function lighterThan(peer: string, row: Pick<Row, "ours" | "peer">, part = 1): Target {
  return {
    text: part === 1 ? `less peak memory than ${peer}` : `at most 1/${part} of ${peer}'s peak memory`,
    met: row.peer !== undefined && row.ours.peakMb * part < row.peer.peakMb,
  };
}

/** Times and peaks as a table, the peer's beside ours where there is a peer. */
export function timesTable(peer: string | undefined, rows: readonly Row[]): Table {
  const head =
    peer === undefined
      ? ["", "ms", "peak MB", "target"]
      : ["", "ms", `${peer} ms`, "times as fast (least to most)", "peak MB", `${peer} peak MB`, "target"];
  const lines = rows.map(({ what, ours, peer: theirs, ratio, targets }) => {
    const verdict = targets.length === 0 ? "none" : targets.map(printTarget).join("; ");
    if (theirs === undefined || ratio === undefined) return [what, ms(ours.ms), mb(ours.peakMb), verdict];
    const times = `${timesOf(ratio.median)} (${timesOf(ratio.min)} to ${timesOf(ratio.max)})`;
    return [what, ms(ours.ms), ms(theirs.ms), times, mb(ours.peakMb), mb(theirs.peakMb), verdict];
  });
  return { head, lines, targets: rows.flatMap((row) => row.targets) };
}

/** How many times as fast; with two places where it is slower, since 0.16 and 0.24 are far apart. */
export function timesOf(ratio: number): string {
  return ratio.toFixed(ratio < 0.95 ? 2 : 1);
}

export function printTarget({ text, met }: Target): string {
  return `${met ? "met" : "**missed**"}: ${text}`;
}

function ms(value: number): string {
  return value < 10 ? value.toFixed(1) : String(Math.round(value));
}

function mb(value: number): string {
  return String(Math.round(value));
}
