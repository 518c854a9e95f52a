// What grep does in the benchmarks of the command line: node tasks/grep.mjs TASK INPUT
import { timeProgram } from "./program.mjs";

/** @type {{ dir: string, word: string }} */
const { dir, word } = JSON.parse(process.argv[3] ?? "{}");
const countOf = (/** @type {string} */ line) => Number(line.slice(line.lastIndexOf(":") + 1));
await timeProgram("grep", ["-rc", word, dir], (output) =>
  output
    .trim()
    .split("\n")
    .reduce((sum, line) => sum + countOf(line), 0),
);
