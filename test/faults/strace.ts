import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { onTestFinished } from "vitest";

/**
 * System calls that change a file or a name, or that say something to somebody. A process that is killed at one has made
 * all before it, so that what a call leaves is seen at the next.
 */
export const changingCalls: readonly string[] = [
  ...["write", "pwrite64", "writev", "pwritev", "ftruncate", "truncate", "fallocate", "copy_file_range"],
  ...["fsync", "fdatasync", "rename", "renameat", "renameat2", "link", "linkat", "unlink", "unlinkat"],
  ...["mkdir", "mkdirat", "symlink", "symlinkat", "utimensat", "fchmod", "ioctl"],
];

/** These, and those that look at files, or let go of them. */
export const fileCalls: readonly string[] = [
  ...changingCalls,
  ...[
    "open",
    "openat",
    "creat",
    "close",
    "stat",
    "lstat",
    "fstat",
    "newfstatat",
    "statx",
    "access",
    "readlink",
  ],
  ...["read", "pread64", "lseek", "getdents64", "fcntl"],
];

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
 * Traces a process from now on, and injects a fault: `inject` as strace has it, such as `fdatasync:error=EIO:when=1`, which
 * counts each call of each thread by itself. See strace(1), read 2026-11-22, and strace 6.1, tried.
 */
export async function trace(
  pid: number,
  options: {
    readonly threads: Threads;
    /** Those that an architecture does not have are passed over. */
    readonly calls: readonly string[];
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
    ...["-e", `trace=${calls.map((name) => `?${name}`).join(",")}`, "-e", "signal=none"],
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
