import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "tsup";
import { afterAll, beforeAll, onTestFinished } from "vitest";

/** Another process that plays a role. */
export interface Child {
  readonly process: ChildProcess;
  readonly pid: number;
  /** Whole lines that it has said so far. */
  readonly said: readonly string[];
  /** Resolves when it has said a line. */
  saying(line: string): Promise<void>;
  /** Resolves when it has said so many lines, or has ended. */
  sayingSoMany(count: number): Promise<void>;
  /** Its exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>;
  kill(signal: NodeJS.Signals): void;
  /** Stops it; resolves when each of its threads has stopped, those too that waited for the disk. */
  stop(): Promise<void>;
}

/** Starts a role of child.ts. */
export type StartChild = (role: string, ...args: string[]) => Child;

/** Makes the roles of child.ts startable in this file's tests. */
export function useChildren(): StartChild {
  const program = useProgram(new URL("./child.ts", import.meta.url));
  return (role, ...args) => startProcess(process.execPath, [program(), role, ...args]);
}

/**
 * The path of a program in this file's tests. It is bundled once, since a process that has to compile its
 * sources takes five times as long to start, and some tests start many. Any user may read it.
 */
export function useProgram(source: URL): () => string {
  let dir = "";
  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), "sessile-child-"));
    chmodSync(dir, 0o755);
    symlinkSync(fileURLToPath(new URL("../../node_modules", import.meta.url)), join(dir, "node_modules"));
    await build({
      entry: { child: fileURLToPath(source) },
      outDir: dir,
      format: ["esm"],
      target: "node20",
      platform: "node",
      noExternal: [/^(?!node-sqlite3-wasm$)/],
      // It reads a file beside its own.
      external: ["node-sqlite3-wasm"],
      // Of a dependency in CommonJS, `require` of Node's own modules stays in the bundle.
      banner: {
        js: 'import { createRequire as requireOf } from "node:module"; const require = requireOf(import.meta.url);',
      },
      outExtension: () => ({ js: ".mjs" }),
      config: false,
      silent: true,
      dts: false,
    });
  });
  afterAll(() => rmSync(dir, { recursive: true, force: true }));
  return () => join(dir, "child.mjs");
}

/** Starts a process, which does not outlive the test. */
export function startProcess(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Child {
  const child = spawn(command, args, {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, ...env },
  });
  // One that was killed reads nothing more.
  child.stdin.on("error", () => undefined);
  const said: string[] = [];
  let rest = "";
  const listeners = new Set<() => void>();
  child.stdout.setEncoding("utf8").on("data", (data: string) => {
    const lines = (rest + data).split("\n");
    rest = lines.pop() ?? "";
    said.push(...lines);
    for (const listener of listeners) listener();
  });
  const ended = new Promise<number | NodeJS.Signals>((resolve) => {
    // Not "exit": what it said is in the pipe until this.
    child.once("close", (code, signal) => resolve(code ?? signal ?? 0));
  });
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  return {
    process: child,
    pid: child.pid ?? 0,
    said,
    ended,
    kill: (signal) => void child.kill(signal),
    async stop() {
      child.kill("SIGSTOP");
      while (child.exitCode === null && child.signalCode === null && !isStopped(child.pid ?? 0))
        await new Promise((resolve) => setTimeout(resolve, 1));
    },
    sayingSoMany: (count) =>
      new Promise((resolve) => {
        const check = () => {
          if (said.length < count) return;
          listeners.delete(check);
          resolve();
        };
        listeners.add(check);
        void ended.then(() => resolve());
        check();
      }),
    saying: (line) =>
      new Promise((resolve, reject) => {
        const check = () => {
          if (!said.includes(line)) return;
          listeners.delete(check);
          resolve();
        };
        listeners.add(check);
        void ended.then((how) => reject(new Error(`the child ended (${how}) and did not say ${line}`)));
        check();
      }),
  };
}

/** Whether each thread of a process is stopped, by /proc. */
function isStopped(pid: number): boolean {
  return readdirSync(`/proc/${pid}/task`).every((thread) => {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, "utf8");
    return stat.startsWith("T", stat.lastIndexOf(")") + 2);
  });
}
