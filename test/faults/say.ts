import { writeSync } from "node:fs";

/** Says a line to the test, at once, so that what was said is what was known when the process died. */
export function say(line: string): void {
  writeSync(1, `${line}\n`);
}
