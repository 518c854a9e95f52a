import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { BlobRef } from "sessile";
import { fileBlobStore } from "sessile/node";
import { describe, expect, test } from "vitest";
import { rounds } from "../support/rounds.js";
import { blobsAreKept, sessionIsKept } from "./acknowledged.js";
import { type Actor, useActors } from "./acting.js";
import { cutPower, useMounts } from "./mounts.js";
import { needs } from "./needs.js";

const startActor = useActors();
const mounts = useMounts();
const megabytes = 24;

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
  await actor.stop();
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
    // The system may write by itself, on a machine that is slow or at another program's request: then once more.
    let lost = 0;
    let missing = 0;
    for (let attempt = 0; attempt < 6 && (lost === 0 || missing === 0); attempt++) {
      const { actor, left } = await cutAtWork(7 + attempt, "os");
      const files = readdirSync(left, { recursive: true, withFileTypes: true }).filter((entry) =>
        entry.isFile(),
      );
      const text = files
        .filter(({ name }) => name.endsWith(".jsonl"))
        .map(({ name, parentPath }) => readFileSync(join(parentPath, name), "utf8"))
        .join("");
      lost = actor.entries.filter((id) => !text.includes(`"id":"${id}"`)).length;
      const refs = actor.blobs as readonly BlobRef[];
      const report = await fileBlobStore({ dir: join(left, "store", "blobs") }).verify({ refs });
      missing = report.missing.length + report.corrupt.length;
      mounts.unmount(left);
    }
    // Were nothing lost here, the test above could not fail.
    expect(lost).toBeGreaterThan(0);
    expect(missing).toBeGreaterThan(0);
  });
});
