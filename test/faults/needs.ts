import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { beforeEach } from "vitest";

/** What a fault may take to be made: a command, or something that this machine allows. */
export type Need = "root" | "loop" | "ptrace" | (string & {});

/**
 * Skips the tests of the present describe where something is absent, and says what. Gives the same, empty where all is
 * there, for hooks that would fail.
 */
export function needs(...wanted: readonly Need[]): string {
  const absent = wanted.map(absence).filter((reason) => reason !== "");
  const why = absent.join(", ");
  beforeEach(({ skip }) => skip(why !== "", why));
  return why;
}

function absence(need: Need): string {
  if (need === "root") return process.getuid?.() === 0 ? "" : "this needs root";
  if (need === "loop") return existsSync("/dev/loop-control") ? "" : "this needs loop devices";
  if (need === "ptrace") {
    const { status } = spawnSync("strace", ["-o", "/dev/null", "-e", "trace=none", "true"]);
    return status === 0 ? "" : "this needs strace, and to be allowed to trace";
  }
  return spawnSync("which", [need]).status === 0 ? "" : `this needs ${need}`;
}
