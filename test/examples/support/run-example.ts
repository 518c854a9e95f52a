import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { root } from "../../../scripts/entries.mjs";
import { type Called, call } from "../../cli/call.js";
import { runsSources } from "./programs.js";

/** The result of a program that ran. */
export interface ExampleRun {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Keys and addresses of the tests' user are not for examples. */
const noKeys = {
  ...{ ANTHROPIC_API_KEY: undefined, ANTHROPIC_AUTH_TOKEN: undefined, ANTHROPIC_BASE_URL: undefined },
  ...{ ANTHROPIC_MODEL: undefined, OPENAI_API_KEY: undefined, OPENAI_BASE_URL: undefined },
  ...{ OPENAI_MODEL: undefined, GEMINI_API_KEY: undefined, GEMINI_MODEL: undefined },
  ...{ GOOGLE_API_KEY: undefined, GOOGLE_GEMINI_BASE_URL: undefined, CONTEXT_WINDOW: undefined },
};

/** The environment with which an example asks a provider on this machine, as it would ask the real one. */
export function claudeAt(url: string): NodeJS.ProcessEnv {
  return { ANTHROPIC_API_KEY: "key", ANTHROPIC_BASE_URL: url };
}

/** Starts an example by its name, such as `01-coding-agent`. Without a key in `env` it works offline. */
export function startExample(name: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  return startProgram([...runsSources, `examples/${name}.ts`, ...args], env);
}

/** Starts Node with a program of the repository. */
export function startProgram(words: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const child = spawn(process.execPath, words, {
    cwd: root,
    env: { ...process.env, ...noKeys, NO_COLOR: "1", FORCE_COLOR: undefined, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  return { child, done: end(child) };
}

/** Runs an example to its end. */
export function runExample(
  name: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<ExampleRun> {
  return startExample(name, args, env).done;
}

async function end(child: ChildProcess): Promise<ExampleRun> {
  const { stdout, stderr } = child;
  if (stdout === null || stderr === null) throw new Error("the program has pipes");
  const [[code, signal], ...texts] = await Promise.all([once(child, "close"), text(stdout), text(stderr)]);
  const [out = "", errors = ""] = texts;
  return { code, signal, stdout: out, stderr: errors };
}

/** Runs the calls of the command line with which an example ends. Each works, and some find something. */
export async function runClosingWords({ stdout }: ExampleRun, cwd: string): Promise<readonly Called[]> {
  const results: Called[] = [];
  for (const [, words = ""] of stdout.matchAll(/^(?:look: +| +)npx sessile (.+)$/gm)) {
    const called = await call(words.split(" "), { cwd });
    if (called.code > 1 || called.stderr !== "")
      throw new Error(`npx sessile ${words}: exit code ${called.code}, ${called.stderr}`);
    results.push(called);
  }
  return results;
}
