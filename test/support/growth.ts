/**
 * Work in proportion to what is read: between the sizes, time grows by less than the power 1.5 of the size. Linear work
 * measures 0.9 to 1.2 here, quadratic work 2.
 */
export const maxExponent = 1.5;
const runs = 7;

/** A busy machine can only make it look worse: so it is measured again before it is called too slow. */
const attempts = 3;

/** Microseconds of the processor that the shortest of several runs of each took: not of the clock, since others work too. */
function shortest(works: readonly (() => unknown)[]): readonly number[] {
  const least = works.map(() => Number.POSITIVE_INFINITY);
  for (let run = 0; run < runs; run++) {
    for (const [at, work] of works.entries()) {
      const started = process.cpuUsage();
      work();
      const { user, system } = process.cpuUsage(started);
      least[at] = Math.min(least[at] as number, user + system);
    }
  }
  return least;
}

/** The power of the size that the time grows with: the slope of the line through the logarithms. */
export function exponentOf<T>(
  sizes: readonly number[],
  make: (size: number) => T,
  work: (input: T) => unknown,
): number {
  const works = sizes.map((size) => {
    const input = make(size);
    return () => work(input);
  });
  works[0]?.();
  let least = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < attempts && least >= maxExponent; attempt++) {
    least = Math.min(least, slope(sizes.map(Math.log), shortest(works).map(Math.log)));
  }
  return least;
}

function slope(x: readonly number[], y: readonly number[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [meanX, meanY] = [mean(x), mean(y)];
  const together = x.map((value, at) => (value - meanX) * ((y[at] as number) - meanY));
  return mean(together) / mean(x.map((value) => (value - meanX) ** 2));
}

/** A size, its double, and so on: four of them. */
export const growing = (first: number): readonly number[] => [first, 2 * first, 4 * first, 8 * first];

/** {@link exponentOf} for work that waits, for nothing but what is in memory. */
export async function exponentOfAsync<T>(
  sizes: readonly number[],
  make: (size: number) => T,
  work: (input: T) => Promise<unknown>,
): Promise<number> {
  const inputs = sizes.map(make);
  await work(inputs[0] as T);
  let exponent = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < attempts && exponent >= maxExponent; attempt++) {
    const least = inputs.map(() => Number.POSITIVE_INFINITY);
    for (let run = 0; run < runs; run++) {
      for (const [at, input] of inputs.entries()) {
        const started = process.cpuUsage();
        await work(input);
        const { user, system } = process.cpuUsage(started);
        least[at] = Math.min(least[at] as number, user + system);
      }
    }
    exponent = Math.min(exponent, slope(sizes.map(Math.log), least.map(Math.log)));
  }
  return exponent;
}
