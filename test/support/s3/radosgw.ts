import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { freePort } from "../free-port.js";
import { signedFetch } from "./client.js";
import { testKeys } from "./signature.js";

/**
 * A real S3 server: Ceph's radosgw on 127.0.0.1, over one monitor and one OSD in memory. Of Debian, the
 * packages radosgw, ceph-mon and ceph-osd have what is needed.
 */

const programs = ["radosgw", "ceph-mon", "ceph-osd", "monmaptool", "ceph", "radosgw-admin"];

const folders = (process.env.PATH ?? "").split(delimiter);
const absent = programs.filter((program) => !folders.some((folder) => existsSync(join(folder, program))));

/** Why tests with this server are skipped; undefined where they run. In CI they run, or fail. */
export const withoutRadosgw: string | undefined =
  absent.length === 0 || process.env.CI !== undefined
    ? undefined
    : `no ${absent.join(", ")}: apt-get install radosgw ceph-mon ceph-osd`;

/** A running server. */
export interface Radosgw {
  /** The endpoint, without a bucket. */
  readonly endpoint: string;
  stop(): Promise<void>;
}

const run = promisify(execFile);

/** Only what hangs takes as long. */
const patienceMs = 90_000;

/**
 * Starts a program that ends with this process, however this process ends: its guard then reads an end of input and
 * kills its group. A program that ends by itself starts again: an OSD ends with "wrong fsid" if it sends its first
 * command before it has the monitors' map.
 */
function daemon(program: string, args: readonly string[], log: string): ChildProcess {
  const script = `for n in 1 2 3 4 5 6 7 8 9; do "$@" >>"${log}" 2>&1; sleep 0.3; done & cat >/dev/null; kill -9 0`;
  return spawn("sh", ["-c", script, "sh", program, ...args], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
}

/** Waits until a probe succeeds. */
async function until(what: string, probe: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + patienceMs;
  while (!(await probe())) {
    if (performance.now() > end) throw new Error(`${what} for ${patienceMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    });
    socket.setTimeout(5000, () => socket.destroy());
    socket.on("error", () => resolve(false));
    socket.on("close", () => resolve(false));
  });
}

/** Whether it lists the buckets of the user of the tests: another server on the port does not. */
async function isServing(endpoint: string): Promise<boolean> {
  try {
    const reply = await signedFetch()(endpoint, { signal: AbortSignal.timeout(20_000) });
    return (await reply.text()).includes("ListAllMyBucketsResult");
  } catch {
    return false;
  }
}

const attempts = 3;

/**
 * Starts a server, which takes some ten seconds. A second attempt has other ports: those of the first may belong to
 * another test by the time the daemons listen.
 */
export async function startRadosgw(): Promise<Radosgw> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOnce();
    } catch (error) {
      if (attempt === attempts) throw error;
    }
  }
}

/** The last lines of each daemon's log. */
function logs(dir: string): string {
  const names = readdirSync(dir).filter((name) => name === "log" || name.endsWith(".log"));
  return names
    .map((name) => `${name}:\n${readFileSync(join(dir, name), "utf8").split("\n").slice(-12).join("\n")}`)
    .join("\n");
}

async function startOnce(): Promise<Radosgw> {
  const dir = mkdtempSync(join(tmpdir(), "radosgw-"));
  for (const folder of ["mon", "osd", "rgw", "run"]) mkdirSync(join(dir, folder));
  const [monitorPort, port] = [await freePort(), await freePort()];
  const fsid = randomUUID();
  const conf = join(dir, "ceph.conf");
  const log = join(dir, "log");
  writeFileSync(
    conf,
    `[global]
fsid = ${fsid}
mon host = v1:127.0.0.1:${monitorPort}
mon initial members = a
public addr = 127.0.0.1
cluster addr = 127.0.0.1
auth cluster required = none
auth service required = none
auth client required = none
osd memory target = 939524096
osd pool default size = 1
osd pool default min size = 1
mon allow pool size one = true
mon warn on pool no redundancy = false
osd crush chooseleaf type = 0
osd pool default pg num = 2
osd pool default pgp num = 2
osd pool default pg autoscale mode = off
mon max pg per osd = 800
osd objectstore = memstore
memstore device bytes = 1073741824
osd max object name len = 256
osd max object namespace len = 64
ms bind msgr2 = false
mon data = ${dir}/mon
osd data = ${dir}/osd
rgw data = ${dir}/rgw
run dir = ${dir}/run
admin socket = ${dir}/run/$cluster-$name.asok
pid file = ${dir}/run/$type.$id.pid
log file = ${dir}/$name.log
rgw frontends = beast endpoint=127.0.0.1:${port}
rgw dns name = localhost
`,
  );
  const env = { ...process.env, CEPH_CONF: conf };
  const daemons: ChildProcess[] = [];
  const start = (program: string, ...args: string[]): void => {
    daemons.push(daemon(program, ["-f", "-c", conf, ...args], log));
  };
  const stop = async (): Promise<void> => {
    const ended = daemons.splice(0).map(async (guard) => {
      const exit = new Promise((resolve) => guard.once("exit", resolve));
      guard.stdin?.end();
      await exit;
    });
    await Promise.all(ended);
    rmSync(dir, { recursive: true, force: true, maxRetries: 20 });
  };
  const act = (program: string, ...args: string[]) => run(program, args, { env, timeout: patienceMs });
  try {
    const map = join(dir, "monmap");
    await act("monmaptool", "--create", "--addv", "a", `[v1:127.0.0.1:${monitorPort}]`, "--fsid", fsid, map);
    await act("ceph-mon", "-c", conf, "--mkfs", "-i", "a", "--monmap", map);
    start("ceph-mon", "-i", "a");
    await until("no monitor listens", () => isListening(monitorPort));
    const osd = randomUUID();
    await act("ceph", "-c", conf, "osd", "create", osd, "0");
    await act("ceph-osd", "-c", conf, "-i", "0", "--mkfs", "--osd-uuid", osd);
    start("ceph-osd", "-i", "0");
    start("radosgw", "-n", "client.rgw");
    const { accessKeyId, secretAccessKey } = testKeys;
    const keys = [`--access-key=${accessKeyId}`, `--secret-key=${secretAccessKey}`];
    await act("radosgw-admin", "-c", conf, "user", "create", "--uid=test", "--display-name=test", ...keys);
    await until("no radosgw answers", () => isServing(`http://127.0.0.1:${port}/`));
  } catch (error) {
    const text = logs(dir);
    await stop().catch(() => undefined);
    throw new Error(`radosgw does not start: ${(error as Error).message}\n${text}`, { cause: error });
  }
  return { endpoint: `http://127.0.0.1:${port}`, stop };
}
