import { type ChildProcess, spawn } from "node:child_process";

/** Bounds of {@link runBash}. */
export interface BashOptions {
  readonly cwd: string;
  readonly signal: AbortSignal;
  /** Default 20 000. */
  readonly timeoutMs?: number;
  /** Of standard output and error together; what is over is left out. Default 30 000. */
  readonly maxCharacters?: number;
}

/**
 * Runs a command and gives what it printed. Bounded in time and output, and in nothing else: `cwd` is where the command
 * starts, and it can read, write and send whatever this user can. This is no sandbox; a real agent asks the user first, or
 * runs the command in a container.
 *
 * @throws Error when the command fails or is stopped, with what it printed; the message is for the model
 */
export async function runBash(command: string, options: BashOptions): Promise<string> {
  const { cwd, signal, timeoutMs = 20_000, maxCharacters = 30_000 } = options;
  const stop = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  stop.throwIfAborted();
  const child = spawn("bash", ["-c", command], {
    cwd,
    // The agent's environment holds its keys; the command has no business with them.
    env: { PATH: process.env.PATH, HOME: cwd, LANG: "C.UTF-8" },
    stdio: ["ignore", "pipe", "pipe"],
    // A process group of its own, so that what the command started can be stopped with it.
    detached: true,
  });
  let output = "";
  let left = 0;
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      const taken = text.slice(0, maxCharacters - output.length);
      output += taken;
      left += text.length - taken.length;
    });
  }
  const end = () => {
    killGroup(child);
    // What left the group may still hold the pipes; it is not waited for.
    for (const stream of [child.stdout, child.stderr]) stream.destroy();
  };
  stop.addEventListener("abort", end, { once: true });
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    });
    if (left > 0) output += `\n[${left} more characters]`;
    if (code === 0) return output;
    throw new Error(`${output}\n[${stop.aborted ? "stopped" : `exit code ${code}`}]`);
  } finally {
    stop.removeEventListener("abort", end);
  }
}

function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // It ended by itself in the meantime.
  }
}
