import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { delimiter, join } from "node:path";
import { root } from "./entries.mjs";

/**
 * Runs a command at the root of the repository, with the installed tools on the path, and keeps what it prints.
 *
 * @param {readonly string[]} command
 * @param {number} timeoutMs
 * @returns {Promise<{ ok: boolean, output: string, seconds: string }>}
 */
export function run([file = "", ...args], timeoutMs) {
  const start = performance.now();
  const path = `${join(root, "node_modules", ".bin")}${delimiter}${process.env.PATH}`;
  const child = spawn(file, args, {
    cwd: root,
    env: { ...process.env, PATH: path, NO_COLOR: "1", FORCE_COLOR: undefined },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: timeoutMs,
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
  }
  return new Promise((resolve) => {
    /** @param {boolean} ok */
    const end = (ok) => resolve({ ok, output, seconds: ((performance.now() - start) / 1000).toFixed(1) });
    child.on("error", (error) => {
      output += error.message;
      end(false);
    });
    child.on("close", (code, signal) => {
      if (signal) output += `\nended by ${signal} (at most ${timeoutMs / 1000} s)`;
      end(code === 0);
    });
  });
}

/**
 * Does something with each item, as many at a time as there are processors, in their order.
 *
 * @template T
 * @param {readonly T[]} items
 * @param {(item: T) => Promise<void>} act
 */
export async function together(items, act) {
  const waiting = [...items];
  const work = async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await act(item);
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
}

/**
 * Prints the closing line that a reader of the log looks for, and sets the exit code.
 *
 * @param {number} passed
 * @param {number} failed
 */
export function close(passed, failed) {
  console.log(`\n${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}
