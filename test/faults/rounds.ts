/**
 * How many rounds a test goes: few where it runs with all others, and as many as SESSILE_FAULT_ROUNDS says where somebody
 * wants to be sure, up to the number after which more would say nothing new.
 */
export function rounds(few: number, many: number): number {
  const wanted = Number(process.env.SESSILE_FAULT_ROUNDS ?? few);
  if (!Number.isInteger(wanted) || wanted < 1) {
    throw new RangeError(
      `SESSILE_FAULT_ROUNDS: expected an integer >= 1, got ${process.env.SESSILE_FAULT_ROUNDS}`,
    );
  }
  return Math.min(wanted, many);
}
