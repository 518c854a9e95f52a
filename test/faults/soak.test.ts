import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { userMessage } from "sessile";
import { fileSessionStore } from "sessile/node";
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkEnd, checkSoak, SoakModel } from "./soak-model.js";
import { soakSessions } from "./soak-worker.js";
import { type Child, useChildren } from "./start-child.js";

/** By hand two minutes and more. */
const seconds = Number(process.env.SESSILE_SOAK_SECONDS ?? 5);
const workers = 4;

const startChild = useChildren();
let dir = "";
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "sessile-soak-"));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

// @covers durability:any-order
test(`soak: what ${workers} processes were told is there, is there, whoever is killed or stopped (${seconds} s)`, {
  timeout: seconds * 1000 + 300_000,
}, async () => {
  const store = fileSessionStore({ dir: join(dir, "sessions") });
  for (const id of soakSessions) {
    const session = await store.create({ cwd: "/p", id });
    await session.appendMessage(userMessage("first"));
    await session.close();
  }
  const model = new SoakModel();
  let started = 0;
  const start = async (): Promise<Child> => {
    const child = startChild("soak", dir, `w${started}`, String(++started * 7919 + process.pid));
    await child.saying("begins");
    return child;
  };
  const children = await Promise.all(Array.from({ length: workers }, start));
  const end = Date.now() + seconds * 1000;
  const counts = { killed: 0, stopped: 0, checked: 0 };
  /** So long, and longer on a machine with other work to do: until each thing has happened. */
  const isOver = () =>
    Date.now() >= end &&
    model.acknowledged > 10 * seconds &&
    model.named.size > seconds &&
    model.forks.size > 0 &&
    counts.killed > seconds / 10 &&
    counts.checked > 1;

  const disturb = async (): Promise<void> => {
    while (!isOver()) {
      await pause(50 + Math.random() * 800);
      const at = Math.floor(Math.random() * workers);
      const child = children[at] as Child;
      if (Math.random() < 0.4) {
        await child.stop();
        await pause(Math.random() * 600);
        child.kill("SIGCONT");
        counts.stopped++;
        continue;
      }
      child.kill("SIGKILL");
      expect(await child.ended).toBe("SIGKILL");
      model.hear(child);
      counts.killed++;
      children[at] = await start();
    }
  };
  const check = async (): Promise<void> => {
    while (!isOver()) {
      await pause(1000);
      for (const child of children) model.hear(child);
      await checkSoak(model, dir);
      counts.checked++;
    }
  };
  await Promise.all([disturb(), check()]);

  for (const child of children) child.process.stdin?.write("\n");
  for (const child of children) {
    expect(await child.ended).toBe(0);
    model.hear(child);
  }
  await checkEnd(model, dir);
  console.log(
    `soak: ${model.acknowledged} entries, ${model.named.size} blobs, ${model.forks.size} forks, ${model.archived.length} archivings, ${model.collected} collected,`,
    counts,
  );
});
