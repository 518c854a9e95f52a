import { commands } from "../../src/cli/commands/index.js";
import { runProgram } from "../../src/cli/program.js";

/** What a call of the command line gave. */
export interface Called {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** The lines of standard output as JSON. */
  readonly json: readonly ReturnType<typeof JSON.parse>[];
}

export interface CallOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Standard output is a terminal of so many columns. */
  readonly columns?: number;
  readonly signal?: AbortSignal;
  readonly now?: number;
}

/** The program within this process. Homes of agents are empty unless `env` names them. */
export async function call(words: readonly string[], options: CallOptions = {}): Promise<Called> {
  const { cwd = process.cwd(), columns, signal = new AbortController().signal, now } = options;
  const text = { stdout: "", stderr: "" };
  const stream = (name: keyof typeof text, width?: number) => ({
    write(written: string, done?: () => void) {
      text[name] += written;
      done?.();
      return true;
    },
    isTTY: width !== undefined,
    columns: width,
  });
  const code = await runProgram({ version: "0.0.0", commands }, words, {
    stdout: stream("stdout", columns),
    stderr: stream("stderr"),
    env: { HOME: `${cwd}/no-home`, ...options.env },
    cwd,
    signal,
    now: () => now ?? Date.now(),
  });
  return {
    ...text,
    code,
    get json() {
      return text.stdout
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line));
    },
  };
}
