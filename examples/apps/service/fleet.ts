/** The processes of the demo and the tests: a database, the service twice, and a round-robin before them. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type Balancer, startBalancer } from "./balancer.js";

/** Processes that can be killed. */
export interface Fleet extends AsyncDisposable {
  /** The address of the round-robin. */
  readonly url: string;
  /** Ends one process, and starts another in its place. Rejects if SIGTERM does not end it in order. */
  replace(at: number, signal: "SIGKILL" | "SIGTERM"): Promise<void>;
}

/** A process, and the first line of its output. */
interface Program {
  readonly child: ChildProcess;
  readonly line: string;
}

/**
 * Starts the processes.
 *
 * @param env of the service: see README.md. Without `SERVICE_DATABASE_URL` the sessions are on PGlite.
 * @param node the options with which Node runs the sources
 */
export async function startFleet(
  env: NodeJS.ProcessEnv,
  processes = 2,
  node: readonly string[] = ["--import", "tsx"],
): Promise<Fleet> {
  const balancer: Balancer = await startBalancer();
  const database = env.SERVICE_DATABASE_URL === undefined ? await start("database.ts", env, node) : undefined;
  const SERVICE_DATABASE_URL = env.SERVICE_DATABASE_URL ?? database?.line;

  async function startOne(): Promise<Program> {
    const program = await start("main.ts", { ...env, SERVICE_DATABASE_URL }, node);
    balancer.ports.add(portOf(program));
    return program;
  }
  const running = await Promise.all(Array.from({ length: processes }, startOne));

  return {
    url: balancer.url,
    async replace(at, signal) {
      const program = running[at] as Program;
      const status = await end(program, signal);
      balancer.ports.delete(portOf(program));
      if (signal === "SIGTERM" && status !== 0) throw new Error(`expected exit code 0, got ${status}`);
      running[at] = await startOne();
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(running.map((program) => end(program, "SIGTERM")));
      if (database !== undefined) await end(database, "SIGTERM");
      await balancer[Symbol.asyncDispose]();
    },
  };
}

function portOf({ line }: Program): number {
  return Number(line.split(" ").at(-1));
}

async function start(name: string, env: NodeJS.ProcessEnv, node: readonly string[]): Promise<Program> {
  const path = fileURLToPath(new URL(name, import.meta.url));
  const child = spawn(process.execPath, [...node, path], {
    stdio: ["ignore", "pipe", "inherit"],
    env,
  });
  const ended = once(child, "exit").then(([status]) => {
    throw new Error(`${name} ended with ${status}`);
  });
  const [line] = (await Promise.race([once(createInterface({ input: child.stdout }), "line"), ended])) as [
    string,
  ];
  ended.catch(() => {});
  return { child, line };
}

async function end({ child }: Program, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) {
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
  }
  return child.exitCode;
}
