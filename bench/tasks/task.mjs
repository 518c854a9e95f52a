/**
 * Runs the task that the command line names and prints its time, the peak of this process's resident memory, and what it
 * found. Only what is inside `timed` is timed, after a collection of what was made before.
 *
 * @param {Record<string, (input: any, timed: <T>(act: () => T | Promise<T>) => Promise<T>) => Promise<unknown>>} tasks
 */
export async function task(tasks) {
  const [, , name = "", input = "{}"] = process.argv;
  const run = tasks[name];
  if (run === undefined) throw new TypeError(`task: expected one of ${Object.keys(tasks)}, got ${name}`);
  let ms = Number.NaN;
  const found = await run(JSON.parse(input), async (act) => {
    globalThis.gc?.();
    const start = performance.now();
    const value = await act();
    ms = performance.now() - start;
    return value;
  });
  console.log(JSON.stringify({ ms, peakMb: process.resourceUsage().maxRSS / 1024, found }));
}
