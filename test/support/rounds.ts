/** The number that a variable of the environment has, which is an integer >= 0. */
function numberIn(name: string, absent: number): number {
  const value = process.env[name];
  const number = Number(value ?? absent);
  if (!Number.isInteger(number) || number < 0)
    throw new RangeError(`${name}: expected an integer >= 0, got ${value}`);
  return number;
}

/**
 * The number of rounds of a test: `few` by default. With SESSILE_FAULT_ROUNDS, which is the most rounds, `many`; or
 * SESSILE_ROUNDS_PERCENT of `many`, though not fewer than `few`. The project `properties` of vitest.config.ts sets the first.
 */
export function rounds(few: number, many: number): number {
  if (process.env.SESSILE_FAULT_ROUNDS === undefined) return few;
  const part = Math.max(few, Math.ceil((many * numberIn("SESSILE_ROUNDS_PERCENT", 100)) / 100));
  return Math.min(numberIn("SESSILE_FAULT_ROUNDS", part), part, many);
}

/**
 * Whether this run has SESSILE_FAULT_ROUNDS, as the project `properties`: tests of large inputs are in no other, by
 * `test.runIf(isFull)`.
 */
export const isFull = process.env.SESSILE_FAULT_ROUNDS !== undefined;

/** The subjects of a suite: the first `few` in `npm test`, all in the project `properties`. */
export function subjects<T>(
  few: number,
  all: Readonly<Record<string, T>>,
): readonly (readonly [string, T])[] {
  return Object.entries(all).slice(0, numberIn("SESSILE_FAULT_ROUNDS", few));
}
