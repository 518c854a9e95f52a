/**
 * Runs an agent offline: in namespaces of its own, with nothing but loopback, a fresh home, a scripted model and
 * a time limit. The home is always /srv/home and the working directory /srv/work.
 */

import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { root } from "../../../scripts/entries.mjs";
import { type AgentFile, type AgentName, programOf } from "./agents.js";
import type { AgentCommand, RunOrder, RunResult, Script } from "./script.js";

/** The directory of a run as the agent sees it: the same for all runs, so that samples have the same paths. */
const mounted = "/srv";
const home = `${mounted}/home`;
export const work = `${mounted}/work`;

export interface RunOptions {
  readonly commands: readonly AgentCommand[];
  readonly script?: Script;
  /** Below the home, before the first command. */
  readonly files?: readonly AgentFile[];
  /** Below the working directory. */
  readonly work?: readonly AgentFile[];
  readonly environment?: Readonly<Record<string, string>>;
}

export interface AgentRun extends RunResult {
  /** The files below the home after the last command. Paths are relative, with forward slashes. */
  readonly files: readonly { readonly path: string; readonly bytes: Uint8Array }[];
}

/**
 * Runs commands of an agent, one after the other, in one home.
 *
 * @throws Error if a namespace cannot be made, or the process in it fails
 */
export async function runAgent(agent: AgentName, version: string, options: RunOptions): Promise<AgentRun> {
  const program = programOf(agent, version);
  const folder = mkdtempSync(join(tmpdir(), "sessile-interop-"));
  try {
    for (const name of ["home", "work"]) mkdirSync(join(folder, name));
    place(join(folder, "home"), options.files ?? []);
    place(join(folder, "work"), options.work ?? []);
    const { commands, script = {}, environment = {} } = options;
    const order: RunOrder = { agent, program, home, work, commands, script, environment };
    writeFileSync(join(folder, "order.json"), JSON.stringify(order));
    const seconds = commands.reduce((sum, command) => sum + (command.seconds ?? 90), 30);
    await enter(folder, seconds);
    const result = JSON.parse(readFileSync(join(folder, "result.json"), "utf8")) as RunResult;
    return { ...result, files: filesBelow(join(folder, "home")) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs inside.ts in namespaces for the network, processes and mounts. The end of `unshare` ends all of them. */
async function enter(folder: string, seconds: number): Promise<void> {
  const inside = fileURLToPath(new URL("inside.ts", import.meta.url));
  const namespaces = ["--net", "--pid", "--mount", "--fork", "--kill-child", "--mount-proc"];
  const asRoot = process.getuid?.() === 0 ? [] : ["--map-root-user"];
  const shell = 'mount --bind "$1" "$2" && shift 2 && exec "$@"';
  const program = [
    process.execPath,
    "--import",
    "tsx",
    inside,
    `${mounted}/order.json`,
    `${mounted}/result.json`,
  ];
  const child = spawn(
    "unshare",
    [...asRoot, ...namespaces, "sh", "-c", shell, "sh", folder, mounted, ...program],
    { stdio: ["ignore", "inherit", "pipe"], cwd: root },
  );
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const timer = setTimeout(() => child.kill("SIGKILL"), seconds * 1_000);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("exit", resolve);
  });
  clearTimeout(timer);
  if (code !== 0) throw new Error(`the run ended with ${code ?? "its time limit"}: ${stderr}`);
}

function place(folder: string, files: readonly AgentFile[]): void {
  for (const { path, bytes } of files) {
    const full = join(folder, path);
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, bytes);
  }
}

function filesBelow(folder: string): AgentRun["files"] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((full) => ({ path: full.slice(folder.length + 1), bytes: new Uint8Array(readFileSync(full)) }));
}
