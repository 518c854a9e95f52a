// What the command line does in the benchmarks: node tasks/command-line.mjs TASK INPUT
import { timeProgram } from "./program.mjs";

const [, , task, input = "{}"] = process.argv;
/** @type {{ program: string, dir: string, word?: string }} */
const { program, dir, word = "" } = JSON.parse(input);
const words = task === "ls" ? ["ls", "--dir", dir] : ["search", word, "--dir", dir];
await timeProgram(process.execPath, [program, ...words], (output) => output.trim().split("\n").length);
