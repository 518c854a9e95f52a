import { isDeepStrictEqual } from "node:util";

/** Prints whether a value is as expected. After a failure the program goes on, and ends with exit code 1. */
export function check(what: string, actual: unknown, expected: unknown = true): void {
  const ok = isDeepStrictEqual(actual, expected);
  console.log(`${ok ? "ok  " : "FAIL"} ${what}`);
  if (ok) return;
  console.log("     expected", expected, "\n     got     ", actual);
  process.exitCode = 1;
}
