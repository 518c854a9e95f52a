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
  readonly pi?: Figure;
  /** How many times faster this library is: the median over pairs of runs, and the least and the greatest. */
  readonly ratio?: { readonly median: number; readonly min: number; readonly max: number };
  /** Empty for a row that is there for comparison. */
  readonly targets: readonly Target[];
}

/** Something that the documentation says of speed or memory, and the program that shows whether it holds. */
export interface Claim {
  readonly name: string;
  readonly title: string;
  measure(runner: Runner): Promise<readonly Row[]>;
}

/** The target of being at least so many times faster than pi. */
export function fasterThanPi(row: Pick<Row, "ratio">, atLeast: number): Target {
  return {
    text: atLeast === 1 ? "at least as fast as pi" : `at least ${atLeast} times as fast as pi`,
    met: row.ratio !== undefined && row.ratio.median >= atLeast,
  };
}

/** The target of less peak memory than pi. */
export function lighterThanPi(row: Pick<Row, "ours" | "pi">): Target {
  return { text: "less peak memory than pi", met: row.pi !== undefined && row.ours.peakMb < row.pi.peakMb };
}
