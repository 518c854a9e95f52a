import { readFileSync } from "node:fs";

/**
 * Milliseconds of the processor that this thread has used. Neither other programs nor the tests in other threads of this
 * process count, which `process.cpuUsage()` includes. Outside Linux the whole process counts.
 */
export function processorMs(): number {
  try {
    return Number(readFileSync("/proc/thread-self/schedstat", "utf8").split(" ")[0]) / 1e6;
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e3;
  }
}
