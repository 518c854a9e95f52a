import { existsSync } from "node:fs";
import { collectGarbage, type Session, userMessage } from "sessile";
import { SessileError } from "sessile/errors";
import { fileBlobStore, fileSessionStore } from "sessile/node";
import { nodeFileSystem } from "../../src/core/node/node-file-system.js";
import { fileBlobStoreOn } from "../../src/storage/files/blobs/store-directory.js";
import { FileLock } from "../../src/storage/files/file-lock.js";
import { blobBytes, inPieces } from "./blob-bytes.js";
import { followRoles } from "./follow-roles.js";
import { lockRoles } from "./lock-roles.js";
import { say } from "./say.js";
import { soakRoles } from "./soak-worker.js";

/** What a test has another process do; it is run by `startChild`, which see. */
const roles: Readonly<Record<string, (...args: string[]) => Promise<void>>> = {
  /** Takes a lock and keeps it until it is killed. */
  async hold(path = "") {
    const lock = new FileLock(nodeFileSystem, path, { waitMs: 120_000, idleMs: 20, remoteLeaseMs: 30_000 });
    await lock.with(() => {
      say("held");
      return new Promise<void>((resolve) => {
        process.stdin.once("data", () => resolve());
      });
    });
    lock.release();
    process.stdin.destroy();
    say("released");
  },
  /** Appends messages, each a deliberate branch where another writer came first, and says each id that was acknowledged. */
  async append(dir = "", id = "", name = "", count = "0") {
    const session = await fileSessionStore({ dir, lockWaitMs: 120_000 }).open(id, { mode: "write" });
    for (let at = 0; at < Number(count); at++) say(await appended(session, `${name} ${at}`));
    await session.close();
  },
  /** Appends until it is killed, one at a time or several, and says each id that was acknowledged. */
  async forever(dir = "", id = "") {
    const session = await fileSessionStore({ dir, lockWaitMs: 120_000 }).open(id, { mode: "write" });
    for (let at = 0; ; at++) {
      const texts = at % 3 === 0 ? ["a", "b".repeat(at % 5000), "c"] : [`${at}`];
      const entries = await session.append(
        texts.map((text) => ({ type: "message", message: userMessage(text) })),
      );
      say(entries.map((entry) => entry.id).join("\n"));
    }
  },
  /** Appends until it is refused, and says each id with the time before its call, then the code of the refusal. */
  async timed(dir = "", id = "", durability = "disk") {
    const store = fileSessionStore({ dir, durability: durability as "disk" | "os" });
    const session = await store.open(id, { mode: "write" });
    try {
      for (;;) {
        const began = Date.now();
        say(`${(await session.appendMessage(userMessage("x"))).id} ${began}`);
      }
    } catch (error) {
      say(error instanceof SessileError ? error.code : String(error));
    }
    await session.close();
  },
  /** Renames a session again and again while another process appends to it. */
  async rename(dir = "", id = "", count = "0") {
    const store = fileSessionStore({ dir, lockWaitMs: 120_000 });
    for (let at = 0; at < Number(count); at++) {
      const session = await store.open(id, { mode: "write" });
      await session.updateInfo({ title: `title ${at}` });
      await session.close();
      say(`title ${at}`);
    }
  },
  /** Puts the blobs that all children put and some of its own, and says each that was acknowledged. */
  async put(dir = "", name = "", count = "0") {
    const blobs = fileBlobStore({ dir });
    for (let at = 0; at < Number(count); at++) {
      const own = blobs.put(blobBytes(`${name} ${at}`, at % 3 === 0 ? 300_000 : 500));
      const shared = blobs.put(blobBytes(`shared ${at}`, at % 3 === 1 ? 300_000 : 500));
      for (const { ref } of await Promise.all([own, shared])) say(ref);
    }
  },
  /** Puts blobs, small, large and in streams, until it is killed, and says each that was acknowledged. */
  async putForever(dir = "", name = "") {
    const blobs = fileBlobStore({ dir });
    for (let at = 0; ; at++) {
      const bytes = blobBytes(
        at % 2 === 0 ? `${name} ${at}` : `shared ${at}`,
        [400, 5000, 600_000][at % 3] ?? 0,
      );
      say((await blobs.put(at % 4 === 3 ? inPieces(bytes) : bytes)).ref);
    }
  },
  /**
   * Puts or touches some of a few thousand blobs until a line comes on the standard input, and counts those that
   * are not there within their lease.
   */
  async renewSome(dir = "", graceMs = "0") {
    const stopped = stopLine();
    const blobs = fileBlobStore({ dir, durability: "os" });
    // The clock of the file system may be some milliseconds behind.
    const leaseMs = Number(graceMs) - 50;
    let missed = 0;
    let renewed = 0;
    say("begins");
    for (; !(await stopped()); renewed++) {
      const bytes = blobBytes(`some ${Math.floor(Math.random() * 6000)}`, 100);
      const putAt = Date.now();
      const { ref } = await blobs.put(bytes);
      const got = await blobs.get(ref);
      const isThere = got !== undefined && Buffer.compare(got, bytes) === 0;
      if (!isThere && Date.now() - putAt < leaseMs) missed++;
      if (Math.random() >= 0.2) continue;
      const touchedAt = Date.now();
      const touched = await blobs.touch(ref);
      if (touched === undefined && Date.now() - putAt < leaseMs) missed++;
      if (touched === undefined) continue;
      if ((await blobs.get(ref)) === undefined && Date.now() - touchedAt < leaseMs) missed++;
    }
    say(`missed ${missed}`);
    say(`renewed ${renewed}`);
    process.stdin.destroy();
  },
  /**
   * Collects a store that nothing names anything of, again and again until a line comes on the standard input,
   * and says each time how much it took in all.
   */
  async collect(dir = "", graceMs = "0") {
    const stopped = stopLine();
    const blobs = fileBlobStore({ dir, durability: "os" });
    const taken = { trashed: 0, deleted: 0 };
    while (!(await stopped())) {
      const marks = [{ root: "nothing", refs: [], complete: true }];
      const report = await collectGarbage(blobs, { marks, graceMs: Number(graceMs) });
      taken.trashed += report.trashed.count;
      taken.deleted += report.deleted.count;
      say(JSON.stringify(taken));
    }
    process.stdin.destroy();
  },
  /** Collects: says that it is about to move a blob into the trash, waits for a file, moves the blob, and is killed. */
  async collectAndDie(dir = "", graceMs = "0", go = "") {
    const disk = nodeFileSystem;
    const mortal = {
      ...disk,
      rename(from: string, to: string) {
        say("moving");
        while (!existsSync(go));
        disk.rename(from, to);
        process.kill(process.pid, "SIGKILL");
        for (;;);
      },
    };
    const marks = [{ root: "nothing", refs: [], complete: true }];
    await collectGarbage(fileBlobStoreOn(mortal, { dir }), { marks, graceMs: Number(graceMs), trashMs: 0 });
  },
};

/** Whether a line came on the standard input, which is read while this is asked. */
function stopLine(): () => Promise<boolean> {
  let isStopped = false;
  process.stdin.once("data", () => {
    isStopped = true;
  });
  return async () => {
    await new Promise((resolve) => setImmediate(resolve));
    return isStopped;
  };
}

async function appended(session: Session, text: string): Promise<string> {
  for (;;) {
    try {
      return (await session.appendMessage(userMessage(text))).id;
    } catch (error) {
      if (!SessileError.is(error, "CONCURRENT_WRITER")) throw error;
    }
  }
}

const [role = "", ...args] = process.argv.slice(2);
const all: typeof roles = { ...roles, ...lockRoles, ...followRoles, ...soakRoles };
await all[role]?.(...args);
