import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { freePort } from "./free-port.js";

/**
 * Real MariaDB servers for tests: the programs of Debian's package `mariadb-server`, on 127.0.0.1, as the user
 * mysql if the tests run as root. `.ci/tools` installs them.
 */

const program = ["/usr/sbin/mariadbd", "/usr/bin/mariadbd"].find((path) => existsSync(path));

/** The reason to skip tests on a MariaDB server, or undefined. In CI they run, or fail. */
export const withoutMariaDb: string | undefined =
  program !== undefined || process.env.CI !== undefined
    ? undefined
    : "this needs the Debian package mariadb-server";

/** A running server. */
export interface MariaDbServer {
  readonly port: number;
  /** What `createPool` of mysql2 takes: the superuser, without a password. */
  readonly url: string;
  /** Starts a server that ended on its old port. */
  start(): Promise<void>;
  /** Ends it by kill -9: the next start recovers from the log. */
  crash(): Promise<void>;
  /** Ends it, and removes its directory. */
  [Symbol.asyncDispose](): Promise<void>;
}

const isRoot = process.getuid?.() === 0;
const attempts = 4;
const removal = { recursive: true, force: true, maxRetries: 5 } as const;

/** Makes a server with an empty database `test`, and starts it: about three seconds. */
export async function startMariaDb(settings: Readonly<Record<string, string>> = {}): Promise<MariaDbServer> {
  if (program === undefined) throw new Error("no MariaDB, and CI needs one: apt-get install mariadb-server");
  const dir = mkdtempSync(join(tmpdir(), "sessile-mariadb-"));
  chmodSync(dir, 0o755);
  if (isRoot) execFileSync("chown", ["mysql:", dir], { stdio: "pipe" });
  const data = join(dir, "data");
  const install = ["mariadb-install-db", "--no-defaults", `--datadir=${data}`, "--skip-test-db"];
  execFileSync(...asMysql([...install, "--auth-root-authentication-method=normal"]), { stdio: "pipe" });
  const options = {
    datadir: data,
    socket: join(dir, "socket"),
    "pid-file": join(dir, "pid"),
    "bind-address": "127.0.0.1",
    "innodb-buffer-pool-size": "64M",
    "innodb-log-file-size": "32M",
    ...settings,
  };
  const run = async (port: number): Promise<Server | undefined> => {
    const args = Object.entries(options).map(([name, value]) => `--${name}=${value}`);
    const server = spawnServer(["mariadbd", "--no-defaults", `--port=${port}`, ...args]);
    return (await server.ready) ? server : undefined;
  };
  let port = 0;
  let server: Server | undefined;
  // Another program may have taken the port in between.
  for (let attempt = 0; server === undefined && attempt < attempts; attempt++) {
    port = await freePort();
    server = await run(port);
  }
  const end = async (): Promise<void> => {
    const ending = server;
    server = undefined;
    ending?.process.kill("SIGKILL");
    await ending?.ended;
  };
  if (server === undefined) {
    rmSync(dir, removal);
    throw new Error(`mariadbd did not start on port ${port}`);
  }
  const client = ["--no-defaults", `--socket=${options.socket}`, "-uroot", "-e", "create database test"];
  execFileSync("mariadb", client, { stdio: "pipe" });
  return {
    port,
    url: `mysql://root@127.0.0.1:${port}/test`,
    async start() {
      for (let attempt = 0; server === undefined && attempt < attempts; attempt++) {
        server = await run(port);
        if (server === undefined) await pause(200);
      }
      if (server === undefined) throw new Error(`mariadbd did not start again on port ${port}`);
    },
    crash: end,
    async [Symbol.asyncDispose]() {
      await end();
      rmSync(dir, removal);
    },
  };
}

interface Server {
  readonly process: ChildProcess;
  /** Whether it wrote the line that it is ready, or ended before. */
  readonly ready: Promise<boolean>;
  readonly ended: Promise<void>;
}

/** A server that does not outlive this process. */
function spawnServer(command: readonly string[]): Server {
  const [file, args] = asMysql(["setpriv", "--pdeathsig=KILL", "--", ...command]);
  const child = spawn(file, args, { cwd: "/", stdio: ["ignore", "ignore", "pipe"] });
  const ended = new Promise<void>((resolve) => {
    child.once("error", () => resolve());
    child.once("close", () => resolve());
  });
  const ready = new Promise<boolean>((resolve) => {
    let text = "";
    child.stderr.setEncoding("utf8").on("data", (data: string) => {
      // By hand, to see why a server refuses to start.
      if (process.env.SESSILE_MARIADB_LOG !== undefined) process.stderr.write(data);
      text = (text + data).slice(-(1 << 14));
      if (/ready for connections/.test(text)) resolve(true);
    });
    void ended.then(() => resolve(false));
  });
  return { process: child, ready, ended };
}

/** MariaDB refuses to run as root. */
function asMysql(command: readonly string[]): [file: string, args: string[]] {
  const user = isRoot ? ["setpriv", "--reuid=mysql", "--regid=mysql", "--clear-groups", "--"] : [];
  const [file = "", ...args] = [...user, ...command];
  return [file, args];
}
