#!/usr/bin/env node
/** The executable: the process as the environment of the program. */

import { readFileSync } from "node:fs";
import { commands } from "./commands/index.js";
import { runProgram } from "./program.js";

const program = {
  commands,
  /** Read for the help alone. */
  get version(): string {
    return JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")).version;
  },
};
const interrupt = new AbortController();
const interruptedCode = 130;

process.on("SIGINT", () => {
  // A second signal ends a command that ignores the first.
  if (interrupt.signal.aborted) process.exit(interruptedCode);
  interrupt.abort();
});
// The callback of each write gets the error too. Without a listener it would end the process.
process.stdout.on("error", () => {});
process.stderr.on("error", () => {});

const { stdin, stdout, stderr, env } = process;

async function ask(question: string): Promise<string> {
  const { createInterface } = await import("node:readline/promises");
  const lines = createInterface({ input: stdin, output: stderr });
  try {
    return await lines.question(question, { signal: interrupt.signal });
  } finally {
    lines.close();
  }
}

const code = await runProgram(program, process.argv.slice(2), {
  stdout,
  stderr,
  env,
  cwd: process.cwd(),
  signal: interrupt.signal,
  now: Date.now,
  ...(stdin.isTTY === true ? { ask } : {}),
});
process.exitCode = interrupt.signal.aborted ? interruptedCode : code;
