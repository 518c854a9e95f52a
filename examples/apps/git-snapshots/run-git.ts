/** Runs git by its command line: without a shell, without hooks, and without the caller's `GIT_*` variables. */
import { spawn } from "node:child_process";
import { once } from "node:events";

/** A git command that failed; its message ends with the words of git. */
export class GitError extends Error {
  override readonly name = "GitError";
  /** The arguments of git. */
  readonly args: readonly string[];
  /** The exit code, or the signal that ended git; undefined if it did not start. */
  readonly exit: number | string | undefined;

  constructor(args: readonly string[], exit: number | string | undefined, words: string, cause?: unknown) {
    const how = exit === undefined ? "did not start" : `failed with ${exit}`;
    super(`git ${args.join(" ")} ${how}: ${words.trim() || "(no message)"}`, { cause });
    this.args = args;
    this.exit = exit;
  }
}

/** Options of a {@link Git} command. */
export interface GitCommand {
  readonly input?: string | Buffer;
  /** Variables beside those of {@link gitIn}. */
  readonly env?: Readonly<Record<string, string>>;
  /** Exit codes above 0 that are an answer. */
  readonly answers?: readonly number[];
}

/** Runs a command and returns its output. */
export type Git = (args: readonly string[], command?: GitCommand) => Promise<Buffer>;

/**
 * Settings of the user that would run programs or change more than asked. A reference transaction and a
 * written index have hooks too. Replaced objects would give other bytes.
 */
const settings = [
  ...["--no-optional-locks", "--no-replace-objects"],
  ...["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"],
  ...["-c", "core.logAllRefUpdates=false", "-c", "core.untrackedCache=false"],
];

/** A git that runs in a directory, with variables of its own. */
export function gitIn(cwd: string, own: Readonly<Record<string, string>> = {}): Git {
  return async (args, command) => {
    const child = spawn("git", [...settings, ...args], {
      cwd,
      env: { ...inheritedEnvironment(), ...own, ...command?.env },
      stdio: ["pipe", "pipe", "pipe"],
    });
    const output: Buffer[] = [];
    let words = "";
    child.stdout.on("data", (piece: Buffer) => output.push(piece));
    child.stderr.setEncoding("utf8").on("data", (piece: string) => {
      words += piece;
    });
    // A command that ends early does not read its whole input. Its exit code says if it failed.
    child.stdin.on("error", () => undefined);
    child.stdin.end(command?.input);
    const [code, signal] = await once(child, "close").catch((cause: unknown) => {
      throw new GitError(args, undefined, String(cause), cause);
    });
    if (code === 0 || command?.answers?.includes(code)) return Buffer.concat(output);
    throw new GitError(args, code ?? signal, words);
  };
}

/** The variables of this process, without those that redirect git, such as within a hook. */
function inheritedEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^GIT_/i.test(name));
  return { ...Object.fromEntries(kept), LC_ALL: "C", GIT_TERMINAL_PROMPT: "0" };
}

/** The fields of a `-z` output. A path is a binary string, one character a byte: it need not be UTF-8. */
export function fieldsOf(output: Buffer): readonly string[] {
  return output.toString("latin1").split("\0").slice(0, -1);
}

/** The input of a command with `-z --stdin`. */
export function inputOf(fields: Iterable<string>): Buffer {
  return Buffer.from([...fields].map((field) => `${field}\0`).join(""), "latin1");
}

/** The only line of an output. */
export function lineOf(output: Buffer): string {
  return output.toString().replace(/\n$/, "");
}
