import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "tsup";
import { afterAll, beforeAll, onTestFinished } from "vitest";

/** Another process that plays a role of child.ts. */
export interface Child {
  readonly process: ChildProcess;
  readonly pid: number;
  /** Whole lines that it has said so far. */
  readonly said: readonly string[];
  /** Resolves when it has said a line. */
  saying(line: string): Promise<void>;
  /** Its exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>;
  kill(signal: NodeJS.Signals): void;
}

/**
 * Makes the roles of child.ts startable in this file's tests. They are bundled once, since a process that has to compile
 * its sources takes five times as long to start, and some tests start many.
 */
export function useChildren(): (role: string, ...args: string[]) => Child {
  let dir = "";
  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), "sessile-child-"));
    await build({
      entry: { child: fileURLToPath(new URL("./child.ts", import.meta.url)) },
      outDir: dir,
      format: ["esm"],
      target: "node20",
      platform: "node",
      noExternal: [/.*/],
      outExtension: () => ({ js: ".mjs" }),
      config: false,
      silent: true,
      dts: false,
    });
  }, 30_000);
  afterAll(() => rmSync(dir, { recursive: true, force: true }));
  return (role, ...args) => startChild(join(dir, "child.mjs"), role, args);
}

function startChild(program: string, role: string, args: readonly string[]): Child {
  const child = spawn(process.execPath, [program, role, ...args], { stdio: ["pipe", "pipe", "inherit"] });
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
