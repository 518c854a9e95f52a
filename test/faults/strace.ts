import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { onTestFinished } from "vitest";

/**
 * System calls that change a file or a name, or that say something to somebody; all others leave nothing for a crash to
 * show. Those that an architecture does not have are passed over.
 */
export const changingCalls = [
  ...["openat", "open", "creat", "close", "write", "pwrite64", "writev", "pwritev", "ftruncate", "truncate"],
  ...["fsync", "fdatasync", "rename", "renameat", "renameat2", "link", "linkat", "unlink", "unlinkat"],
  ...["mkdir", "mkdirat", "symlink", "symlinkat", "utimensat", "fchmod", "copy_file_range", "ioctl"],
]
  .map((name) => `?${name}`)
  .join(",");

/** Which threads of a process to trace: Node's own, or those that wait for the disk. Each counts its calls by itself. */
export type Threads = "main" | "others" | "all";

/** A trace that is under way. */
export interface Trace {
  /** What the calls were, a line each, once the process has ended or the trace was stopped. */
  readonly calls: Promise<readonly string[]>;
  /** Leaves the process to itself. */
  stop(): Promise<void>;
}

/**
 * Traces a process from now on, and injects a fault: `inject` as strace has it, such as `fdatasync:error=EIO:when=1`.
 * See strace(1), read 2026-11-22.
 */
export async function trace(
  pid: number,
  options: {
    readonly threads: Threads;
    readonly calls: string;
    readonly inject?: string;
    /** Only calls that have to do with this path. */
    readonly path?: string;
  },
): Promise<Trace> {
  const { threads, calls, inject, path } = options;
  const all = readdirSync(`/proc/${pid}/task`).map(Number);
  const traced = all.filter((thread) => threads === "all" || (thread === pid) === (threads === "main"));
  const args = [
    ...traced.flatMap((thread) => ["-p", String(thread)]),
    ...["-e", `trace=${calls}`, "-e", "signal=none"],
    ...(inject === undefined ? [] : ["-e", `inject=${inject}`]),
    ...(path === undefined ? [] : ["-P", path]),
  ];
  const strace = spawn("strace", args, { stdio: ["ignore", "ignore", "pipe"] });
  let text = "";
  const ended = new Promise<void>((resolve) => strace.once("close", () => resolve()));
  onTestFinished(async () => {
    strace.kill("SIGKILL");
    await ended;
  });
  await new Promise<void>((resolve, reject) => {
    strace.stderr.setEncoding("utf8").on("data", (data: string) => {
      text += data;
      if (text.split(" attached").length > traced.length) resolve();
    });
    void ended.then(() => reject(new Error(`strace ended before it had begun: ${text}`)));
  });
  return {
    calls: ended.then(() => text.split("\n").filter((line) => /^(\[pid +\d+\] )?\w+\(/.test(line))),
    async stop() {
      strace.kill("SIGTERM");
      await ended;
    },
  };
}
