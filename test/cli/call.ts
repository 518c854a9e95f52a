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

/** The variables that move the homes of agents: of this machine's user they are none of a test's business. */
const homes = [
  "CLAUDE_CONFIG_DIR",
  "CODEX_HOME",
  "GEMINI_CLI_HOME",
  "XDG_DATA_HOME",
  "PI_CODING_AGENT_DIR",
  "QWEN_RUNTIME_DIR",
  "QWEN_HOME",
  "KIMI_CODE_HOME",
];

/** The program within this process. Homes of agents are absent unless `env` names them. */
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
  const known = homes.map((name) => [name, process.env[name]] as const);
  for (const name of homes) process.env[name] = options.env?.[name] ?? `${cwd}/no-home`;
  const code = await runProgram({ version: "0.0.0", commands }, words, {
    stdout: stream("stdout", columns),
    stderr: stream("stderr"),
    env: options.env ?? {},
    cwd,
    signal,
    now: () => now ?? Date.now(),
  }).finally(() => {
    for (const [name, value] of known) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
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
