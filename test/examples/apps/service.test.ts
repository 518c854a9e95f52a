import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { serviceClient } from "../../../examples/apps/service/client.js";
import { startFleet } from "../../../examples/apps/service/fleet.js";
import {
  type Done,
  findLeaks,
  findProblems,
  type Worker,
  work,
} from "../../../examples/apps/service/workload.js";
import { runsSources } from "../support/programs.js";

let scratch: string;
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), "sessile-service-test-"));
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

/** It takes some seconds on an idle machine. */
const timeout = 600_000;

/** Processes that end while the clients work. */
const wanted = 4;

describe("the service", () => {
  // By hand on PostgreSQL and S3: SERVICE_DATABASE_URL and SERVICE_S3_URL, as in the application's README.
  it("keeps every acknowledged turn of 50 clients once, in order, while processes are killed", {
    timeout,
  }, async () => {
    const run = randomUUID().slice(0, 8);
    const names = Array.from({ length: 5 }, (_, at) => `tenant-${run}-${at}`);
    const tokens = Object.fromEntries(names.map((name) => [`token of ${name}`.replaceAll(" ", "-"), name]));
    const env = {
      ...process.env,
      SERVICE_BLOBS: join(scratch, "blobs"),
      SERVICE_TENANTS: JSON.stringify(tokens),
      SERVICE_THINK_MS: "300",
    };
    await using fleet = await startFleet(env, 2, runsSources);
    let repeated = 0;
    const onRetry = () => {
      repeated += 1;
    };
    const clients = Object.keys(tokens).map((token) => serviceClient(fleet.url, token, { onRetry }));
    const clientOf = (at: number) => clients[at % clients.length] as (typeof clients)[number];
    const workers = Array.from({ length: 50 }, (_, at) => ({ id: `${run}-${at}`, client: clientOf(at) }));

    let kills = 0;
    const goesOn = (turns: number) => kills < wanted && turns < 100;
    const working = Promise.all(workers.map((worker) => work(worker, goesOn)));
    const failed = working.then(() => false).catch(() => true);
    while (kills < wanted && !(await Promise.race([failed, setTimeout(300)]))) {
      // The third ends in order: its requests finish first.
      await fleet.replace(kills % 2, kills % 3 === 2 ? "SIGTERM" : "SIGKILL");
      kills += 1;
    }
    const done = await working;
    expect(kills).toBe(wanted);
    expect(repeated).toBeGreaterThan(0);

    const ofEach = async (find: (at: number, worker: Worker, done: Done) => Promise<readonly string[]>) =>
      (await Promise.all(workers.map((worker, at) => find(at, worker, done[at] as Done)))).flat();
    expect(await ofEach((_, worker, done) => findProblems(worker, done))).toEqual([]);
    expect(await ofEach((at, worker, done) => findLeaks(clientOf(at + 1), worker, done))).toEqual([]);
  });
});
