/**
 * The process in the network namespace: it starts the scripted model and runs an agent's commands one after the
 * other. `unshare … node --import tsx inside.ts ORDER RESULT`; see run.ts.
 */

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { agents } from "./agents.js";
import { startModel } from "./model.js";
import type { AgentCommand, CommandResult, RunOrder } from "./script.js";

const [orderPath = "", resultPath = ""] = process.argv.slice(2);
const order = JSON.parse(readFileSync(orderPath, "utf8")) as RunOrder;

execFileSync("ip", ["link", "set", "lo", "up"]);
await using model = await startModel(order.script);
const agent = agents[order.agent];
// Settings of the run, which were written before, come first.
for (const { path, bytes } of agent.settings(model.url)) {
  const full = join(order.home, path);
  mkdirSync(dirname(full), { recursive: true });
  try {
    writeFileSync(full, bytes, { flag: "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}
const env = {
  PATH: process.env.PATH ?? "",
  HOME: order.home,
  TERM: "xterm",
  LANG: "C.UTF-8",
  TZ: "UTC",
  NO_COLOR: "1",
  ...agent.environment(model.url),
  ...order.environment,
};

const results: CommandResult[] = [];
for (const [index, command] of order.commands.entries()) {
  model.command = index;
  results.push(await runCommand(command));
}
writeFileSync(resultPath, JSON.stringify({ requests: model.requests, results }));
// Connections that an agent left open would keep the process.
process.exit(0);

async function runCommand(command: AgentCommand): Promise<CommandResult> {
  const [program = "", ...args] = [...order.program, ...command.args];
  const child = spawn(program, args, { cwd: order.work, env, stdio: "pipe", detached: true });
  const output = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output.stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    output.stderr += text;
  });
  const ended = new Promise<number | null>((resolve) => {
    child.on("error", (error) => {
      output.stderr += error.message;
      resolve(null);
    });
    // Not "close": a process that an agent left behind may hold its output open.
    child.on("exit", (code) => setTimeout(() => resolve(code), 200));
  });
  child.stdin.on("error", () => {});
  if (command.rpc === undefined) child.stdin.end(command.stdin ?? "");

  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<"late">((resolve) => {
    timer = setTimeout(() => resolve("late"), (command.seconds ?? 90) * 1_000);
  });
  const answers: unknown[] = [];
  const talk = converse(command, child, output, answers).catch((error: unknown) => {
    answers.push({ error: String(error) });
  });
  const conversation = command.rpc ?? command.http;
  if (conversation !== undefined) await Promise.race([talk, late, ended]);
  const outcome = conversation === undefined ? await Promise.race([ended, late]) : "over";
  clearTimeout(timer);
  if (outcome === "late") output.stderr += `\nstopped after ${command.seconds ?? 90} s`;
  stop(child);
  const code = typeof outcome === "number" ? outcome : null;
  return { code, ...output, answers };
}

/** Ends the process group of a command, of which this process is the parent. */
function stop(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

async function converse(
  command: AgentCommand,
  child: ChildProcess,
  output: { readonly stdout: string },
  answers: unknown[],
): Promise<void> {
  for (const [id, { method, params, notify }] of (command.rpc ?? []).entries()) {
    const message = notify ? { method, params } : { id, method, params };
    child.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    if (notify) continue;
    for (;;) {
      const answer = output.stdout
        .split("\n")
        .slice(0, -1)
        .map(parsed)
        .find((line) => line.id === id && line.method === undefined);
      if (answer !== undefined) {
        answers.push(answer.error === undefined ? answer.result : { error: answer.error });
        break;
      }
      await pause(50);
    }
  }
  if (command.http === undefined) return;
  let base: string | undefined;
  while (base === undefined) {
    base = /https?:\/\/127\.0\.0\.1:\d+/.exec(output.stdout)?.[0];
    await pause(50);
  }
  for (const { method, path, body } of command.http) {
    const response = await fetch(`${base}${path}`, {
      method,
      headers: { "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const value = parsed(text);
    answers.push(response.ok ? value : { error: { status: response.status, text } });
  }
}

function parsed(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return { text };
  }
}
