import { isDeepStrictEqual } from "node:util";

/** Prints whether something is as expected. The program goes on either way, and ends with exit code 1 if it was not. */
export function check(what: string, actual: unknown, expected: unknown = true): void {
  const ok = isDeepStrictEqual(actual, expected);
  console.log(`${ok ? "ok  " : "FAIL"} ${what}`);
  if (ok) return;
  console.log("     expected", expected, "\n     got     ", actual);
  process.exitCode = 1;
}
