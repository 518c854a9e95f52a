import { copyFileSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { fileBlobStore } from "../../src/blobs/node/index.js";
import type { BlobRef } from "../../src/content/index.js";
import { rounds } from "../support/rounds.js";
import { blobsAreKept, sessionIsKept } from "./acknowledged.js";
import { type Actor, useActors } from "./acting.js";
import { useMounts } from "./mounts.js";
import { needs } from "./needs.js";

vi.setConfig({ testTimeout: 300_000 });

const startActor = useActors();
const mounts = useMounts();
const megabytes = 24;

/**
 * What the device has at one moment, as if the power went then: a copy of the file that it lies in, made while it is
 * mounted and nothing synced it for the copy. Made again where a block was written meanwhile, since no device stops at
 * two moments.
 */
async function cutPower(image: string, copy: string): Promise<void> {
  for (let tries = 0; tries < 50; tries++) {
    const before = written(image);
    copyFileSync(image, copy);
    if (before.inFlight === 0 && written(image).text === before.text) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error("the device was written to all the time");
}

/** What the kernel says was written to the loop device of a file. See Documentation/block/stat.rst, read 2026-11-22. */
function written(image: string): { readonly text: string; readonly inFlight: number } {
  for (const device of readdirSync("/sys/block").filter((name) => name.startsWith("loop"))) {
    const loop = join("/sys/block", device);
    try {
      if (basename(readFileSync(join(loop, "loop/backing_file"), "utf8").trim()) !== basename(image))
        continue;
    } catch {
      continue;
    }
    const fields = readFileSync(join(loop, "stat"), "utf8").trim().split(/\s+/);
    const [, , , , writes = "", , sectors = "", , inFlight = ""] = fields;
    return { text: `${writes} ${sectors}`, inFlight: Number(inFlight) };
  }
  throw new Error(`no loop device has ${image}`);
}

/** Resolves when every thread of a process that was stopped has stopped, those too that waited for the device. */
async function isStopped(pid: number): Promise<void> {
  await vi.waitFor(
    () => {
      for (const thread of readdirSync(`/proc/${pid}/task`)) {
        const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, "utf8");
        expect(stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3)).toBe("T");
      }
    },
    { timeout: 10_000, interval: 1 },
  );
}

/** Steps that keep an actor at work until it is stopped: lines, long lines, and blobs of all sizes. */
function work(round: number): string[] {
  return Array.from({ length: 60 }, (_, at) => [
    `append ${round}-${at}`,
    ...(at % 5 === 0 ? [`batch ${at}`] : []),
    `put ${round}-${at}*${[300, 5000, 70_000][at % 3]}`,
    ...(at % 4 === 0 ? [`stream ${round}-${at}`] : []),
  ]).flat();
}

/** Has an actor work in a file system, and cuts the power at some moment; what is left is mounted. */
async function cutAtWork(
  round: number,
  durability: "disk" | "os",
): Promise<{ readonly actor: Actor; readonly left: string }> {
  const image = join(mounts.dir, `disk-${durability}-${round}`);
  const copy = `${image}-copy`;
  mounts.makeImage(image, megabytes);
  // The journal is written when somebody asks for it, and not by the clock.
  const at = mounts.image(image, "loop,commit=300");
  const actor = await startActor(join(at, "store"), { durability });
  const wanted = 5 + ((round * 17) % 90);
  void actor.act("create s", ...work(round));
  await actor.sayingSoMany(wanted);
  actor.kill("SIGSTOP");
  await isStopped(actor.pid);
  await cutPower(image, copy);
  actor.kill("SIGKILL");
  await actor.ended;
  mounts.unmount(at);
  rmSync(image);
  return { actor, left: mounts.image(copy) };
}

describe("row 3: a file system of which the power is cut", () => {
  needs("root", "mount", "umount", "mkfs.ext4", "loop");
  // Twenty by hand.
  const cuts = rounds(3, 20);

  // @covers R88 durability:power-cut
  test("has every entry and every blob that was acknowledged with durability disk", async () => {
    for (let round = 0; round < cuts; round++) {
      const { actor, left } = await cutAtWork(round, "disk");
      expect(actor.entries.length).toBeGreaterThan(1);
      expect(actor.blobs.length).toBeGreaterThan(0);
      const dir = join(left, "store");
      const damage = await sessionIsKept(dir, "s", actor.entries);
      expect(damage).toEqual([]);
      await blobsAreKept(dir, actor.blobs);
      mounts.unmount(left);
    }
  });

  // @covers durability:os-power-cut
  test("may lose what was acknowledged with durability os", async () => {
    const { actor, left } = await cutAtWork(7, "os");
    const files = readdirSync(left, { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    );
    const text = files
      .filter(({ name }) => name.endsWith(".jsonl"))
      .map(({ name, parentPath }) => readFileSync(join(parentPath, name), "utf8"))
      .join("");
    const lost = actor.entries.filter((id) => !text.includes(`"id":"${id}"`));
    const refs = actor.blobs as readonly BlobRef[];
    const { missing, corrupt } = await fileBlobStore({ dir: join(left, "store", "blobs") }).verify({ refs });
    // Were nothing lost here, the test above could not fail.
    expect(lost.length).toBeGreaterThan(0);
    expect(missing.length + corrupt.length).toBeGreaterThan(0);
    mounts.unmount(left);
  });
});
