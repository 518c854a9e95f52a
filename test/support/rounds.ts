/**
 * The number of rounds of a test: `few` by default, SESSILE_FAULT_ROUNDS if it is set, at most `many`. The project
 * `properties` of vitest.config.ts sets it to the most.
 */
export function rounds(few: number, many: number): number {
  const wanted = Number(process.env.SESSILE_FAULT_ROUNDS ?? few);
  if (!Number.isInteger(wanted) || wanted < 0) {
    throw new RangeError(
      `SESSILE_FAULT_ROUNDS: expected an integer >= 0, got ${process.env.SESSILE_FAULT_ROUNDS}`,
    );
  }
  return Math.min(wanted, many);
}

/** The subjects of a suite: the first `few` in `npm test`, all in the project `properties`. */
export function subjects<T>(
  few: number,
  all: Readonly<Record<string, T>>,
): readonly (readonly [string, T])[] {
  return Object.entries(all).slice(0, rounds(few, Object.keys(all).length));
}
