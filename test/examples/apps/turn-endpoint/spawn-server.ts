import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { TurnServer } from "../../../../examples/apps/turn-endpoint/server.js";
import { runsSources } from "../../support/programs.js";

const program = fileURLToPath(new URL("server-process.ts", import.meta.url));

/** A server in a process of its own. */
export interface ServerProcess extends Pick<TurnServer, "origin" | "port" | "token">, AsyncDisposable {
  kill(): Promise<void>;
  /** Bytes of memory: now, and the most that there ever were. */
  memory(): { readonly now: number; readonly most: number };
}

export async function spawnServer(dir: string): Promise<ServerProcess> {
  const child = spawn(process.execPath, [...runsSources, program, dir], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout });
  const [line] = (await once(lines, "line")) as [string];
  const address = JSON.parse(line) as Pick<TurnServer, "origin" | "port" | "token">;
  return {
    ...address,
    kill: () => kill(child),
    memory() {
      const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
      const bytes = (name: string) =>
        1024 * Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1]);
      return { now: bytes("VmRSS"), most: bytes("VmHWM") };
    },
    [Symbol.asyncDispose]: () => kill(child),
  };
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}
