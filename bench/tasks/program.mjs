import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";

/**
 * Runs a program to its end, from its start on. Prints its time, the peak of its resident memory, and what `found` makes of
 * its output.
 *
 * @param {string} file @param {readonly string[]} words @param {(output: string) => unknown} found
 */
export async function timeProgram(file, words, found) {
  const start = performance.now();
  const child = spawn(file, words, {
    stdio: ["ignore", "pipe", "inherit"],
    env: { PATH: process.env.PATH, HOME: "/none" },
  });
  let peakMb = 0;
  const sample = setInterval(() => {
    try {
      const [, kb = "0"] = /VmHWM:\s*(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8")) ?? [];
      peakMb = Math.max(peakMb, Number(kb) / 1024);
    } catch {
      // It ended, or this system has no such files.
    }
  }, 10);
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, "exit")]);
  const ms = performance.now() - start;
  clearInterval(sample);
  if (code !== 0) throw new Error(`${file}: exit code ${code}`);
  console.log(JSON.stringify({ ms, peakMb, found: found(output) }));
}
