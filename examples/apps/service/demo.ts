// Two processes of the service behind a round-robin, four clients of two tenants, and one kill while they
// work: `npx tsx examples/apps/service/demo.ts`. The model is a script.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { check } from "../support/check.js";
import { type ServiceClient, serviceClient } from "./client.js";
import { type Fleet, startFleet } from "./fleet.js";
import { type Done, findLeaks, findProblems, type Worker, work } from "./workload.js";

const turns = 3;
const dir = await mkdtemp(join(tmpdir(), "sessile-service-"));
try {
  const tenants = { "token-of-acme": "acme", "token-of-globex": "globex" };
  await using fleet = await startFleet({
    ...process.env,
    SERVICE_BLOBS: join(dir, "blobs"),
    SERVICE_TENANTS: JSON.stringify(tenants),
    SERVICE_QUOTA: "10000",
    SERVICE_THINK_MS: "20",
  });
  await demo(fleet);
} finally {
  await rm(dir, { recursive: true, force: true });
}

async function demo(fleet: Fleet): Promise<void> {
  console.log("Four clients, and a process that is killed");
  const retries: string[] = [];
  const clientOf = (token: string): ServiceClient =>
    serviceClient(fleet.url, token, { onRetry: (reason) => retries.push(reason) });
  const acme = clientOf("token-of-acme");
  const globex = clientOf("token-of-globex");
  const workers = Array.from({ length: 4 }, (_, at) => ({
    id: `session-${at}`,
    client: at % 2 === 0 ? acme : globex,
  }));
  const killed = setTimeout(200).then(() => fleet.replace(0, "SIGKILL"));
  const done = await Promise.all(workers.map((worker) => work(worker, (taken) => taken < turns)));
  await killed;
  console.log(`     repeated requests: ${retries.length}`);
  const ofEach = async (find: (worker: Worker, done: Done) => Promise<readonly string[]>) =>
    (await Promise.all(workers.map((worker, at) => find(worker, done[at] as Done)))).flat();
  check("every acknowledged turn is there once, in order", await ofEach(findProblems), []);
  const other = ({ client }: Worker) => (client === acme ? globex : acme);
  const leaks = await ofEach((worker, work) => findLeaks(other(worker), worker, work));
  check("and other tenants see nothing", leaks, []);

  console.log("\nRefusals");
  const codeOf = async (answer: Promise<{ status: number; body: { error?: { code: string } } }>) => {
    const { status, body } = await answer;
    return [status, body.error?.code];
  };
  const stranger = clientOf("token-of-nobody");
  check("an unknown token", await codeOf(stranger.send("GET", "/sessions")), [401, "UNAUTHORIZED"]);
  const key = { "idempotency-key": "12345678" };
  const turn = (text: string) => acme.send("POST", "/sessions/session-0/turns", { text }, key);
  check(
    "a key of another question",
    [(await turn("One")).status, ...(await codeOf(turn("Two")))],
    [200, 422, "KEY_REUSED"],
  );
  // The round-robin sends them to both processes in turn.
  const uploads: unknown[] = [];
  for (const byte of [1, 2, 3])
    uploads.push(await codeOf(acme.send("POST", "/blobs", Buffer.alloc(4_000, byte))));
  const stored = [201, undefined];
  check("uploads past the quota", uploads, [stored, stored, [507, "QUOTA_EXCEEDED"]]);
  const body = acme.send("PUT", "/sessions/session-0", { title: "x".repeat(300_000) });
  check("a body that is too long", await codeOf(body), [413, "TOO_LARGE"]);
  const health = await acme.send<{ status: string }>("GET", "/health");
  check("the service is healthy", health.body, { status: "ok" });
}
