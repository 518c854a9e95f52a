import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { freePort } from "./free-port.js";

/**
 * Real PostgreSQL servers for tests and benchmarks: the programs of Debian's packages `postgresql` and
 * `pgbouncer`, on 127.0.0.1, as the user postgres if the tests run as root. `.ci/tools` installs them.
 */

const debian = "/usr/lib/postgresql";

/** The directory with `initdb` and `postgres` of the newest version. */
const bin = existsSync(debian)
  ? readdirSync(debian)
      .sort((a, b) => Number(b) - Number(a))
      .map((version) => join(debian, version, "bin"))
      .find((dir) => existsSync(join(dir, "initdb")))
  : undefined;
const bouncer = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"].find((path) => existsSync(path));

/** The reason to skip tests on a PostgreSQL server, or undefined. In CI they run, or fail. */
export const withoutPostgres: string | undefined =
  bin !== undefined || process.env.CI !== undefined ? undefined : "this needs the Debian package postgresql";

/** The reason to skip tests behind PgBouncer, or undefined. In CI they run, or fail. */
export const withoutPgBouncer: string | undefined =
  withoutPostgres ??
  (bouncer !== undefined || process.env.CI !== undefined
    ? undefined
    : "this needs the Debian package pgbouncer");

/** A running server. */
export interface PostgresServer {
  /** The connection string of the superuser. */
  readonly url: string;
  readonly port: number;
  /** The directory of the data, and of nothing else. */
  readonly data: string;
  /** Starts a stopped server on its old port, and waits until it accepts connections. */
  start(): Promise<void>;
  /** Ends it by a fast shutdown: open transactions are rolled back, all is written. */
  stop(): Promise<void>;
  /** Ends it by an immediate shutdown, as `pg_ctl stop -m immediate`: the next start recovers from the log. */
  crash(): Promise<void>;
  /** Stops it, and removes its directory. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Options of {@link startPostgres}. */
export interface PostgresOptions {
  /** Settings such as `{ synchronous_commit: "off" }`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** An existing directory for the data, such as a small file system. @default a temporary directory */
  readonly in?: string;
}

/** Creates a cluster and starts it: a second and a half. */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  if (bin === undefined)
    throw new Error("no PostgreSQL, and CI needs one: apt-get install postgresql pgbouncer");
  const dir = ownDirectory("sessile-postgres-");
  const data = join(options.in ?? dir, "data");
  if (options.in !== undefined) own(options.in);
  const initdb = ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"];
  run(join(bin, "initdb"), [...initdb, "--no-instructions"]);
  return serve(bin, dir, data, options.settings);
}

/** Copies a server to a standby that follows it, and answers reads. `select pg_promote()` makes it the primary. */
export async function startStandby(primary: PostgresServer): Promise<PostgresServer> {
  if (bin === undefined) throw new Error("no PostgreSQL");
  const dir = ownDirectory("sessile-standby-");
  const data = join(dir, "data");
  const source = ["-h", "127.0.0.1", "-p", String(primary.port), "-U", "postgres"];
  run(join(bin, "pg_basebackup"), [...source, "-D", data, "-R", "-X", "stream", "-c", "fast", "--no-sync"]);
  return serve(bin, dir, data);
}

/** Starts the server of a directory of data, in one that is removed with it. */
async function serve(
  programs: string,
  dir: string,
  data: string,
  given: PostgresOptions["settings"] = {},
): Promise<PostgresServer> {
  const settings = {
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    max_connections: "200",
    ...given,
  };
  let port = 0;
  let child: Program | undefined;
  // Another program may have taken the port in between.
  for (let attempt = 1; child === undefined; attempt++) {
    port = await freePort();
    child = await startServer(programs, data, port, settings, 0).catch((error: unknown) => {
      if (attempt < attempts) return undefined;
      rmSync(dir, removal);
      throw error;
    });
  }
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const ending = child;
    child = undefined;
    if (ending === undefined) return;
    ending.process.kill(signal);
    await ending.ended;
  };
  const server: PostgresServer = {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    port,
    data,
    async start() {
      await child?.ended;
      // After an immediate shutdown a last process may still hold the shared memory.
      child = await startServer(programs, data, port, settings, patienceMs);
    },
    stop: () => end("SIGINT"),
    crash: () => end("SIGQUIT"),
    async [Symbol.asyncDispose]() {
      await end("SIGQUIT");
      rmSync(dir, removal);
    },
  };
  return server;
}

/** A PgBouncer in transaction mode in front of a server. */
export interface Bouncer {
  readonly url: string;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts PgBouncer with few connections to the server, so that clients really share them. */
export async function startPgBouncer(server: PostgresServer, connections = 4): Promise<Bouncer> {
  if (bouncer === undefined) throw new Error("no PgBouncer, and CI needs one: apt-get install pgbouncer");
  const dir = ownDirectory("sessile-pgbouncer-");
  const config = join(dir, "pgbouncer.ini");
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    const lines = [
      "[databases]",
      `* = host=127.0.0.1 port=${server.port} user=postgres`,
      "[pgbouncer]",
      "listen_addr = 127.0.0.1",
      `listen_port = ${port}`,
      "unix_socket_dir =",
      "auth_type = any",
      "pool_mode = transaction",
      "max_client_conn = 500",
      `default_pool_size = ${connections}`,
      "ignore_startup_parameters = extra_float_digits",
    ];
    writeFileSync(config, `${lines.join("\n")}\n`);
    const child = spawnAs(bouncer, [config], /process up/);
    if (await child.ready) {
      return {
        url: `postgres://postgres@127.0.0.1:${port}/postgres`,
        async [Symbol.asyncDispose]() {
          child.process.kill("SIGTERM");
          await child.ended;
          rmSync(dir, removal);
        },
      };
    }
    if (attempt < attempts) continue;
    rmSync(dir, removal);
    throw new Error(`pgbouncer did not start:\n${child.log()}`);
  }
}

/**
 * Starts a server, and waits until it accepts connections. One that ends before is started again for so long;
 * the error has what the last one wrote.
 */
async function startServer(
  programs: string,
  data: string,
  port: number,
  settings: Readonly<Record<string, string>>,
  forMs: number,
): Promise<Program> {
  const args = ["-D", data, "-p", String(port)];
  for (const [name, value] of Object.entries(settings)) args.push("-c", `${name}=${value}`);
  const giveUp = performance.now() + forMs;
  for (;;) {
    const child = spawnAs(join(programs, "postgres"), args, /ready to accept (?:read-only )?connections/);
    if (await child.ready) return child;
    if (performance.now() >= giveUp)
      throw new Error(`postgres did not start on port ${port}:\n${child.log()}`);
    await pause(100);
  }
}

/** A program that does not outlive this process. */
interface Program {
  readonly process: ChildProcess;
  /** Whether it wrote the line that it is ready, or ended before. */
  readonly ready: Promise<boolean>;
  readonly ended: Promise<void>;
  /** The last lines that it wrote. */
  log(): string;
}

function spawnAs(program: string, args: readonly string[], readyLine: RegExp): Program {
  const [command = "", ...rest] = asPostgres("--pdeathsig=QUIT", program, ...args);
  const env = { ...process.env, LC_ALL: "C" };
  const child = spawn(command, rest, { cwd: "/", stdio: ["ignore", "ignore", "pipe"], env });
  let text = "";
  const ended = new Promise<void>((resolve) => {
    child.once("error", (error) => {
      text += error.message;
      resolve();
    });
    child.once("close", () => resolve());
  });
  const ready = new Promise<boolean>((resolve) => {
    child.stderr.setEncoding("utf8").on("data", (data: string) => {
      // By hand, to see why a server refuses to start.
      if (process.env.SESSILE_POSTGRES_LOG !== undefined) process.stderr.write(data);
      text = (text + data).slice(-(1 << 14));
      if (readyLine.test(text)) resolve(true);
    });
    void ended.then(() => resolve(false));
  });
  return { process: child, ready, ended, log: () => text };
}

/** PostgreSQL refuses to run as root. */
function asPostgres(option: string, ...command: readonly string[]): readonly string[] {
  const user = isRoot ? ["--reuid=postgres", "--regid=postgres", "--clear-groups"] : [];
  return ["setpriv", ...user, option, "--", ...command];
}

const isRoot = process.getuid?.() === 0;

/** How often a first start is tried, each time on another port, and how long one on an old port. */
const attempts = 4;
const patienceMs = 60_000;

/** A process that was killed may write a last file while its directory is removed. */
const removal = { recursive: true, force: true, maxRetries: 5 } as const;

function run(program: string, args: readonly string[]): void {
  const [command = "", ...rest] = asPostgres("--pdeathsig=KILL", program, ...args);
  execFileSync(command, rest, { cwd: "/", stdio: "pipe", env: { ...process.env, LC_ALL: "C" } });
}

/** A temporary directory of the user that runs the server. */
function ownDirectory(prefix: string): string {
  const dir = mkdtempSync(join(tmpdir(), prefix));
  chmodSync(dir, 0o755);
  own(dir);
  return dir;
}

function own(dir: string): void {
  if (isRoot) execFileSync("chown", ["postgres:", dir], { stdio: "pipe" });
}
